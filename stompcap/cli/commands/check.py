"""What a check of `doctor` finds, and how one is made that never raises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One check: its name, whether it passed, what was found, and what to do if it failed."""

    name: str
    ok: bool
    found: str
    remedy: str = ""


def guarded(name: str, check: Callable[[], Check]) -> Check:
    """The outcome of one check, also where it raises."""
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - a check that fails is a finding, never a traceback
        return Check(name, False, first_line(error), "see the message; this check must pass")


def first_line(error: Exception) -> str:
    """The first line of an error's text, else its class."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
