"""A small language of dialogues for tests: a transcript in, the tables that a capture of it would give out.

One line a packet, a millisecond apart unless `@` says when::

    > CONNECT accept-version:1.2 host:/          the client sends a frame (`|` begins its body)
    < CONNECTED version:1.2                      the server sends one
    @1500 > EOL                                  at 1500 ms a heart-beat
    & < EOL                                      octets in the packet of the line before
    > GAP 30                                     thirty octets that the capture lacks
    < RAW "\\x00\\x00"                             octets that are no frame
    > FIN                                        the client closes; also RST
    > TCP                                        it says nothing, but acknowledges what came, as all that it sends does

Values with spaces are quoted as in a shell. Blank lines and what follows ` #` mean nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

import numpy as np
import pyarrow as pa

from stompcap.columns import I64, Octets
from stompcap.session import Analysis, Options, analyse
from stompcap.session.dialogue import Dialogue
from stompcap.stomp import Rows, Runs, decode, delimit, negotiate, redact
from stompcap.tables import words
from stompcap.tables.bronze import RAW_FRAMES, SEGMENTS, STALLS, STREAMS
from stompcap.tables.silver import FRAMES

START = 1_700_000_000_000_000_000
MS = 1_000_000


@dataclass
class Packet:
    """What one packet brought of one direction."""

    number: int
    ns: int
    side: int
    offset: int
    octets: bytes
    acked_ns: int = -1


@dataclass
class Session:
    """One transcript, read: packets in order and how the connection ended."""

    text: str
    stream_id: str = "0" * 20
    syn: bool = True
    synack: bool = True
    transport: str = "tcp"
    server_port: int = 61613
    packets: list[Packet] = field(default_factory=list)
    waiting: list[list[Packet]] = field(default_factory=lambda: [[], []])  # for their acknowledgement
    lengths: list[int] = field(default_factory=lambda: [0, 0])
    missing: list[int] = field(default_factory=lambda: [0, 0])
    fins: list[int | None] = field(default_factory=lambda: [None, None])
    rst: tuple[int, int] | None = None
    last: int = START

    def __post_init__(self) -> None:
        now, number = START, 0
        for line in self.text.splitlines():
            line = line.split(" #")[0].strip()
            if not line:
                continue
            same = line.startswith("&")
            line = line.removeprefix("&").strip()
            if not same:
                now, number = now + MS, number + 1
            if line.startswith("@"):
                at, line = line[1:].split(maxsplit=1)
                now = START + round(float(at) * MS)
            side, what = "><".index(line[0]), line[1:].strip()
            self.last = max(self.last, now)
            self._step(now, number, side, what)

    def _step(self, now: int, number: int, side: int, what: str) -> None:
        if what != "RST" and not what.startswith("GAP"):
            for packet in self.waiting[1 - side]:
                packet.acked_ns = now
            self.waiting[1 - side].clear()
        if what == "TCP":
            return
        if what == "FIN":
            self.fins[side] = now
        elif what == "RST":
            self.rst = (now, side)
        elif what.startswith("GAP"):
            self.lengths[side] += int(what.split()[1])
            self.missing[side] += int(what.split()[1])
        else:
            octets = encode(what)
            self.packets.append(Packet(number, now, side, self.lengths[side], octets))
            self.waiting[side].append(self.packets[-1])
            self.lengths[side] += len(octets)

    @property
    def close_kind(self) -> str:
        fins = [f for f in self.fins if f is not None]
        return "rst" if self.rst and self.rst[0] < min(fins, default=self.rst[0] + 1) else "fin" if fins else "open"

    @property
    def history(self) -> str:
        """Zeek's letters of what ended it, in order of time."""
        ends = [(f, "Ff"[side]) for side, f in enumerate(self.fins) if f is not None]
        ends += [(self.rst[0], "Rr"[self.rst[1]])] if self.rst else []
        return "".join(letter for _, letter in sorted(ends))

    @property
    def closed_by(self) -> str | None:
        known = [(f, side) for side, f in enumerate(self.fins) if f is not None] + [self.rst] * bool(self.rst)
        return words.CLOSERS[min(known)[1]] if known else None


def split(text: str) -> list[str]:
    """Words as a shell splits them, backslashes being nothing special."""
    words_ = shlex.shlex(text, posix=True, punctuation_chars=False)
    words_.whitespace_split, words_.escape, words_.commenters = True, "", ""
    return list(words_)


@cache
def encode(what: str) -> bytes:
    """One line's octets: a frame, an EOL or raw octets with Python's escapes."""
    if what == "EOL":
        return b"\n"
    if what.startswith("RAW "):
        return split(what[4:])[0].encode("latin-1").decode("unicode_escape").encode("latin-1")
    head, _, body = what.partition(" | ")
    command, *headers = split(head)
    return "\n".join([command, *headers, "", ""]).encode() + body.strip().encode() + b"\0"


Way = tuple[Session, int]
"""A direction of a session of which packets were captured."""


def _captured(ways: Sequence[Way]) -> tuple[Octets, Rows]:
    """The octets captured of some directions one behind the other, and the rows they are delimited into."""
    octets: list[bytes] = []
    runs: list[list[int]] = []  # contiguous stretches: direction, stream offset, octets
    for number, (s, side) in enumerate(ways):
        end = -1
        for p in s.packets:
            if p.side == side:
                octets.append(p.octets)
                if p.offset == end:
                    runs[-1][2] += len(p.octets)
                else:
                    runs.append([number, p.offset, len(p.octets)])
                end = p.offset + len(p.octets)
    direction, offset, length = np.array(runs, np.int64).reshape(-1, 3).T.copy()
    synced, total = [(s.syn, s.synack)[side] for s, side in ways], [s.lengths[side] for s, side in ways]
    stretches = Runs(
        direction.astype(np.int32), np.cumsum(length) - length, length, offset,
        np.array(synced, np.bool_), np.ones(len(ways), np.bool_), np.array(total, np.int64),
    )  # fmt: skip
    buffer = np.frombuffer(b"".join(octets), np.uint8)
    return buffer, delimit(buffer, stretches)


def _arrivals(s: Session, side: int) -> tuple[I64, I64, I64]:
    """Per octet of a direction its time, its packet and when it was acknowledged, -1 where it is missing."""
    ns, number, acked = (np.full(s.lengths[side], -1, np.int64) for _ in range(3))
    for p in s.packets:
        if p.side == side:
            ns[p.offset : p.offset + len(p.octets)] = p.ns
            number[p.offset : p.offset + len(p.octets)] = p.number
            acked[p.offset : p.offset + len(p.octets)] = p.acked_ns
    return ns, number, acked


def _pieces(offset: int, length: int, kind: str, ns: I64) -> Iterable[tuple[int, int]]:
    """EOL runs are one row per capture time, everything else one row."""
    if kind != "eol":
        return [(offset, length)]
    cuts = np.flatnonzero(np.diff(ns[offset : offset + length])) + 1
    edges = [0, *cuts.tolist(), length]
    return [(offset + a, b - a) for a, b in pairwise(edges)]


def tables(sessions: Sequence[Session], capture: str = "cap") -> dict[str, pa.Table]:
    """Tables streams (with the times of FIN and RST), rows, frames and segments of the sessions; all of them delimited at once."""
    present = [{p.side for p in s.packets} for s in sessions]
    ways = [(s, side) for s, sides in zip(sessions, present, strict=True) for side in (0, 1) if side in sides]
    of = np.array([n for n, sides in enumerate(present) for _ in sides], np.int64)
    octets, found = _captured(ways)
    known = negotiate(octets, found, of, np.array([side for _, side in ways], np.int8), len(sessions))
    _, masked = redact(octets, found)
    picked = found.frames()
    decoded = iter(decode(octets, picked, known.version[of[picked.direction]]).to_pylist())
    begin = np.searchsorted(found.direction, np.arange(len(ways) + 1)).tolist()
    rows, segments, frames, way = [], [], [], 0
    for n, s in enumerate(sessions):
        version = {
            "version": words.VERSIONS[known.version[n]] if known.version[n] >= 0 else None,
            "version_source": words.VERSION_SOURCES[known.source[n]],
            "possible_versions": words.POSSIBLE_VERSIONS[known.possible[n] - 1],
        }
        for side in (0, 1):
            arrived = _arrivals(s, side)
            if side not in present[n]:
                if s.lengths[side]:
                    rows.append(_row(s, side, 0, s.lengths[side], "gap", None, 0, arrived, capture, False))
                continue
            for i in range(begin[way], begin[way + 1]):
                kind = words.RAW_KINDS[found.kind[i]]
                by = words.DELIMITERS[found.delimited_by[i]] if kind == "frame" else None
                for offset, length in _pieces(int(found.offset[i]), int(found.length[i]), kind, arrived[0]):
                    rows.append(_row(s, side, offset, length, kind, by, int(found.syntax[i]), arrived, capture, bool(masked[i])))
                if kind == "frame":
                    row = rows[-1] | {"redacted": False, "syntax": 0} | next(decoded) | version
                    frames.append({c.name: row.get(c.name) for c in FRAMES.columns})
            way += 1
        segments += [
            {"stream_id": s.stream_id, "direction": words.DIRECTIONS[p.side], "ts_ns": p.ns, "stream_offset": p.offset,
             "new_octets": len(p.octets), "capture_id": capture, "packet": p.number}
            for p in sorted(s.packets, key=lambda p: p.side)
        ]  # fmt: skip
    return {
        "streams": pa.Table.from_pylist([_stream(s) for s in sessions], STREAMS.arrow),
        "rows": pa.Table.from_pylist(rows, RAW_FRAMES.arrow),
        "frames": pa.Table.from_pylist(frames, FRAMES.arrow),
        "segments": pa.Table.from_pylist(segments, SEGMENTS.arrow),
    }


def _stream(s: Session) -> dict[str, object]:
    row: dict[str, object] = {
        "stream_id": s.stream_id, "source": "default", "client_ip": "10.0.0.1", "client_port": 40000, "server_ip": "10.0.0.2",
        "server_port": s.server_port, "transport": s.transport, "protocol": "stomp", "first_ns": START, "last_ns": s.last,
        "syn_seen": s.syn, "synack_seen": s.synack, "history": s.history, "close_kind": s.close_kind, "closed_by": s.closed_by,
        "fin_ns_c2s": s.fins[0], "fin_ns_s2c": s.fins[1], "rst_ns": s.rst[0] if s.rst else None,
        "rst_by": words.SIDES[s.rst[1]] if s.rst else None,
    }
    for side, way in enumerate(words.DIRECTIONS):
        row |= {f"octets_{way}": s.lengths[side], f"gap_octets_{way}": s.missing[side], f"truncated_octets_{way}": 0}
    return row


def _row(
    s: Session, side: int, offset: int, length: int, kind: str, by: str | None, syntax: int, arrived: tuple[I64, I64, I64],
    capture: str, redacted: bool,
) -> dict[str, object]:
    gap = kind == "gap"
    times, packets, acked = (of[offset : offset + length] for of in arrived)
    return {
        "stream_id": s.stream_id, "direction": words.DIRECTIONS[side], "stream_offset": offset, "length_octets": length, "kind": kind,
        "redacted": redacted, "delimited_by": by, "syntax": syntax, "first_ns": None if gap else int(times[0]),
        "last_ns": None if gap else int(times.max()), "first_capture_id": None if gap else capture,
        "acked_ns": None if gap or acked[-1] < 0 else int(acked[-1]),
        "first_packet": None if gap else int(packets[0]), "last_capture_id": None if gap else capture,
        "last_packet": None if gap else int(packets[np.argmax(times)]),
    }


def made(*texts: str) -> dict[str, pa.Table]:
    """The tables of sessions that stall nowhere, by their transcripts; the n-th has the stream_id of twenty digits n."""
    return tables([Session(text, f"{n:020d}") for n, text in enumerate(texts)]) | {"stalls": STALLS.arrow.empty_table()}


def run(
    *texts: str, syn: bool = True, synack: bool = True, transport: str = "tcp", options: Options | None = None,
    stalls: Sequence[dict[str, object]] = (),
) -> Analysis:
    """Analyse transcripts, one session each; the n-th has the stream_id of twenty digits n.

    `stalls`: rows with direction, kind, begin_ms and end_ms, of the first session.
    """
    sessions = [Session(t, f"{n:020d}", syn, synack, transport) for n, t in enumerate(texts)]
    made = tables(sessions)
    blocked = pa.Table.from_pylist(
        [
            {"stream_id": "0" * 20, "direction": x["direction"], "kind": x["kind"],
             "begin_ns": START + int(x["begin_ms"]) * MS, "end_ns": START + int(x["end_ms"]) * MS}  # type: ignore[call-overload]
            for x in stalls
        ],
        pa.schema([("stream_id", pa.string()), ("direction", pa.string()), ("kind", pa.string()),
                   ("begin_ns", pa.int64()), ("end_ns", pa.int64())]),
    )
    return analyse(made["streams"], made["rows"], made["frames"], made["segments"], {"cap": 0}, blocked, options)


def commands(dialogue: Dialogue) -> list[str]:
    """The dialogue as its commands, `>` the client's, `<` the server's."""
    return [("><"[side]) + str(name) for side, name in zip(dialogue.side, dialogue.column("command"), strict=True)]


def picked(table: pa.Table, *names: str) -> list[tuple[object, ...]]:
    """Some columns of a table as tuples of values."""
    return [tuple(row[n] for n in names) for row in table.to_pylist()]
