"""SockJS inside WebSocket: messages of JSON, whose strings are the octets that it carries.

sockjs-protocol 0.3.3: the server sends `o` at first, `h` as a sign of life, `a["...",...]` with messages and `c[code,"reason"]` at the end,
the client `["...",...]`. Each begins where the one before ends, so that the boundaries of WebSocket's messages need not be known. The
octets of a message can be read when all of it is there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from stompcap.codes import HIGH, LOW, NOBODY, PROTOCOL_OTHER, TRANSPORT_SOCKJS
from stompcap.columns import I64, Bools, Octets
from stompcap.stomp import grammar
from stompcap.stomp.delimiter_io import FRAME_LIMIT, Runs
from stompcap.transport.ahead import Ahead
from stompcap.transport.carried import Carried
from stompcap.transport.deflate import as_array, tells_secrets
from stompcap.transport.direction import OFFSET, UNSURE, Direction
from stompcap.transport.events import CLOSE, HANDSHAKE, SOCKJS_HEARTBEAT, UNREADABLE
from stompcap.transport.given import put_together
from stompcap.transport.state import Arrays
from stompcap.transport.summary import Summary

STRING = rb'"(?:[^"\\]++|\\.)*+"'
MESSAGES = re.compile(rb"a?(\[\s*+(?:" + STRING + rb"\s*+(?:,\s*+" + STRING + rb"\s*+)*+)?\])", re.DOTALL)
PART = re.compile(rb'a?(?:\[\s*+(?:' + STRING + rb'\s*+,\s*+)*+(?:"(?:[^"\\]++|\\.)*+(?:\\|"\s*+)?)?)?\Z', re.DOTALL)
"""The beginning of one."""
CLOSED = re.compile(rb"c\[\s*([0-9]{1,5})\s*,\s*" + STRING + rb"\s*\]", re.DOTALL)
CLOSING = re.compile(rb"c(?:\[[^\]]{0,200})?\Z", re.DOTALL)
COMMANDS = b"|".join(name.encode() for name in grammar.NAMES)
FIRST = re.compile(rb'oh*+(?:a\["|c\[)|h*+a?\["(?:\\[rn])*+(?:"\]|(?:' + COMMANDS + rb")\\[rn])")
"""What the first octets of a side are; `\\n` is an LF in JSON."""
MARK = re.compile(rb'a?\["|c\[[0-9]')
"""What is behind a hole: within a string there is a backslash before a quotation mark."""
LONGEST_MARK = 3
(SEARCHING, UNITS, LOST_UNITS, CODE, TRUE_BEGINNING) = range(3, 8)
NUMBERS = 8
"""Numbers of a direction behind CAME, OFFSET and UNSURE; CODE is that of a close plus 1."""


@dataclass
class Side(Direction):
    """One direction. `raw` is what there is of a message."""

    numbers: I64 = field(default_factory=lambda: np.zeros(NUMBERS, np.int64))

    def read(self) -> None:
        """Read what came."""
        self.text = self.given.buffer.tobytes()
        while self.next_run():
            while self.at < self.end and (self._search() if self.numbers[SEARCHING] else self._message()):
                pass

    def hole(self, octets: int, rest: int, unsure: bool) -> None:
        """What was not whole before a hole is lost with it."""
        self.numbers[LOST_UNITS] += 1
        self.numbers[SEARCHING] = 1
        self.given.missing(octets + rest, unsure=True)

    def _search(self) -> bool:
        """Go on to a message; whether there is one."""
        found = MARK.search(self.text, self.at, self.end)
        at = found.start() if found else max(self.end - LONGEST_MARK, self.at)
        self.given.missing(at - self.at, unsure=True)
        self.at = at
        self.numbers[SEARCHING] = found is None
        return found is not None

    def _message(self) -> bool:
        """Read a message; whether one is whole."""
        first = self.text[self.at]
        if first in b"oh":
            self._unit(1, HANDSHAKE if first == ord("o") else SOCKJS_HEARTBEAT, None)
            return True
        if found := MESSAGES.match(self.text, self.at, self.end):
            octets = self._octets(found[1])
            first_piece, last = self.given.piece_at(self.at), self.given.piece_at(found.end() - 1)
            self.at = found.end()
            if octets is not None:
                self.numbers[UNITS] += 1
                self.given.opened(octets, max(self.by(first_piece, last), self.given.floor))
            return True
        if found := CLOSED.match(self.text, self.at, self.end):
            self.numbers[CODE] = self.numbers[CODE] or 1 + int(found[1])
            self._unit(len(found[0]), CLOSE, str(int(found[1])))
            return True
        part = PART.match(self.text, self.at, self.end) or CLOSING.match(self.text, self.at, self.end)
        if part and self.end - self.at <= 2 * FRAME_LIMIT:
            return False
        self._unreadable(self.at, "no message of SockJS")
        self.given.missing(1, unsure=True)
        self.at += 1
        self.numbers[SEARCHING] = 1
        return True

    def _octets(self, array: bytes) -> bytes | None:
        """What the strings of a message are together."""
        try:
            return "".join(json.loads(array)).encode("utf-8", "surrogatepass")
        except ValueError:
            self._unreadable(self.at, "no JSON")
            self.given.missing(len(array), unsure=True)
            return None

    def _unit(self, octets: int, kind: str, detail: str | None) -> None:
        piece = max(self.given.piece_at(self.at + octets - 1), self.given.floor)
        self.tell(kind, piece, self.below(self.at), octets, detail)
        self.numbers[UNITS] += 1
        self.at += octets

    def _unreadable(self, position: int, why: str) -> None:
        self.numbers[LOST_UNITS] += 1
        self.tell(UNREADABLE, max(self.given.piece_at(position), self.given.floor), self.below(position), 0, why)


class SockJs:
    """The layer (stompcap.transport.layers.Layer)."""

    kind = "sockjs"
    protocol = PROTOCOL_OTHER
    keeps = ("numbers", "raw 0", "raw 1")

    def begins(self, octets: Octets, runs: Runs) -> Bools:
        """Per direction, whether it begins with messages of SockJS."""
        found = np.zeros(runs.synced.size, np.bool_)
        first = np.flatnonzero(runs.length > 0)
        first = first[np.isin(octets[runs.position[first]], np.frombuffer(b"oha[", np.uint8))]
        for run in first.tolist():
            direction, begin = int(runs.direction[run]), int(runs.position[run])
            if not runs.offset[run] or not runs.synced[direction]:
                found[direction] |= FIRST.match(octets[begin : begin + int(runs.length[run])].tobytes()) is not None
        return found

    def transport(self, below: int) -> int:
        """SockJS."""
        return TRANSPORT_SOCKJS

    def read(self, below: Carried, streams: I64, before: Sequence[Arrays | None]) -> tuple[Carried, Sequence[Arrays]]:
        """What the strings of messages are."""
        pairs, ahead = [], Ahead(below, streams)
        for stream, one in zip(streams.tolist(), before, strict=True):
            pair = [Side(stream, LOW), Side(stream, HIGH)]
            for side in pair:
                self._read(below, ahead, side, one)
            pairs.append(pair)
        synced = np.array([[bool(side.numbers[TRUE_BEGINNING]) for side in pair] for pair in pairs], np.bool_).reshape(-1, 2)
        found = put_together(below, streams, [[side.given for side in pair] for pair in pairs], synced)
        events = [event for pair in pairs for side in pair for event in side.events]
        kept = [{"numbers": np.stack([side.numbers for side in pair])} | {f"raw {side.side}": as_array(side.raw) for side in pair}
                for pair in pairs]  # fmt: skip
        return found.telling(events), kept

    def _read(self, below: Carried, ahead: Ahead, side: Side, before: Arrays | None) -> None:
        """Read what came of a direction."""
        if before is None:
            side.numbers[TRUE_BEGINNING] = below.synced[side.stream, side.side]
            side.numbers[SEARCHING] = not below.synced[side.stream, side.side]
        else:
            side.numbers, side.raw = before["numbers"][side.side].copy(), before[f"raw {side.side}"].tobytes()
        begin, end = below.bounds[2 * side.stream + side.side :][:2].tolist()
        side.begin(below.stretches.take(slice(begin, end)), ahead.read(begin, end))
        side.read()
        missing = int(below.octets[side.stream, side.side]) - side.reached
        if below.final[side.stream] and missing > 0:
            side.hole(missing, side.end - side.at, False)
            side.at = side.end
        side.ended()

    def summaries(self, kept: Arrays) -> Sequence[Summary]:
        """One row."""
        n = kept["numbers"]
        units, octets, lost, codes = ((int(n[LOW, column]), int(n[HIGH, column])) for column in (UNITS, OFFSET, LOST_UNITS, CODE))
        closed_by = LOW if codes[LOW] else HIGH if codes[HIGH] else NOBODY
        code = codes[closed_by] - 1 if closed_by != NOBODY else None
        partly = any(lost) or bool(n[:, SEARCHING].any())
        reason = "octets are missing or unreadable" if partly else None
        return [Summary("sockjs", "partly" if partly else "read", reason, {"close_code": code}, units, octets, lost, closed_by)]

    def masked(self, kept: Arrays, secrets: frozenset[bytes]) -> Arrays:
        """What there is of a message is kept if it tells no secret; else it is a gap."""
        found = {name: values.copy() for name, values in kept.items()}
        escaped = {json.dumps(one.decode("latin-1"))[1:-1].encode() for one in secrets} | secrets
        for side in (LOW, HIGH):
            raw = kept[f"raw {side}"].tobytes()
            if raw and (tells_secrets(raw, escaped) or re.search(rb"\\u(?!000[0ad])", raw)):
                n = found["numbers"][side]
                n[[OFFSET, UNSURE, SEARCHING, LOST_UNITS]] = n[OFFSET] + len(raw), 1, 1, n[LOST_UNITS] + 1
                found[f"raw {side}"] = as_array(b"")
        return found
