"""The package `pipelines`, which is installed beside this one: another package of that name may be found before it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

NAME = "pipelines"


def hidden(error: Exception) -> str | None:
    """What hides stompcap's own pipelines, in words, where an import failed for that; else None."""
    if not isinstance(error, ImportError) or (error.name or "").split(".")[0] != NAME:
        return None
    own, found = Path(__file__).resolve().parents[1] / NAME, find_spec(NAME)
    places = [Path(place).resolve() for place in (found.submodule_search_locations or [found.origin or ""])] if found else []
    if own in places[:1]:
        return None
    if not places:
        return f"the package {NAME} of stompcap is missing at {own}; install stompcap again"
    return f"another package {NAME}, at {places[0]}, hides that of stompcap; give stompcap a Python environment and a folder without it"
