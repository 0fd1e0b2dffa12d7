"""Transcripts to analysed sessions, without packets: each line is one segment, a millisecond after the one before it.
stompcap/generate/transcript.py describes the lines.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from stompcap.generate.transcript import events
from stompcap.session import Analysis, Options, analyse
from stompcap.settings import Thresholds
from stompcap.stomp import Rows, Runs, Versions, decode, delimit, negotiate
from stompcap.tables import TABLES, words
from stompcap.transport.checks import CHECKS, Check, text_of

MS = 1_000_000
START = 1_700_000_000_000_000_000
COUNTERS = (
    "segments", "retransmitted_octets", "overlap_conflict_octets", "out_of_order_segments", "truncated_octets",
    "duplicate_segments", "bad_checksum_segments",
)
OUTCOMES = {"keeps": "kept", "breaks": "broken", "hides": "unknown"}
STALLS = {"stalls": "zero_window", "resends": "retransmission"}


@dataclass
class Direction:
    chunks: list[tuple[int, bytes]] = field(default_factory=list)  # stream offset, octets
    times: list[int] = field(default_factory=list)  # one per chunk
    packets: list[int] = field(default_factory=list)
    octets: int = 0
    lost: int = 0
    fin_ns: int | None = None


@dataclass
class Conversation:
    """One TCP connection as the transcript tells it."""

    sides: tuple[Direction, Direction] = field(default_factory=lambda: (Direction(), Direction()))
    seen: bool = True  # the handshake was captured
    synced: bool = True  # offset 0 is where a frame may begin
    history: str = "Sh"
    close_kind: str = "open"
    closed_by: str | None = None
    rst_by: str | None = None
    rst_ns: int | None = None
    last_ns: int = START
    stalls: list[tuple[int, str, int, int]] = field(default_factory=list)  # side, kind, begin, end
    checks: list[Check] = field(default_factory=list)

    def say(self, side: int, data: bytes, now: int, packet: int) -> None:
        direction = self.sides[side]
        direction.chunks.append((direction.octets, data))
        direction.times.append(now)
        direction.packets.append(packet)
        direction.octets += len(data)

    def close(self, side: int, how: str, now: int) -> None:
        if how == "resets":
            self.close_kind = "rst" if self.close_kind == "open" else self.close_kind
            self.rst_by, self.rst_ns, self.history = words.SIDES[side], now, self.history + "Rr"[side]
            self.closed_by = self.closed_by or words.SIDES[side]
        else:
            self.sides[side].fin_ns = now
            self.history += "Ff"[side]
            self.closed_by = self.closed_by or words.SIDES[side]
            self.close_kind = "fin" if self.close_kind == "open" else self.close_kind


def read(text: str) -> Conversation:
    """The conversation of a transcript; ValueError for a line that means nothing."""
    conversation, now = Conversation(), START
    for packet, event in enumerate(events(text), start=1):
        now += MS
        if event.kind == "midstream":
            conversation.seen, conversation.synced, conversation.history = False, False, ""
        elif event.kind == "sends":
            conversation.say(event.side, event.octets, now, packet)
        elif event.kind == "waits":
            now += event.number * 1000 * MS
        elif event.kind in STALLS:
            begun, now = now, now + event.number * 1000 * MS
            conversation.stalls.append((event.side, STALLS[event.kind], begun, now))
        elif event.kind in OUTCOMES:
            what, seen = event.words
            conversation.checks.append(Check(what, event.side, OUTCOMES[event.kind], conversation.sides[event.side].octets, now, seen))
        elif event.kind == "loses":
            direction = conversation.sides[event.side]
            direction.octets += event.number
            direction.lost += event.number
        else:
            conversation.close(event.side, event.kind, now)
        conversation.last_ns = now
    return conversation


def analysed(*transcripts: str | Conversation, version: int | None = None, thresholds: Thresholds | None = None) -> Analysis:
    """Sessions s0, s1, ... of transcripts; `version` (0, 1, 2) overrules what the frames say."""
    made = tables(*transcripts, version=version)
    chosen = Options(thresholds=thresholds or Thresholds())
    return analyse(made["streams"], made["rows"], made["frames"], made["segments"], {"cap": 0}, made["stalls"], options=chosen)


def tables(*transcripts: str | Conversation, version: int | None = None) -> dict[str, pa.Table]:
    """The tables streams, rows (raw_frames), frames, segments and stalls of such sessions."""
    talks = [read(t) if isinstance(t, str) else t for t in transcripts]
    directions = [d for talk in talks for d in talk.sides]
    buffer = np.frombuffer(b"".join(data for d in directions for _, data in d.chunks), np.uint8)
    runs = _runs(directions, talks)
    rows = delimit(buffer, runs)
    owner, side = np.arange(len(directions)) // 2, (np.arange(len(directions)) % 2).astype(np.int8)
    versions = negotiate(buffer, rows, owner, side, len(talks))
    if version is not None:
        for known, said in zip(versions, (version, 0, 1 << version), strict=True):
            known[:] = said
    raw = _raw_frames(rows, directions)
    frames = _frames(buffer, rows, raw, versions)
    return {
        "streams": _streams(talks), "rows": raw, "frames": frames, "segments": _segments(directions),
        "stalls": _stalls(talks),
    }


def _runs(directions: list[Direction], talks: list[Conversation]) -> Runs:
    entries, position = [], 0
    for number, direction in enumerate(directions):
        for offset, data in direction.chunks:
            last = entries[-1] if entries and entries[-1][0] == number else None
            if last and last[3] + last[2] == offset:
                last[2] += len(data)
            else:
                entries.append([number, position, len(data), offset])
            position += len(data)
    columns = [np.array([e[i] for e in entries], np.int64) for i in range(4)]
    return Runs(
        columns[0].astype(np.int32), *columns[1:],
        synced=np.repeat([t.synced for t in talks], 2),
        final=np.ones(len(directions), bool),
        stream_octets=np.array([d.octets for d in directions], np.int64),
    )


def _raw_frames(rows: Rows, directions: list[Direction]) -> pa.Table:
    """Table raw_frames without octets; EOL runs cut by arrival."""
    found = []
    for i in range(len(rows)):
        direction = directions[rows.direction[i]]
        begin, end = int(rows.offset[i]), int(rows.offset[i] + rows.length[i])
        kind = words.RAW_KINDS[rows.kind[i]]
        arrivals = [
            (max(begin, o), min(end, o + len(data)), ts, packet)
            for (o, data), ts, packet in zip(direction.chunks, direction.times, direction.packets, strict=True)
            if o < end and o + len(data) > begin
        ]
        pieces = [[a] for a in arrivals] if kind == "eol" else [arrivals]
        for piece in pieces:
            low, high = (piece[0][0], piece[-1][1]) if kind == "eol" else (begin, end)
            found.append({
                "stream_id": f"s{rows.direction[i] // 2}", "direction": words.DIRECTIONS[rows.direction[i] % 2],
                "stream_offset": low, "length_octets": high - low, "kind": kind, "redacted": False,
                "delimited_by": words.DELIMITERS[rows.delimited_by[i]] if rows.delimited_by[i] >= 0 else None,
                "first_ns": piece[0][2] if piece else None, "last_ns": piece[-1][2] if piece else None,
                "first_capture_id": "cap" if piece else None, "first_packet": piece[0][3] if piece else None,
                "last_capture_id": "cap" if piece else None, "last_packet": piece[-1][3] if piece else None,
                "syntax": int(rows.syntax[i]),
            })
    return pa.Table.from_pylist(found, schema=TABLES["raw_frames"].arrow)


def _frames(buffer: np.ndarray, rows: Rows, raw: pa.Table, versions: Versions) -> pa.Table:
    frames = rows.frames()
    of = frames.direction // 2
    version, source, possible = versions.take(of)
    decoded = decode(buffer, frames, version)
    known = {(row["stream_id"], row["direction"], row["stream_offset"]): row for row in raw.to_pylist()}
    keys = [(f"s{d // 2}", words.DIRECTIONS[d % 2], o) for d, o in zip(frames.direction, frames.offset, strict=True)]
    columns = {}
    for f in TABLES["frames"].arrow:
        if f.name in decoded.schema.names:
            columns[f.name] = decoded.column(f.name)
        elif f.name == "version":
            columns[f.name] = pa.array([words.VERSIONS[v] if v >= 0 else None for v in version], f.type)
        elif f.name == "version_source":
            columns[f.name] = pa.array([words.VERSION_SOURCES[s] for s in source], f.type)
        elif f.name == "possible_versions":
            columns[f.name] = pa.array([words.POSSIBLE_VERSIONS[p - 1] for p in possible], f.type)
        elif f.name == "first_ts":
            columns[f.name] = pa.array([known[k]["first_ns"] // 1000 for k in keys], pa.int64()).cast(f.type)
        else:
            columns[f.name] = pa.array([known[k].get(f.name) for k in keys], f.type)
    return pa.table(columns, schema=TABLES["frames"].arrow)


def _segments(directions: list[Direction]) -> pa.Table:
    found = [
        {
            "stream_id": f"s{n // 2}", "direction": words.DIRECTIONS[n % 2], "ts_ns": ts, "stream_offset": o,
            "new_octets": len(data), "capture_id": "cap", "packet": packet,
        }
        for n, d in enumerate(directions)
        for (o, data), ts, packet in zip(d.chunks, d.times, d.packets, strict=True)
    ]
    return pa.Table.from_pylist(found, schema=TABLES["segments"].arrow)


def _stalls(talks: list[Conversation]) -> pa.Table:
    found = [
        {"stream_id": f"s{number}", "direction": words.DIRECTIONS[side], "kind": kind, "begin_ns": begin, "end_ns": end}
        for number, talk in enumerate(talks)
        for side, kind, begin, end in talk.stalls
    ]
    return pa.Table.from_pylist(found, schema=TABLES["stalls"].arrow)


def _streams(talks: list[Conversation]) -> pa.Table:
    found = []
    for number, talk in enumerate(talks):
        row = {
            "stream_id": f"s{number}", "source": "test", "client_ip": "10.0.0.1", "client_port": 40000,
            "server_ip": "10.0.0.2", "server_port": 61613, "transport": "tcp", "protocol": "stomp", "first_ns": START,
            "last_ns": talk.last_ns,
            "syn_seen": talk.seen, "synack_seen": talk.seen, "history": talk.history, "close_kind": talk.close_kind,
            "closed_by": talk.closed_by, "rst_by": talk.rst_by, "rst_ns": talk.rst_ns,
        }
        for way, direction in zip(words.DIRECTIONS, talk.sides, strict=True):
            row |= {f"{name}_{way}": 0 for name in COUNTERS}
            row |= {f"octets_{way}": direction.octets, f"outer_octets_{way}": direction.octets}
            row |= {f"gap_octets_{way}": direction.lost, f"fin_ns_{way}": direction.fin_ns}
        found.append(row)
    checks = pa.array([text_of(talk.checks, 0) for talk in talks], pa.string())
    return pa.Table.from_pylist(found, schema=TABLES["streams"].arrow).append_column(CHECKS, checks)
