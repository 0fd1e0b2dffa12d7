"""Where the library meets Spark: session, data source, column functions, lakes as DataFrames; Spark is loaded where one is used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stompcap.lake.tables import read, views
    from stompcap.spark.functions import decode
    from stompcap.spark.session import get_session
    from stompcap.spark.source import register

__all__ = ["decode", "get_session", "read", "register", "views"]

_HOMES = {
    "decode": "stompcap.spark.functions", "get_session": "stompcap.spark.session", "read": "stompcap.lake.tables",
    "register": "stompcap.spark.source", "views": "stompcap.lake.tables",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """A public function, from the module that has it (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
