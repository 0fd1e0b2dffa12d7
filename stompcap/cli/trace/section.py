"""What a trace consists of: sections, one for each decision, with the modules that take it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]
ARROWS = {"c2s": "→", "s2c": "←"}


@dataclass(frozen=True)
class Section:
    """What one machine made of a connection: rows that all have the same columns, and the files where it is decided.

    `note` says what the rows are; a column `ns` is a time, `way` one of ARROWS.
    """

    name: str
    decided_in: Sequence[str]
    note: str
    rows: Sequence[Row]


def files(*what: Any) -> list[str]:
    """The files, from the root of the project, of modules or of functions."""
    names = [one.__name__ if inspect.ismodule(one) else inspect.unwrap(one).__module__ for one in what]
    return [f"{name.replace('.', '/')}.py" for name in names]
