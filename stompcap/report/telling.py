"""What the first screen tells of incidents: the headline, their days, and who they are of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup, escape

from stompcap.incidents.facts import NAMED
from stompcap.units import counted, moment
from stompcap.visible import visible

Rows = list[dict[str, Any]]

LONGEST = 400  # characters of a sentence


def headline(answers: Mapping[str, Rows]) -> str:
    """`2 critical incidents, 1 warning, 3 notes`; `No incident` where the table has none, `Summary` where there is no table."""
    numbers = {row["level"]: row["number"] for row in answers["incident_levels"]}
    words = []
    if critical := numbers.get("critical"):
        words.append(counted(critical, "critical incident"))
    words += [counted(numbers[level], level) for level in ("warning", "note") if numbers.get(level)]
    return ", ".join(words) or ("No incident" if answers["sessions_total"] else "Summary")


def sentence(row: Mapping[str, Any]) -> Markup:
    """What is said of an incident, with the name of its subject in bold."""
    said, name = visible(row["sentence"], LONGEST), visible(row["subject"], NAMED)
    before, found, after = said.partition(name) if name else (said, "", "")
    return escape(before) + Markup("<strong>{}</strong>").format(found) + escape(after) if found else escape(said)


def unlisted(answers: Mapping[str, Rows]) -> int:
    """How many incidents there are beside those that are listed."""
    number: int = sum(row["number"] for row in answers["incident_levels"])
    return max(number - len(answers["incidents"]), 0)


def days(incidents: Rows, captures: Mapping[str, Any]) -> list[str]:
    """The days, in the zone shown, on which incidents began and the captures end."""
    times = [row["begin_ns"] for row in incidents] + [captures[name] for name in ("first_ns", "last_ns") if captures[name] is not None]
    return sorted({moment(ns, 0)[:10] for ns in times})


def who(rows: Rows, incidents: Rows) -> Rows:
    """Names with the incidents that are theirs, as numbers in the list; first those whose incidents hurt most."""
    own: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for number, one in enumerate(incidents, 1):
        if one["subject_kind"] in ("login", "client"):
            own.setdefault(one["subject"], []).append((number, one))
    found = [row | {"incidents": own.get(row["who"], [])} for row in rows]
    return sorted(found, key=lambda row: row["incidents"][0][0] if row["incidents"] else len(incidents) + 1)
