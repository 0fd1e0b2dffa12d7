"""Values that tasks may ask for: each executor gets them once, and a task unpacks one only where it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import SparkSession

T = TypeVar("T", bound=Sized)
FEW = 1000
"""Entries of a value that is sent along with each task though it may not ask for it."""


@dataclass(frozen=True)
class _Held(Generic[T]):
    """A value that goes with each task."""

    value: T

    def __call__(self) -> T:
        return self.value


@dataclass(frozen=True)
class _Shared(Generic[T]):
    """A value that Spark brings to each executor, and that each of its Python processes unpacks once."""

    broadcast: Broadcast[T]

    def __call__(self) -> T:
        return self.broadcast.value


@contextmanager
def shared(spark: SparkSession, value: T) -> Iterator[Callable[[], T]]:
    """What gives a value in tasks, until the context ends; one with few entries is sent along with them."""
    if len(value) <= FEW:
        yield _Held(value)
        return
    broadcast = spark.sparkContext.broadcast(value)
    try:
        yield _Shared(broadcast)
    finally:
        with suppress(Exception):  # py4j has several for a JVM that does not answer; what went wrong before is what counts
            broadcast.destroy()
