"""The lines of a session's dialogue, in order of time: frames, heart-beats, gaps, partial frames, silences, the close."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from stompcap.tables.carriers import EVENTS, LAYERS
from stompcap.units import duration

if TYPE_CHECKING:
    import pyarrow as pa

RAW = ("stream_id", "direction", "stream_offset", "length_octets", "kind", "first_ns", "last_ns", "last_capture_id", "last_packet")
FRAMES = ("stream_id", "direction", "stream_offset", "command", "command_raw", "destination", "headers", "body_octets", "body_preview")
DELIVERIES = ("stream_id", "stream_offset", "status", "settled_by", "settle_offset", "ack_latency_us", "octets_missing")
SILENCES = ("stream_id", "direction", "gap_start_ns", "gap_end_ns", "gap_ms", "interval_ms", "ratio", "severity", "ended_by", "excused")
BEATS = ("stream_id", "direction", "interval_ms", "beats", "verdict")
FINDINGS = ("rule_id", "level", "side", "stream_id", "direction", "stream_offset", "ts_ns", "evidence")
LAST = (1 << 62, 0)
COLUMNS: dict[str, tuple[str, ...] | None] = {
    "streams": None, "sessions": None, "raw_frames": RAW, "frames": FRAMES, "deliveries": DELIVERIES, "heartbeats": BEATS,
    "heartbeat_violations": SILENCES, "compliance_findings": FINDINGS, "transports": None, "transport_events": None,
}  # fmt: skip
"""The tables that dialogues are made from, and their columns; None for all."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Line:
    """One line: a frame, or one of heartbeats, gap, junk, partial, silence, close, transport (what a layer below STOMP said).

    `ns` is when it was complete, None where the capture does not tell; `note` what is known of it beyond its octets.
    """

    kind: str
    direction: str | None
    offset: int | None
    ns: int | None
    octets: int = 0
    capture_id: str | None = None
    packet: int | None = None
    frame: Row | None = None
    note: str = ""
    latency_us: float | None = None  # of a frame that settles deliveries, that of the first
    status: str | None = None  # of a delivery that was not settled
    raw: bytes | None = None
    count: int = 1
    findings: tuple[Row, ...] = ()

    @property
    def command(self) -> str | None:
        """The command of a frame."""
        return None if self.frame is None else self.frame["command"] or self.frame["command_raw"]

    @property
    def key(self) -> tuple[str, str | None, int | None]:
        """What tells it from the other lines of its session: its place in the stream, or its time where it has none."""
        return self.kind, self.direction, self.ns if self.offset is None else self.offset


@dataclass(frozen=True)
class Dialogue:
    """One session: its rows of tables sessions and streams, its lines, and what its summary counts."""

    session: Row
    stream: Row
    lines: Sequence[Line]
    deliveries: Sequence[Row]
    heartbeats: Sequence[Row]
    findings: Sequence[Row]
    captures: Mapping[str, str] = field(default_factory=dict)  # paths of captures by id
    layers: Sequence[Row] = ()  # between TCP and STOMP, the outermost first

    @property
    def stream_id(self) -> str:
        """The id of its stream."""
        return str(self.session["stream_id"])


def rows_of(tables: Mapping[str, pa.Table]) -> dict[str, dict[str, list[Row]]]:
    """Rows of the tables that dialogues are made from, by table and stream."""
    found: dict[str, dict[str, list[Row]]] = {}
    for name, columns in COLUMNS.items():
        by_stream: dict[str, list[Row]] = defaultdict(list)
        if name in tables:
            there = tables[name].column_names
            raw = ["raw"] if name == "raw_frames" and "raw" in there else []
            for row in tables[name].select([*columns, *raw] if columns else there).to_pylist():
                by_stream[row["stream_id"]].append(row)
        found[name] = by_stream
    return found


def dialogues(tables: Mapping[str, pa.Table], captures: Mapping[str, str]) -> list[Dialogue]:
    """The sessions of these tables in order of time; `captures` are paths by id, in wire order."""
    order = {name: rank for rank, name in enumerate(captures)}
    rows = rows_of(tables)
    made = []
    for stream, (session, *_) in rows["sessions"].items():
        of = {name: by_stream.get(stream, []) for name, by_stream in rows.items()}
        lines = _lines(of, order)
        findings = of["compliance_findings"]
        layers = sorted(of["transports"], key=lambda row: row["layer"])
        made.append(Dialogue(session, of["streams"][0], lines, of["deliveries"], of["heartbeats"], findings, captures, layers))
    return sorted(made, key=lambda one: (one.session["opened_ns"] or 0, one.stream_id))


def _lines(of: Mapping[str, list[Row]], order: Mapping[str, int]) -> list[Line]:
    """All lines of one session; each finding is at the line that has its octet, or at the last before its time."""
    ordered = [*_octets(of, order)][::-1]  # by offset where the moment is the same
    for row in of["heartbeat_violations"]:
        ordered.append(((row["gap_end_ns"] or 0, -1), _silence(row)))
    kinds = {row["layer"]: LAYERS[row["kind"]] for row in of["transports"]}
    for row in of["transport_events"]:
        ordered.append(((row["ts_ns"] or 0, order.get(row["capture_id"], 0) << 40 | (row["packet"] or 0)), _event(row, kinds)))
    ordered += [((line.ns or 0, LAST[0]), line) for line in _closes(of["streams"][0], of["sessions"][0])]
    ordered.sort(key=lambda one: one[0])
    return _with_findings(_joined(line for _, line in ordered), of["compliance_findings"])


def _closes(stream: Row, session: Row) -> Iterator[Line]:
    """The line of the first FIN or RST, and that of a RST behind a FIN."""
    kind = stream["close_kind"]
    if kind == "open":
        return
    closed, reset = session["closed_ns"], stream["rst_ns"]
    closer = {"client": "the client", "server": "the broker"}.get(stream["closed_by"], "a side")
    by = f" by {stream['closed_by']}" if stream["closed_by"] else ""
    yield Line("close", None, None, closed, note=f"{kind.upper()}{by}")
    if kind != "rst" and reset is not None:
        after = duration(None if closed is None else max(reset - closed, 0) / 1000)
        yield Line("close", None, None, reset, note=f"RST by {stream['rst_by']}, {after} after {closer} closed it")


def _octets(of: Mapping[str, list[Row]], order: Mapping[str, int]) -> Iterator[tuple[tuple[int, int], Line]]:
    """The lines of rows that tile both directions, with their places in time; a gap has that of the row behind it."""
    frames = {(row["direction"], row["stream_offset"]): row for row in of["frames"]}
    notes = _notes(of["deliveries"])
    rows = sorted(of["raw_frames"], key=lambda row: (row["direction"], row["stream_offset"]))
    moment, behind = LAST, None
    for number in range(len(rows) - 1, -1, -1):
        row = rows[number]
        key = row["direction"], row["stream_offset"]
        if row["last_packet"] is not None:
            moment = row["last_ns"] or 0, order.get(row["last_capture_id"], 0) << 40 | row["last_packet"]
        elif key[0] != behind:
            moment = LAST
        behind, kind = key[0], row["kind"]
        if kind == "eol":
            before = rows[number - 1] if number and rows[number - 1]["direction"] == key[0] else None
            if before is not None and before["kind"] != "gap" and before["last_ns"] == row["first_ns"]:
                continue  # the line end behind a frame
            kind = "heartbeats"
        arrived = row["last_capture_id"], row["last_packet"]
        note, latency_us, status = notes.get(key, ("", None, None))
        line = Line(kind, *key, row["last_ns"], row["length_octets"], *arrived, frames.get(key), note, latency_us, status, row.get("raw"))
        yield moment, line


def _notes(deliveries: Iterable[Row]) -> dict[tuple[str, int], tuple[str, float | None, str | None]]:
    """What became of deliveries, at their MESSAGEs and at the frames that settled them: in words, the latency, the status."""
    notes: dict[tuple[str, int], tuple[str, float | None, str | None]] = {}
    settled: dict[int, list[float]] = defaultdict(list)
    for row in deliveries:
        if row["status"] in ("unsettled", "voided", "unknown"):
            notes["s2c", row["stream_offset"]] = row["status"], None, row["status"]
        if row["settle_offset"] is not None and row["ack_latency_us"] is not None:
            settled[row["settle_offset"]].append(row["ack_latency_us"])
    for offset, latencies in settled.items():
        several = f"{len(latencies)} deliveries, the first " if len(latencies) > 1 else ""
        notes["c2s", offset] = f"{several}after {duration(max(latencies))}", max(latencies), None
    return notes


def _silence(row: Row) -> Line:
    """The line of a silence that heart-beats should have broken."""
    excuse = f", excused by {row['excused']}" if row["excused"] else ""
    note = f"{duration(row['gap_ms'] * 1000)} without a byte, {row['ratio']:.2f} intervals of {duration(row['interval_ms'] * 1000)}"
    return Line("silence", row["direction"], None, row["gap_end_ns"], note=f"{row['severity']}: {note}{excuse}")


def _event(row: Row, kinds: Mapping[int, str]) -> Line:
    """The line of what a layer said; `kinds` are the names of layers."""
    says = f"{kinds.get(row['layer'], 'layer')} {EVENTS[row['kind']]}"
    note = f"{says}: {row['detail']}" if row["detail"] else says
    return Line("transport", row["direction"], None, row["ts_ns"], row["octets"] or 0, row["capture_id"], row["packet"], note=note)


def _joined(lines: Iterable[Line]) -> list[Line]:
    """Lines in which heart-beats that nothing but heart-beats is between are one line for each direction."""
    found: list[Line] = []
    beats: dict[str | None, int] = {}
    for line in lines:
        if line.kind != "heartbeats":
            beats = {}
        elif line.direction in beats:
            at = beats[line.direction]
            found[at] = replace(found[at], count=found[at].count + 1, octets=found[at].octets + line.octets)
            continue
        else:
            beats[line.direction] = len(found)
        found.append(line)
    return found


def _with_findings(lines: list[Line], findings: Iterable[Row]) -> list[Line]:
    """The lines, each with its findings."""
    by_key = {(line.direction, line.offset): number for number, line in enumerate(lines)}
    at: dict[int, list[Row]] = defaultdict(list)
    for row in sorted(findings, key=lambda row: (row["ts_ns"] or 0, row["rule_id"])):
        number = by_key.get((row["direction"], row["stream_offset"]))
        if number is None:
            before = [n for n, line in enumerate(lines) if row["ts_ns"] is None or (line.ns is not None and line.ns <= row["ts_ns"])]
            number = before[-1] if before else 0
        at[number].append(row)
    return [replace(line, findings=tuple(at[number])) if number in at else line for number, line in enumerate(lines)]
