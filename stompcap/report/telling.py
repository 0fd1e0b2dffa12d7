"""What the first screen tells of incidents: the headline, since when, their packets, and who they are of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stompcap.units import count, counted, moment
from stompcap.visible import visible

Rows = list[dict[str, Any]]


def headline(answers: Mapping[str, Rows]) -> str:
    """`2 critical incidents, 1 warning, 3 notes`; `No incident` where the table has none, `Summary` where there is no table."""
    numbers = {row["level"]: row["number"] for row in answers["incident_levels"]}
    words = []
    if critical := numbers.get("critical"):
        words.append(counted(critical, "critical incident"))
    words += [counted(numbers[level], level) for level in ("warning", "note") if numbers.get(level)]
    return ", ".join(words) or ("No incident" if answers["sessions_total"] else "Summary")


def since(row: Mapping[str, Any], dates: bool = True) -> str:
    """When an incident began, and whether it lasted to the end of the capture; with its date unless all is of one day."""
    begin = moment(row["begin_ns"], 0)
    said = begin if dates else begin[11:]
    if row["end_ns"] is None:
        return f"since {said}"
    end = moment(row["end_ns"], 0)
    return said if end == begin else f"{said} to {end[11:] if end[:10] == begin[:10] else end}"


def days(incidents: Rows, captures: Mapping[str, Any]) -> list[str]:
    """The days, in the zone shown, on which incidents began and the captures end."""
    times = [row["begin_ns"] for row in incidents] + [captures[name] for name in ("first_ns", "last_ns") if captures[name] is not None]
    return sorted({moment(ns, 0)[:10] for ns in times})


def packets(row: Mapping[str, Any]) -> str:
    """The packets that show it: `packets 6667 to 11003 of a.pcap`."""
    known = [one for one in row["packets"] or () if one["packet"] is not None]
    if not known:
        return ""
    capture = known[0]["capture"]
    numbers = sorted(one["packet"] for one in known if one["capture"] == capture)
    of = visible(capture or "", 60)
    if len(numbers) == 1:
        return f"packet {count(numbers[0])} of {of}"
    return f"packets {count(numbers[0])} to {count(numbers[-1])} of {of}"


def who(rows: Rows, incidents: Rows) -> Rows:
    """Names with the incidents that are theirs, as numbers in the list; first those whose incidents hurt most."""
    own: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for number, one in enumerate(incidents, 1):
        if one["subject_kind"] in ("login", "client"):
            own.setdefault(one["subject"], []).append((number, one))
    found = [row | {"incidents": own.get(row["who"], [])} for row in rows]
    return sorted(found, key=lambda row: row["incidents"][0][0] if row["incidents"] else len(incidents) + 1)
