"""What carries a conversation: writers, each of which puts the octets that it is given into units of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Protocol

Flight = tuple[bool, bytes]
"""Octets that one side sends at once; whether it is the client."""


class Writer(Protocol):
    """One layer of a connection. Its chance is its own, so that the conversation is the same in every transport."""

    @property
    def key_log(self) -> Sequence[str]:
        """Lines of the key log by which it can be opened (RFC 9850)."""

    def opening(self) -> Iterable[Flight]:
        """What both sides send before the first octet is carried."""

    def wrap(self, from_client: bool, pieces: Sequence[bytes]) -> tuple[list[bytes], list[int]]:
        """What carries pieces that are sent at once: as many pieces again; and by which of these each can be read."""

    def aside(self) -> Iterable[Flight]:
        """What is said now and then behind a send, and carries nothing."""

    def closing(self) -> Iterable[Flight]:
        """What both sides send behind the last octet."""

    def truth_rows(self) -> list[dict[str, Any]]:
        """What its rows of table transports must say, by column."""


def spread(octets: bytes, pieces: int) -> list[bytes]:
    """Octets in so many pieces, the longer ones first."""
    size, more = divmod(len(octets), pieces)
    bounds = [number * size + min(number, more) for number in range(pieces + 1)]
    return [octets[begin:end] for begin, end in pairwise(bounds)]
