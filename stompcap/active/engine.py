"""Plays the steps of a case on a connection and judges what the other side did."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stompcap.active.frames import Frame, escaped
from stompcap.active.steps import ABSENT, CLOSE, Beats, Case, Expect, Idle, Never, Offers, Reconnect, Say, Silence, Speaks, Step
from stompcap.active.wire import Wire

PASSED, FAILED, NOT_JUDGED = "passed", "failed", "not judged"
PROOF_OCTETS, PIECE_OCTETS = 1600, 320
"""How much of a conversation is proof, and of what one side said in a row."""
TOLERANCE = 2.5
"""Of an interval of heart-beats: a side that first beats when a whole one has passed in silence is let off."""
GIVEN = ("login", "passcode", "host", "queue")
"""Put in as they are: CONNECT is not escaped, and queues need no escapes."""
_NOT_GIVEN = re.compile(rb"(?m)^[a-z]+:\{(login|passcode)\}\r?\n")
_SECRET = re.compile(rb"(?im)^((?:passcode|login)\s*:)[^\r\n\0]*")


class Unmet(Exception):
    """The other side did not do what it must; the message says what it did."""


class NotJudged(Exception):
    """What the case needs first did not come about."""


@dataclass(frozen=True)
class Result:
    """What became of a case; `proof` are the last octets of both sides: whether the other side's, and the octets, without passcodes."""

    case: Case
    outcome: str
    reason: str = ""
    proof: Sequence[tuple[bool, bytes]] = ()
    seconds: float = 0


@dataclass
class Play:
    """A case being played. `anew` connects again, where that can be done."""

    wire: Wire
    case: Case
    known: dict[str, str]
    patience_s: float = 2
    anew: Callable[[], Wire] | None = None

    def run(self) -> Result:
        """The result; the connection is left as it is then."""
        began = time.monotonic()
        outcome, reason = PASSED, ""
        try:
            for step in self.case.steps:
                self.step(step)
        except Unmet as error:
            outcome, reason = FAILED, str(error)
        except NotJudged as error:
            outcome, reason = NOT_JUDGED, str(error)
        return Result(self.case, outcome, reason, proof(self.wire, self.known), time.monotonic() - began)

    def step(self, step: Step) -> None:
        """Play one step; raises Unmet or NotJudged."""
        if isinstance(step, Say):
            self.wire.send(self.filled(step.octets), step.pieces, step.gap_s)
        elif isinstance(step, Expect):
            self._expect(step)
        elif isinstance(step, Never):
            self._never(step)
        elif isinstance(step, Beats):
            self._beats(step)
        elif isinstance(step, Silence):
            time.sleep(self._agreed(step.promise_ms, 1) * step.intervals)
        elif isinstance(step, Idle):
            self._idle(step.seconds)
        elif isinstance(step, Speaks):
            if self.wire.parser.version != step.version:
                raise NotJudged(f"the connection is of {self.wire.parser.version}, the case of {step.version}")
        elif isinstance(step, Offers):
            if step.version not in self.known.get("offers", "").split(","):
                raise NotJudged(f"the client does not offer {step.version}")
        else:
            self._reconnect(step)

    def filled(self, octets: bytes) -> bytes:
        """Octets with what is known put in."""
        octets = _NOT_GIVEN.sub(lambda found: found[0] if found[1].decode() in self.known else b"", octets)
        for name, value in self.known.items():
            mark = b"{" + name.encode() + b"}"
            if mark in octets:
                octets = octets.replace(mark, (value if name in GIVEN else escaped(value, self.wire.parser.version)).encode())
        return octets

    def _expect(self, step: Expect) -> None:
        kind = NotJudged if step.needed else Unmet
        wanted = step.command.split("|")
        found = self._next(wanted, step, self.patience_s * step.patience)
        if isinstance(found, str):
            raise kind(f"{' or '.join(_said(one) for one in wanted)} expected, {found}")
        if found is None:  # it closed, as it must
            return
        for name, value in step.has.items():
            there = found.get(name)
            if value == ABSENT and there is not None:
                raise Unmet(f"{found.command} has {name}:{there}, where there is to be none")
            if value != ABSENT and (there is None or (value is not None and there != self._text(value))):
                if there is None or value is None:
                    raise Unmet(f"{found.command} has no {name}")
                raise Unmet(f"{found.command} has {name} {there!r}, not {self._text(value)!r}")
        if step.body is not None and found.body != self.filled(step.body):
            raise Unmet(f"{found.command} has the body {_short(found.body)}, not {_short(self.filled(step.body))}")
        for known, name in step.keep.items():
            self.known[known] = found.get(name) or ""

    def _next(self, wanted: Sequence[str], step: Expect, seconds: float) -> Frame | str | None:
        """The next frame that is wanted; None where the end of the connection is wanted and came; else what happened instead."""
        until = time.monotonic() + seconds
        while True:
            for number, found in enumerate(self.wire.frames):
                if found.command in wanted and all(found.get(name) == self._text(value) for name, value in step.where.items()):
                    return self.wire.frames.pop(number)
                if found.command == step.spare:
                    raise NotJudged(f"{found.command} came")
                if found.command == "ERROR" and wanted != [CLOSE]:
                    return f"ERROR came: {found.get('message') or found.body[:120].decode(errors='replace')!r}"
            if self.wire.ended:
                return None if CLOSE in wanted else f"the connection was closed ({self.wire.ended})"
            if self.wire.malformed and CLOSE not in wanted:
                return f"what came is no frame: {self.wire.malformed}"
            left = until - time.monotonic()
            if left <= 0:
                return f"none came in {seconds:g} s"
            self.wire.receive(left)

    def _never(self, step: Never) -> None:
        found = self._next(step.command.split("|"), Expect(step.command, step.where), step.seconds)
        if found is None:
            raise Unmet(f"the connection was closed ({self.wire.ended})")
        if isinstance(found, Frame):
            raise Unmet(f"{found.command} came, which must not")

    def _agreed(self, ours_ms: int, place: int) -> float:
        """The interval that CONNECTED agreed on, in seconds; `place` is that of the other side's number. Raises NotJudged."""
        said = self.known.get("beats", "").split(",")
        theirs = int(said[place]) if len(said) == 2 and said[place].strip().isdecimal() else 0
        if not theirs:
            raise NotJudged("the other side agreed to no such heart-beats")
        return max(ours_ms, theirs) / 1000

    def _beats(self, step: Beats) -> None:
        interval = self._agreed(step.ask_ms, 0)
        for _ in range(step.times):
            if not self.wire.receive(TOLERANCE * interval):
                how = f"the connection was closed ({self.wire.ended})" if self.wire.ended else f"nothing came in {TOLERANCE * interval:g} s"
                raise Unmet(f"a byte at least every {interval:g} s expected, {how}")

    def _idle(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self.wire.receive(left):
                raise Unmet("something came, which must not")
            if self.wire.ended:
                raise Unmet(f"the connection was closed ({self.wire.ended})")

    def _reconnect(self, step: Reconnect) -> None:
        if self.anew is None:
            raise NotJudged("this side cannot connect")
        before = self.wire
        before.close()
        self.wire = self.anew()
        self.wire.log = before.log
        self.wire.send(self.filled(step.connect))

    def _text(self, value: str) -> str:
        """A decoded value with what is known put in."""
        for name, known in self.known.items():
            value = value.replace(f"{{{name}}}", known)
        return value


def proof(wire: Wire, known: dict[str, str]) -> list[tuple[bool, bytes]]:
    """The last octets of both sides, with nobody's passcode."""
    left, found = PROOF_OCTETS, []
    for theirs, octets in reversed(_joined(wire.log)):
        masked = _SECRET.sub(rb"\1***", octets)
        for secret in filter(None, (known.get("passcode"), known.get("login"))):
            masked = masked.replace(secret.encode(), b"***")
        found.append((theirs, masked if len(masked) <= PIECE_OCTETS else masked[:200] + b" ... " + masked[-PIECE_OCTETS + 200 :]))
        left -= min(len(masked), PIECE_OCTETS)
        if left < 0:
            break
    return found[::-1]


def _joined(log: Sequence[tuple[bool, bytes]]) -> list[tuple[bool, bytes]]:
    """What one side said in a row as one."""
    found: list[tuple[bool, bytes]] = []
    for theirs, octets in log:
        if found and found[-1][0] == theirs:
            found[-1] = (theirs, found[-1][1] + octets)
        else:
            found.append((theirs, octets))
    return found


def _short(body: bytes) -> str:
    """A body for people."""
    return repr(body) if len(body) <= 80 else f"of {len(body)} bytes {body[:30]!r}..."


def _said(command: str) -> str:
    return "the end of the connection" if command == CLOSE else command
