"""The rim where the library meets Spark: session, data source, lake, column functions. Spark is loaded where one of them is used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stompcap.spark.functions import decode
    from stompcap.spark.lake import read, views
    from stompcap.spark.session import get_session
    from stompcap.spark.source import register

__all__ = ["decode", "get_session", "read", "register", "views"]

_HOMES = {"decode": "functions", "get_session": "session", "read": "lake", "register": "source", "views": "lake"}


def __getattr__(name: str) -> Any:
    """A public function, from the module that has it (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
