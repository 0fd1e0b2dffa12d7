"""Incidents that say the same, shown as a few and a count: those whose sentences differ in the subject's name and in numbers alone.

A deployment that breaks four hundred consumers of a queue is one thing to know, not four hundred lines before the next.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stompcap.incidents.facts import NAMED
from stompcap.incidents.lines import since
from stompcap.units import count
from stompcap.visible import visible

Row = Mapping[str, Any]

EACH = 3
"""Of incidents that say the same the first are shown one by one; the others as a count if there are two or more."""

NUMBERS = re.compile(r"\d[\d,.:]*")


@dataclass(frozen=True)
class Shown:
    """An incident, its number among all from 1, and behind the last that is shown of those that say the same the others with theirs."""

    number: int
    row: Row
    others: Sequence[tuple[int, Row]] = ()

    @property
    def words(self) -> str:
        """`and 393 that say the same, 2026-09-21 17:16:20 to 18:12:20: 10.0.1.70, 10.0.1.188, 10.0.2.50 and others`."""
        begins = [row["begin_ns"] for _, row in self.others]
        times = since({"begin_ns": min(begins), "end_ns": max(begins)})
        names = list(dict.fromkeys(visible(row["subject"], NAMED) for _, row in self.others))
        listed = ", ".join(names[:EACH]) + (" and others" if len(names) > EACH else "")
        return f"and {count(len(self.others))} that say the same, begun {times}: {listed}"


def folded(rows: Sequence[Row]) -> list[Shown]:
    """Incidents in their order, of many that say the same only the first."""
    alike: dict[tuple[Any, ...], list[tuple[int, Row]]] = {}
    for number, row in enumerate(rows, 1):
        alike.setdefault(_said(row), []).append((number, row))
    found = []
    for same in alike.values():
        most = EACH if len(same) > EACH + 1 else len(same)
        found += [Shown(number, row) for number, row in same[: most - 1]]
        found.append(Shown(*same[most - 1], same[most:]))
    return sorted(found, key=lambda one: one.number)


def _said(row: Row) -> tuple[Any, ...]:
    """What is the same of those that say the same."""
    name = re.escape(visible(row["subject"], NAMED))
    sentence = NUMBERS.sub("#", re.sub(rf"(?<!\w){name}(?!\w)", "", row["sentence"], count=1))
    return row["kind"], row["level"], row["source"], row["subject_kind"], row["end_ns"] is None, sentence
