"""Dialogues as text: one line a frame, coloured on a terminal and as wide as it is; findings below their frames.

All that comes from the wire passes `visible`, before any colour is added.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TextIO
from unicodedata import east_asian_width

from stompcap.cli.dialogue import headers
from stompcap.cli.dialogue.lines import Dialogue, Line, Row
from stompcap.cli.dialogue.summary import summary
from stompcap.tables.carriers import carried, opened_by
from stompcap.tables.levels import SPELLED
from stompcap.units import count, endpoint, moment, size, stamp
from stompcap.visible import CUT, visible

ARROWS = {"c2s": "→", "s2c": "←"}
COLOURS = {
    "M": "38;5;161", "S": "38;5;130", "I": "38;5;30", "c2s": "38;5;28", "s2c": "38;5;32", "head": "1", "dim": "38;5;243", "bad": "38;5;133",
}  # fmt: skip
"""Of 256 colours, those whose contrast is 4 to 1 and more on black and on white."""

LONGEST_VALUE, LONGEST_LINE, LONGEST_EVIDENCE = 80, 2000, 300
IDS = ("message-id", "id", "ack", "session", "subscription", "receipt", "receipt-id", "transaction", "correlation-id")
"""Headers whose values are shortened in the middle where the terminal is narrow."""

MOST_BODY_LINES, MOST_HEX = 8, 512
INDENT = " " * 12
RELATIVE = 11  # characters of a time


@dataclass(frozen=True)
class Style:
    """How text is written: its width or None for any, colours, how times are given, whether all headers are shown."""

    width: int | None = None
    colours: bool = False
    absolute: bool = False
    every_header: bool = False
    named: bool = False  # each line begins with the first digits of its stream's id
    octets: bool = False  # the octets of frames with findings are shown

    @property
    def longest_id(self) -> int:
        """Characters of an id; the rest is left out in its middle."""
        return LONGEST_VALUE if self.width is None or self.every_header else max(18, min(LONGEST_VALUE, self.width // 5))


def style_for(
    file: TextIO | None = None, *, absolute: bool = False, every_header: bool = False, named: bool = False, octets: bool = False
) -> Style:
    """The style that suits a file: colours and a width on a terminal only, no colours where NO_COLOR is set (no-color.org)."""
    file = file or sys.stdout
    terminal = file.isatty()
    colours = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Style(max(shutil.get_terminal_size().columns, 40) if terminal else None, colours, absolute, every_header, named, octets)


class Writer:
    """Writes dialogues, or their lines as they come."""

    def __init__(self, style: Style) -> None:
        self.style = style
        self.capture: tuple[str, str] | None = None  # the stream and capture of the last line that has a packet
        self.packets: dict[str, int] = {}  # the last packet of each stream

    def head(self, dialogue: Dialogue) -> str:
        """What begins a session."""
        session, broker = dialogue.session, " ".join(filter(None, map(dialogue.session.get, ("server_product", "server_version"))))
        ends = " → ".join(endpoint(session[f"{side}_ip"], session[f"{side}_port"]) for side in ("client", "server"))
        spoken = " ".join(filter(None, (f"STOMP {session['version'] or '?'}", carried(session["transport"]))))
        login = f"login {session['login']}" if session["login"] and not self.style.named else ""
        what = [f"session {dialogue.stream_id}", ends, opened_by(session), spoken, broker or "broker unknown"]
        if not self.style.named:  # else it is not known yet
            what += [session["outcome"], login]
        return "\n".join(self._wrapped("", [*map(visible, [*filter(None, what), stamp(session["opened_ns"], 6)])], "  ", "head"))

    def remark(self, text: str) -> str:
        """A line that belongs to no session."""
        return self.folded(visible(text), "dim")

    def folded(self, text: str, colour: str) -> str:
        """A sentence, on as many lines as it takes."""
        return "\n".join(self._wrapped("", text.split(" "), " ", colour))

    def lines(self, dialogue: Dialogue, line: Line) -> Iterator[str]:
        """One line of a session, and one for each finding."""
        here = dialogue.stream_id, line.capture_id or ""
        if line.capture_id is not None and len(dialogue.captures) > 1 and here != self.capture:
            self.capture = here
            yield self._cut(f"{self._name(dialogue)}{'':>12}in {visible(dialogue.captures.get(here[1], here[1]))}", "dim")
        yield self._line(dialogue, line)
        if line.packet is not None:
            self.packets[dialogue.stream_id] = line.packet
        if line.command == "ERROR":
            yield from self._body(dialogue, line)
        for finding in line.findings:
            yield self.finding(dialogue, finding, line.packet)
        if self.style.octets and line.findings and line.raw:
            yield from self._hex(dialogue, line.raw)

    def _body(self, dialogue: Dialogue, line: Line) -> Iterator[str]:
        """The lines of an ERROR's body."""
        assert line.frame is not None
        preview = line.frame["body_preview"] or ""
        cut = CUT if len(preview.encode(errors="replace")) < line.frame["body_octets"] else ""
        text = [one.rstrip("\r").replace("\t", "  ") for one in f"{preview}{cut}".strip("\n").split("\n")]
        for one in text[:MOST_BODY_LINES]:
            if one:
                yield from self._wrapped(f"{self._name(dialogue)}{INDENT}| ", visible(one, LONGEST_LINE).split(" "), " ", "s2c")
        if len(text) > MOST_BODY_LINES:
            yield self._cut(f"{self._name(dialogue)}{INDENT}| {CUT} {count(len(text) - MOST_BODY_LINES)} lines more", "dim")

    def _hex(self, dialogue: Dialogue, raw: bytes) -> Iterator[str]:
        """The octets of a row in hex and text, as Wireshark shows them."""
        for at in range(0, min(len(raw), MOST_HEX), 16):
            some = raw[at : at + 16]
            shown = "".join(chr(one) if 32 <= one < 127 else "." for one in some)
            yield self._cut(f"{self._name(dialogue)}    {at:04x}  {some.hex(' '):<47}  {shown}", "dim")
        if len(raw) > MOST_HEX:
            yield self._cut(f"{self._name(dialogue)}    {CUT} {size(len(raw) - MOST_HEX)} more", "dim")

    def end(self, dialogue: Dialogue) -> Iterator[str]:
        """The summary of a session."""
        for words in summary(dialogue):
            yield from self._wrapped(f"{self._name(dialogue)}{INDENT}= ", visible(words).split(" "), " ", "dim")

    def finding(self, dialogue: Dialogue, finding: Row, packet: int | None = None) -> str:
        """A finding, on lines of its own, with the packet that completed its frame, or the last before it."""
        before = self.packets.get(dialogue.stream_id)
        where = f" (packet {packet})" if packet is not None else f" (after packet {before})" if before is not None else ""
        evidence = visible(finding["evidence"] or "", LONGEST_EVIDENCE)
        start = f"{self._name(dialogue)}{INDENT}! "
        said = f"{finding['rule_id']} {SPELLED[finding['level']]} {finding['side']}: {evidence}{where}"
        return "\n".join(self._wrapped(start, said.split(" "), " ", finding["level"]))

    def _name(self, dialogue: Dialogue) -> str:
        return f"{dialogue.stream_id[:6]} " if self.style.named else ""

    def _time(self, dialogue: Dialogue, line: Line) -> str:
        if line.ns is None:
            return "–"
        if self.style.absolute:
            return moment(line.ns, 6)
        return f"{(line.ns - (dialogue.session['opened_ns'] or line.ns)) / 1e9:.6f}"

    def _line(self, dialogue: Dialogue, line: Line) -> str:
        packet = "" if line.packet is None else str(line.packet)
        time = self._time(dialogue, line).rjust(len(moment(0, 6)) if self.style.absolute else RELATIVE)
        start = f"{self._name(dialogue)}{time} {packet:>7} {ARROWS.get(line.direction or '', '·')} "
        colour = "bad" if line.kind in ("gap", "junk", "partial", "silence") else "dim" if line.kind != "frame" else line.direction or ""
        return self._cut(start + self._what(line), colour)

    def _what(self, line: Line) -> str:
        note = f"  [{line.note}]" if line.note else ""
        if line.kind == "heartbeats":
            return f"heart-beat{'s × ' + count(line.count) if line.count > 1 else ''}{note}"
        if line.kind in ("close", "silence"):
            return f"{line.kind}{note}"
        if line.kind == "transport":
            return visible(line.note, LONGEST_EVIDENCE)
        if line.frame is None:
            words = {"gap": "missing from the capture", "junk": "no frame", "partial": "frame cut short"}
            return f"{line.kind}  {size(line.octets)}: {words.get(line.kind, '')}{note}"
        limit = None if self.style.every_header else LONGEST_VALUE
        parts = [
            visible(name, limit) if value is None else f"{visible(name, limit)}:{self._value(name, value)}"
            for name, value in headers.selected(line.frame, every=self.style.every_header)
        ]
        note = f"[{line.note}]  " if line.note else ""
        body = f"  body {size(line.frame['body_octets'])}" if line.frame["body_octets"] else ""
        return f"{visible(line.command or '', 40):<11} {note}{'  '.join(parts)}{body}  ({size(line.octets)})"

    def _value(self, name: str, value: str) -> str:
        """A header's value; of an id its beginning and its end."""
        most = self.style.longest_id
        if name.strip().lower() in IDS and len(value) > most and not self.style.every_header:
            return f"{visible(value[: most - most // 2 - 1])}{CUT}{visible(value[-(most // 2) :])}"
        return visible(value, None if self.style.every_header else LONGEST_VALUE)

    def _wrapped(self, start: str, words: list[str], between: str, colour: str) -> Iterator[str]:
        """A text as lines that fit the width, coloured; all but the first are indented. None is cut where there is no width."""
        width = self.style.width
        text = start + between.join(words)
        if width is None or len(text) <= width:
            yield self._cut(text, colour)
            return
        line, indent = start + words[0], " " * max(len(start), len(INDENT))
        for word in words[1:]:
            if len(line) + len(between) + len(word) > width:
                yield self._cut(line, colour)
                line = indent + word
            else:
                line += between + word
        yield self._cut(line, colour)

    def coloured(self, text: str, colour: str) -> str:
        """A line of its own, cut to the width."""
        return self._cut(text, colour)

    def _cut(self, text: str, colour: str) -> str:
        """A line that fits the width, coloured."""
        width = self.style.width or LONGEST_LINE
        if not self.style.every_header or self.style.width is None:
            text = fitting(text, width if not self.style.every_header else 1 << 20)
        code = COLOURS.get(colour)
        return f"\x1b[{code}m{text}\x1b[0m" if self.style.colours and code else text


def fitting(text: str, width: int) -> str:
    """The text, cut with an ellipsis where it takes more columns of a terminal than `width`."""
    if len(text) * 2 <= width or (text.isascii() and len(text) <= width):
        return text
    taken, at = 0, 0
    for at, character in enumerate(text):  # noqa: B007 - where it ends is the result
        taken += 2 if east_asian_width(character) in "WF" else 1
        if taken > width:
            break
    else:
        return text
    while at and taken > width - 1:
        taken -= 2 if east_asian_width(text[at]) in "WF" else 1
        at -= 1
    return text[: at + 1] + CUT
