"""Dialogues that beat every 100 ms, and what is found of their silences."""

from __future__ import annotations

from tests.session.transcript import MS, START, run

BEATING = """
> CONNECT accept-version:1.2 host:/ heart-beat:100,0
< CONNECTED version:1.2 heart-beat:0,100
"""  # negotiated: 100 ms client to server, nothing back; watched from 2 ms on


def gaps(text: str, **how: object) -> list[tuple[object, ...]]:
    """(start, length, severity, ended_by, excused) of the gaps listed, times in ms since the start of watching."""
    rows = run(BEATING + text, **how).tables["heartbeat_violations"].to_pylist()  # type: ignore[arg-type]
    return [
        ((r["gap_start_ns"] - START) // MS - 2, r["gap_ms"], r["severity"], r["ended_by"], r["excused"]) for r in rows
    ]


def summary(text: str, **how: object) -> dict[str, object]:
    [row] = run(BEATING + text, **how).tables["heartbeats"].to_pylist()  # type: ignore[arg-type]
    return dict(row)
