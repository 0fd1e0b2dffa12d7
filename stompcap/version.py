"""The version of this package."""

from __future__ import annotations

VERSION = "0.2.0"
"""It stands with the rows that a run makes: raise it where rows come to mean something else, and say so in stompcap/tables/changes.py."""


def version() -> str:
    """The version."""
    return VERSION
