"""A small language of dialogues for tests: a transcript in, the tables that a capture of it would give out.

One line a packet, a millisecond apart unless `@` says when::

    > CONNECT accept-version:1.2 host:/          the client sends a frame (`|` begins its body)
    < CONNECTED version:1.2                      the server sends one
    @1500 > EOL                                  at 1500 ms a heart-beat
    & < EOL                                      octets in the packet of the line before
    > GAP 30                                     thirty octets that the capture lacks
    < RAW "\\x00\\x00"                             octets that are no frame
    > FIN                                        the client closes; also RST

Values with spaces are quoted as in a shell. Blank lines and what follows ` #` mean nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stompcap.session import Analysis, Options, analyse
from stompcap.session.dialogue import Dialogue
from stompcap.stomp import Rows, Runs, decode, delimit, negotiate, redact
from stompcap.tables import words
from stompcap.tables.bronze import RAW_FRAMES, SEGMENTS, STALLS, STREAMS
from stompcap.tables.silver import FRAMES

Octets = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

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
            self.lengths[side] += len(octets)

    @property
    def close_kind(self) -> str:
        if self.rst:
            return "rst"
        return "fin" if any(f is not None for f in self.fins) else "open"

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


Direction = tuple[Octets, Rows, Ints, Ints, bool]


def _rows(session: Session, side: int) -> Direction:
    """Octets, delimited rows, and per octet of the direction its time and packet (-1 where missing)."""
    packets = [p for p in session.packets if p.side == side]
    total = session.lengths[side]
    octets = np.frombuffer(b"".join(p.octets for p in packets), np.uint8)
    length: list[int] = []  # of each contiguous stretch
    begin: list[int] = []
    for p in packets:
        if begin and begin[-1] + length[-1] == p.offset:
            length[-1] += len(p.octets)
        else:
            begin.append(p.offset)
            length.append(len(p.octets))
    synced = session.syn if side == 0 else session.synack
    runs = Runs(
        np.zeros(len(length), np.int32), np.cumsum(np.array(length, np.int64)) - np.array(length, np.int64),
        np.array(length, np.int64), np.array(begin, np.int64),
        np.array([synced]), np.array([True]), np.array([total], np.int64),
    )
    ns, number = np.full(total, -1, np.int64), np.full(total, -1, np.int64)
    for p in packets:
        ns[p.offset : p.offset + len(p.octets)] = p.ns
        number[p.offset : p.offset + len(p.octets)] = p.number
    return octets, delimit(octets, runs), ns, number, bool(packets)


def _pieces(offset: int, length: int, kind: str, ns: Ints) -> Iterable[tuple[int, int]]:
    """EOL runs are one row per capture time, everything else one row."""
    if kind != "eol":
        return [(offset, length)]
    cuts = np.flatnonzero(np.diff(ns[offset : offset + length])) + 1
    edges = [0, *cuts.tolist(), length]
    return [(offset + a, b - a) for a, b in pairwise(edges)]


def tables(sessions: Sequence[Session], capture: str = "cap") -> dict[str, pa.Table]:
    """Tables streams (with the times of FIN and RST), rows, frames and segments of the sessions."""
    streams, rows, segments, frames = [], [], [], []
    for s in sessions:
        streams.append(_stream(s))
        directions = [_rows(s, side) for side in (0, 1)]
        version, source, possible = _version(directions)
        for side, (octets, found, ns, number, present) in enumerate(directions):
            if not present:
                if s.lengths[side]:
                    rows.append(_row(s, side, 0, s.lengths[side], "gap", None, 0, ns, number, capture, False))
                continue
            key = {"stream_id": s.stream_id, "direction": words.DIRECTIONS[side]}
            _, masked = redact(octets, found)
            for i in range(len(found)):
                kind = words.RAW_KINDS[found.kind[i]]
                for offset, length in _pieces(int(found.offset[i]), int(found.length[i]), kind, ns):
                    by = words.DELIMITERS[found.delimited_by[i]] if kind == "frame" else None
                    rows.append(_row(s, side, offset, length, kind, by, int(found.syntax[i]), ns, number, capture, bool(masked[i])))
            picked = found.frames()
            decoded = decode(octets, picked, np.full(len(picked), version, np.int8)).to_pylist()
            for i, columns in enumerate(decoded):
                row = _row(s, side, int(picked.offset[i]), int(picked.length[i]), "frame", None, 0, ns, number, capture, False)
                row |= columns | {
                    "version": words.VERSIONS[version] if version >= 0 else None, "version_source": words.VERSION_SOURCES[source],
                    "possible_versions": words.POSSIBLE_VERSIONS[possible - 1],
                }
                frames.append({c.name: row.get(c.name) for c in FRAMES.columns})
            for p in s.packets:
                if p.side == side:
                    segments.append(key | {
                        "ts_ns": p.ns, "stream_offset": p.offset, "new_octets": len(p.octets), "capture_id": capture, "packet": p.number
                    })

    return {
        "streams": pa.Table.from_pylist(streams, STREAMS.arrow),
        "rows": pa.Table.from_pylist(rows, RAW_FRAMES.arrow),
        "frames": pa.Table.from_pylist(frames, FRAMES.arrow),
        "segments": pa.Table.from_pylist(segments, SEGMENTS.arrow),
    }


def _version(directions: Sequence[Direction]) -> tuple[int, int, int]:
    """The session's version by the decoder's own judgement."""
    best = (-1, words.VERSION_SOURCES.index("unknown"), 0b111)
    for side in (1, 0):
        octets, found, _, _, present = directions[side]
        if present:
            version, source, possible = negotiate(octets, found, np.zeros(1, np.int64), np.array([side], np.int8), 1)
            if int(source[0]) < best[1]:
                best = (int(version[0]), int(source[0]), int(possible[0]))
    return best


def _stream(s: Session) -> dict[str, object]:
    row: dict[str, object] = {
        "stream_id": s.stream_id, "source": "default", "client_ip": "10.0.0.1", "client_port": 40000, "server_ip": "10.0.0.2",
        "server_port": s.server_port, "transport": s.transport, "protocol": "stomp", "first_ns": START, "last_ns": s.last,
        "syn_seen": s.syn, "synack_seen": s.synack, "history": s.history, "close_kind": s.close_kind, "closed_by": s.closed_by,
        "fin_ns_c2s": s.fins[0], "fin_ns_s2c": s.fins[1], "rst_ns": s.rst[0] if s.rst else None,
    }
    for side, way in enumerate(words.DIRECTIONS):
        row |= {f"octets_{way}": s.lengths[side], f"gap_octets_{way}": s.missing[side], f"truncated_octets_{way}": 0}
    return row


def _row(
    s: Session, side: int, offset: int, length: int, kind: str, by: str | None, syntax: int, ns: Ints, number: Ints,
    capture: str, redacted: bool,
) -> dict[str, object]:
    gap = kind == "gap"
    times, packets = ns[offset : offset + length], number[offset : offset + length]
    return {
        "stream_id": s.stream_id, "direction": words.DIRECTIONS[side], "stream_offset": offset, "length_octets": length, "kind": kind,
        "redacted": redacted, "delimited_by": by, "syntax": syntax, "first_ns": None if gap else int(times[0]),
        "last_ns": None if gap else int(times.max()), "first_capture_id": None if gap else capture,
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
