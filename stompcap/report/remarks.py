"""What a reader should look at first: one sentence each, the most severe first, each with its section."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stompcap.report.ranking import ranked
from stompcap.units import count, duration, share, size

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Remark:
    """One sentence, its severity (`bad`, `warn`, `ok`) and the id of its section."""

    grade: str
    sentence: str
    section: str


def _number(amount: int, one: str, many: str) -> str:
    """A number with its noun."""
    return f"{count(amount)} {one if amount == 1 else many}"


def remarks(answers: dict[str, Rows]) -> list[Remark]:
    """The sentences for these answers; a missing answer gives none."""
    found = [*_compliance(answers), *_heartbeats(answers), *_latency(answers), *_sessions(answers), *_evidence(answers)]
    return sorted(found, key=lambda remark: ("bad", "warn", "ok").index(remark.grade))


def _compliance(answers: dict[str, Rows]) -> list[Remark]:
    """Broken rules by level."""
    if not answers.get("rules"):
        return []
    found = []
    broken = {level: sum(r["findings"] for r in answers.get("levels", []) if r["level"] == level) for level in "MSI"}
    if broken["M"]:
        first = ranked(answers["rules"])[0]
        most = f"; most often {first['rule_id']}: {first['title'] or ''}" if first["musts"] else ""
        found.append(Remark("bad", f"{_number(broken['M'], 'violation', 'violations')} of MUST rules{most}.", "compliance"))
    if broken["S"]:
        found.append(Remark("warn", f"{_number(broken['S'], 'departure', 'departures')} from SHOULD rules.", "compliance"))
    if not broken["M"] and not broken["S"]:
        found.append(Remark("ok", "No MUST or SHOULD rule was broken where it could be judged.", "compliance"))
    return found


def _heartbeats(answers: dict[str, Rows]) -> list[Remark]:
    """Directions that were silent for too long."""
    by_verdict: dict[str, int] = {}
    for row in answers.get("heartbeat_verdicts", []):
        by_verdict[row["verdict"]] = by_verdict.get(row["verdict"], 0) + row["directions"]
    if not by_verdict:
        return []
    found = []
    if dead := by_verdict.get("dead", 0):
        found.append(
            Remark(
                "bad",
                f"{_number(dead, 'session direction', 'session directions')} fell silent for more than three heart-beat intervals.",
                "heartbeats",
            )
        )
    if violation := by_verdict.get("violation", 0):
        found.append(
            Remark(
                "warn",
                f"{_number(violation, 'session direction', 'session directions')} exceeded the heart-beat interval by more than half.",
                "heartbeats",
            )
        )
    if not found and by_verdict.get("ok", 0) + by_verdict.get("late", 0):
        found.append(Remark("ok", "Every heart-beat that could be judged came in time or nearly so.", "heartbeats"))
    return found


def _latency(answers: dict[str, Rows]) -> list[Remark]:
    """Slow destinations, and deliveries never settled."""
    total = next(iter(answers.get("ack_total", [])), None)
    if not total or not total["deliveries"]:
        return []
    found = []
    if total["p95_us"] is not None:
        found.append(
            Remark(
                "ok",
                f"Half of the deliveries were acknowledged within {duration(total['p50_us'])}, 95 % within {duration(total['p95_us'])}.",
                "latency",
            )
        )
    if total["unsettled"]:
        found.append(
            Remark(
                "warn",
                f"{_number(total['unsettled'], 'delivery', 'deliveries')} of {count(total['deliveries'])} "
                f"({share(total['unsettled'], total['deliveries'])}) that ask for an ACK got none that counts.",
                "latency",
            )
        )
    return found


def _sessions(answers: dict[str, Rows]) -> list[Remark]:
    """Refusals and cleartext credentials."""
    total = next(iter(answers.get("sessions_total", [])), None)
    if not total or not total["sessions"]:
        return []
    found = []
    if total["refused"] or total["unanswered"]:
        found.append(
            Remark(
                "warn",
                f"{_number(total['refused'], 'session was', 'sessions were')} refused by the broker, "
                f"{count(total['unanswered'])} got no answer to CONNECT.",
                "sessions",
            )
        )
    if total["cleartext"]:
        found.append(
            Remark(
                "warn",
                f"{_number(total['cleartext'], 'session', 'sessions')} sent a passcode without encryption.",
                "sessions",
            )
        )
    return found


def _evidence(answers: dict[str, Rows]) -> list[Remark]:
    """What is missing from the captures."""
    found = []
    lost = sum(r["gap_octets"] or 0 for r in answers.get("streams", []) if r["protocol"] == "stomp")
    if lost:
        found.append(
            Remark(
                "warn",
                f"The captures lack {size(lost)} of STOMP traffic; what depends on it counts as not evaluable, never as a violation.",
                "captures",
            )
        )
    if failing := next((r["failing"] for r in answers.get("quality", [])), 0):
        found.append(Remark("warn", f"{_number(failing, 'data quality check', 'data quality checks')} failed.", "quality"))
    return found
