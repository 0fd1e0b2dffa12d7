"""What a reader should look at first: one sentence each, the most severe first, each with its section."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stompcap.lake import clocks
from stompcap.report.ranking import ranked
from stompcap.settings import Thresholds
from stompcap.tables.levels import SPELLED
from stompcap.units import count, share, size

Rows = list[dict[str, Any]]
BREAKERS = {"client": "clients", "server": "brokers"}
THRESHOLDS = Thresholds()


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
    """Broken rules by level, sides apart."""
    if not answers.get("rules"):
        return []
    found = []
    for level, grade in (("M", "bad"), ("S", "warn")):
        by_side = {row["side"]: row["findings"] for row in answers.get("levels", []) if row["level"] == level}
        if total := sum(by_side.values()):
            by_whom = " and ".join(f"{count(by_side[side])} by {who}" for side, who in BREAKERS.items() if side in by_side)
            worst = next((row for row in ranked(answers.get("broken", [])) if row["level"] == level), None)
            most = f"; most often {worst['rule_id']}: {worst['title'] or ''}" if worst else ""
            word = SPELLED[level]
            found.append(Remark(grade, f"{_number(total, f'{word} finding', f'{word} findings')}, {by_whom}{most}.", "compliance"))
    return found or [Remark("ok", "No MUST or SHOULD rule was broken where it could be judged.", "compliance")]


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
                f"{_number(dead, 'session direction', 'session directions')} fell silent for more than {THRESHOLDS.text('heartbeat_dead')} "
                "heart-beat intervals.",
                "heartbeats",
            )
        )
    if violation := by_verdict.get("violation", 0):
        found.append(
            Remark(
                "warn",
                f"{_number(violation, 'session direction', 'session directions')} fell silent for more than "
                f"{THRESHOLDS.text('heartbeat_violation')} heart-beat intervals.",
                "heartbeats",
            )
        )
    if not found and by_verdict.get("ok", 0) + by_verdict.get("late", 0):
        found.append(Remark("ok", "Every heart-beat that could be judged came in time or nearly so.", "heartbeats"))
    return found


def _latency(answers: dict[str, Rows]) -> list[Remark]:
    """Deliveries never settled."""
    total = next(iter(answers.get("ack_total", [])), None)
    if not total or not total["deliveries"]:
        return []
    found = []
    if total["unsettled"]:
        found.append(
            Remark(
                "warn",
                f"{count(total['unsettled'])} of {_number(total['deliveries'], 'delivery', 'deliveries')} that "
                f"{'asks' if total['deliveries'] == 1 else 'ask'} for an ACK ({share(total['unsettled'], total['deliveries'])}) "
                f"{'is' if total['unsettled'] == 1 else 'are'} not settled.",
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
                f"{_number(total['cleartext'], 'session', 'sessions')} sent a secret, such as a passcode, without encryption.",
                "sessions",
            )
        )
    return found


def _evidence(answers: dict[str, Rows]) -> list[Remark]:
    """What is missing from the captures, and whether their clocks can be believed."""
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
    if disagree := next(map(clocks.explained, answers.get("clocks_total", [])), None):
        found.append(Remark("warn", disagree, "captures"))
    if failing := next((r["failing"] for r in answers.get("quality", [])), 0):
        found.append(Remark("warn", f"{_number(failing, 'data quality check', 'data quality checks')} failed.", "quality"))
    return found
