"""What a session's end says: how it ended, its deliveries and ack latencies, heart-beats, findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from statistics import median
from typing import TYPE_CHECKING, Any

from stompcap.tables.carriers import described
from stompcap.tables.levels import SPELLED
from stompcap.tables.outcomes import DIRECT, SETTLED
from stompcap.tables.words import SIDES
from stompcap.units import count, counted, duration, size

if TYPE_CHECKING:
    from stompcap.cli.dialogue.lines import Dialogue


def figures(dialogue: Dialogue) -> dict[str, Any]:
    """The figures of a session's summary; ack latencies are those of direct ACKs, as a cumulative one gives an upper bound only."""
    session = dialogue.session
    latencies = [row["ack_latency_us"] for row in dialogue.deliveries if DIRECT.has(row)]
    ended = session["closed_ns"] or session["last_ns"]
    return {
        "version": session["version"],
        "broker": session["server_product"],
        "broker_version": session["server_version"],
        "client": session["client_product"],
        "outcome": session["outcome"],
        "end_kind": session["end_kind"],
        "ended_by": session["ended_by"],
        "duration_us": None if ended is None or session["opened_ns"] is None else (ended - session["opened_ns"]) // 1000,
        "frames_c2s": session["frames_c2s"],
        "frames_s2c": session["frames_s2c"],
        "gap_octets": session["gap_octets"],
        "deliveries": len(dialogue.deliveries),
        "delivery_statuses": dict(Counter(row["status"] for row in dialogue.deliveries)),
        "ack_p50_us": median(latencies) if latencies else None,
        "ack_max_us": max(latencies, default=None),
        "cumulative": sum(SETTLED.has(row) and row["settled_by"] == "cumulative" for row in dialogue.deliveries),
        "heartbeats": {row["direction"]: row["verdict"] for row in dialogue.heartbeats},
        "findings": dict(Counter(row["level"] for row in dialogue.findings)),
        "findings_by_side": {
            side: dict(Counter(row["level"] for row in dialogue.findings if row["side"] == side))
            for side in SIDES if any(row["side"] == side for row in dialogue.findings)
        },
    }


def _ends(dialogue: Dialogue) -> str:
    """What ended a session: `FIN`, or the Close of WebSocket or close_notify of TLS that asked for it."""
    if not dialogue.stream.get("asked_by") or dialogue.session["end_kind"] == "disconnect":
        return str(dialogue.session["end_kind"].upper())
    return "close_notify" if dialogue.stream["transport"] == "tls" else "WebSocket close"


def summary(dialogue: Dialogue) -> Iterator[str]:
    """The lines of a session's summary."""
    f = figures(dialogue)
    end = "open at the end of the capture" if f["end_kind"] == "open" else f"ended by {_ends(dialogue)}"
    by = f" of the {f['ended_by']}" if f["ended_by"] in ("client", "server") else ""
    missing = f", {size(f['gap_octets'])} missing" if f["gap_octets"] else ""
    client = f", client {f['client']}" if f["client"] else ""
    frames = f"{counted(f['frames_c2s'], 'frame')} →, {count(f['frames_s2c'])} ←"
    yield f"{end}{by} after {duration(f['duration_us'])}; {frames}{missing}{client}"
    if dialogue.layers:
        yield f"inside {', '.join(map(described, dialogue.layers))}"
    parts = []
    if f["deliveries"]:
        statuses = ", ".join(f"{count(number)} {status}" for status, number in f["delivery_statuses"].items())
        ack = f"; ack p50 {duration(f['ack_p50_us'])}, max {duration(f['ack_max_us'])}" if f["ack_max_us"] is not None else ""
        several = f", {count(f['cumulative'])} settled by cumulative ACKs" if f["cumulative"] else ""
        parts.append(f"deliveries: {statuses}{ack}{several}")
    if f["heartbeats"]:
        arrows = {"c2s": "→", "s2c": "←"}
        parts.append("heart-beats: " + ", ".join(f"{arrows[way]} {verdict}" for way, verdict in sorted(f["heartbeats"].items())))
    found = [
        f"{side} " + ", ".join(f"{count(levels[level])} {word}" for level, word in SPELLED.items() if level in levels)
        for side, levels in f["findings_by_side"].items()
    ]
    parts.append(f"findings: {', '.join(found)}" if found else "no findings")
    yield "; ".join(parts)
