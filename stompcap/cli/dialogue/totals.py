"""One line a session, and one over all that was shown."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from stompcap.cli.dialogue.lines import Dialogue, Line
from stompcap.cli.dialogue.summary import figures
from stompcap.tables.levels import SPELLED
from stompcap.units import count, counted, duration, endpoint, moment
from stompcap.visible import visible

COLUMNS = (  # title, characters (to the right if negative), from which width of a terminal on
    ("session", 8, 0), ("opened", 8, 0), ("who", 16, 0), ("ended", 11, 0), ("lasted", -9, 0), ("sent", -6, 100), ("got", -6, 100),
    ("open", -5, 120), ("ack p50", -9, 120), ("ack max", -9, 120), ("broker", 18, 150), ("findings", 0, 0),
)  # fmt: skip

WIDE, LONG_NAME = 110, 26
"""From this width on names of clients may be so long."""


def titles(width: int | None) -> str:
    """The titles of the lines of sessions."""
    return _laid([title for title, _, _ in COLUMNS], width)


def one_line(dialogue: Dialogue, width: int | None) -> str:
    """A session in one line, as wide as the terminal allows; `open` are MESSAGEs that were not settled."""
    session, f = dialogue.session, figures(dialogue)
    levels = Counter(row["level"] for row in dialogue.findings)
    waiting = sum(f["delivery_statuses"].get(status, 0) for status in ("unsettled", "voided"))
    broker = " ".join(filter(None, (session["server_product"], session["server_version"])))
    found = ", ".join(f"{count(levels[letter])} {word}" for letter, word in SPELLED.items() if levels[letter])
    return _laid([
        dialogue.stream_id[:8], moment(session["opened_ns"])[11:19], who(dialogue), _cause(dialogue) or f["end_kind"] or "–",
        duration(f["duration_us"]), count(f["frames_c2s"]), count(f["frames_s2c"]), count(waiting), duration(f["ack_p50_us"]),
        duration(f["ack_max_us"]), broker, found,
    ], width)  # fmt: skip


def who(dialogue: Dialogue) -> str:
    """The name of a session's client: its login, else its client-id, its user-agent, its address."""
    session = dialogue.session
    masked = session["login"] if session["login"] and session["login"].strip("*") else None
    return str(masked or session["client_id"] or session["user_agent"] or endpoint(session["client_ip"], session["client_port"]))


def _cause(dialogue: Dialogue) -> str | None:
    """Why a session ended: where STOMP does not tell, the Close of WebSocket, with the code that it has."""
    cause: str | None = dialogue.session["close_cause"]
    closed = next((layer for layer in dialogue.layers if layer["kind"] in ("websocket", "sockjs") and layer["closed_by"]), None)
    if cause not in ("unknown", "reset") or closed is None:
        return cause
    return "Close" if closed["close_code"] is None else f"Close {closed['close_code']}"


def _laid(cells: list[str], width: int | None) -> str:
    parts = []
    for text, (title, size, least) in zip(cells, COLUMNS, strict=True):
        if (width or 200) < least:
            continue
        if title == "who" and (width or WIDE) >= WIDE:
            size = LONG_NAME
        shown = visible(text, abs(size)) if size else visible(text)
        parts.append(shown.rjust(-size) if size < 0 else shown.ljust(size))
    return "  ".join(parts).rstrip()


@dataclass
class Totals:
    """Sums over what was shown."""

    sessions: int = 0
    frames: int = 0
    errors: int = 0
    findings: Counter[str] = field(default_factory=Counter[str])
    unsettled: int = 0
    latencies: list[float] = field(default_factory=list)

    def line(self, line: Line) -> None:
        """Add a line that was shown."""
        self.frames += line.frame is not None
        self.errors += line.command == "ERROR"
        self.unsettled += line.status in ("unsettled", "voided")
        self.findings.update(row["level"] for row in line.findings)
        if line.latency_us is not None:
            self.latencies.append(line.latency_us)

    def words(self) -> str:
        """All of it in one line."""
        found = ", ".join(f"{count(self.findings[letter])} {word}" for letter, word in SPELLED.items() if self.findings[letter])
        parts: list[Any] = [
            f"{counted(self.sessions, 'session')}, {counted(self.frames, 'frame')}", self.errors and counted(self.errors, "ERROR"),
            self.unsettled and f"{count(self.unsettled)} never settled",
            self.latencies and f"acknowledged after p50 {duration(median(self.latencies))}, max {duration(max(self.latencies))}",
            f"findings: {found}" if found else "no findings",
        ]  # fmt: skip
        return "total: " + "; ".join(filter(None, parts))
