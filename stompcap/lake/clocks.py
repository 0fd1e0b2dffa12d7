"""Connections whose times contradict the order of their packets: what that costs their durations, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stompcap.lake import open_tables
from stompcap.lake.paths import location
from stompcap.lake.query import Query, all_files, in_process
from stompcap.units import count

CLOCKS = Query(
    "clocks_total",
    ("sessions", "streams"),
    """
    SELECT count(*) FILTER (WHERE t.acks_against_time > 0) AS against_time,
           count(*) FILTER (WHERE s.opened_ns IS NOT NULL AND s.unmeasured > 0) AS unsure,
           coalesce(sum(CASE WHEN s.opened_ns IS NOT NULL THEN s.unmeasured END), 0) AS durations,
           count(*) FILTER (WHERE s.opened_ns IS NULL AND s.unmeasured > 0) AS without_times
    FROM sessions s JOIN streams t ON t.stream_id = s.stream_id""",
)
"""One row: of the sessions, those in which acknowledgements are earlier than what they acknowledge, those that lack durations because
clocks differ or stepped, how many durations, and those without times."""


def explained(row: Mapping[str, Any]) -> str | None:
    """Sentences on the answer: that clocks disagree, where, what is unknown therefore, and what to do; None where nothing is wrong."""
    found = []
    if number := row["against_time"]:
        found.append(f"In {_several(number, 'session')} acknowledgements have earlier times than what they acknowledge: "
                    "clocks of the captures differ or were set back.")  # fmt: skip
    if number := row["unsure"]:
        why = "" if found else " because clocks of the captures differ or stepped"
        lost = row["durations"]
        found.append(f"{_several(lost, 'duration')} in {_several(number, 'session')} {_are(lost)} unknown (null){why}, and in no figure.")
    if found:
        found.append("Synchronise the clocks of the capturing machines, or capture both directions on one (docs/judging.md).")
    if number := row["without_times"]:
        found.append(f"{_several(number, 'session')} {_are(number)} from captures without times, and {'has' if number == 1 else 'have'} "
                    "no durations.")  # fmt: skip
    return " ".join(found) or None


def disagreeing(lake: str) -> str | None:
    """The same of a lake; None also where it has no sessions yet."""
    if not all(open_tables.is_there(location(lake, name)) for name in CLOCKS.tables):
        return None
    [found] = in_process({name: all_files(lake, name) for name in CLOCKS.tables}, [CLOCKS]).values()
    return explained(found.to_pylist()[0])


def _several(number: int, noun: str) -> str:
    return f"{count(number)} {noun if number == 1 else f'{noun}s'}"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
