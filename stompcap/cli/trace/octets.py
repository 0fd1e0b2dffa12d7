"""From packets to the octets of STOMP: what reassembly, the layers between and detection made of a connection."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stompcap import codes
from stompcap.capture.segment_columns import ELSEWHERE, STEPPED
from stompcap.cli.trace.connection import Connection
from stompcap.cli.trace.section import Row, Section, files
from stompcap.columns import I64
from stompcap.tables import words
from stompcap.tcp import assign, capture_points, copies, file_steps, interleave, matching, naming, order
from stompcap.tcp import state as marks
from stompcap.transport import client_side, detect, layers

FLAGS = "FSRPAU"
SIDES = (codes.LOW, codes.HIGH)
PACKET = ("capture", "packet", "ts_ns", "forward", "flags", "seq", "ack", "wire_octets", "captured_octets", "file_offset", "bad_checksum")
COUNTERS = ("octets", "segments", "retransmitted_octets", "duplicate_segments", "stray_segments", "out_of_order_segments", "gap_octets")


def sections(of: Connection) -> Iterator[Section]:
    """The sections, in the order of the machines."""
    yield Section("connection", files(matching, naming), "which packets are one, how it began and ended", [*_named(of)])
    yield Section("packets", files(assign, copies, capture_points, file_steps), "as they crossed; what each was taken for", _packets(of))
    for way in words.DIRECTIONS:
        rows = _stretches(of, way)
        yield Section("reassembly", files(order, interleave), f"{way}: which packet gives which bytes of the stream", rows)
    yield Section("transport", files(layers), "from the outermost layer in", _layers(of))
    yield Section("detection", files(detect, client_side), "by the first bytes of both sides", [*_detected(of)])


def _named(of: Connection) -> Iterator[Row]:
    row, streams = of.row, of.reassembly.streams
    began = {(True, True): "SYN and SYN-ACK", (True, False): "SYN alone", (False, True): "SYN-ACK alone"}
    closed = row["close_kind"] + (f" by {row['closed_by']}" if row["closed_by"] else "")
    yield {"what": "stream_id", "value": row["stream_id"]}
    yield {"what": "client → server", "value": f"{of.end(of.client)} → {of.end(1 - of.client)}"}
    yield {"what": "captured of its beginning", "value": began.get((row["syn_seen"], row["synack_seen"]), "nothing: joined midway")}
    yield {"what": "closed", "value": closed + ("" if row["final"] else ", later packets may belong to it")}
    yield {"what": "history", "value": row["history"]}
    yield {"what": "clock steps back", "value": int(streams.clock_steps_back[of.stream])}
    for way in words.DIRECTIONS:
        counters = ", ".join(f"{name} {row[f'{name}_{way}']}" for name in COUNTERS if row[f"{name}_{way}"])
        yield {"what": way, "value": counters or "nothing captured"}


def _packets(of: Connection) -> list[Row]:
    mine = np.flatnonzero(of.reassembly.stream_of == of.stream)
    found: list[Row] = []
    for row, mark in zip(of.segments.select(PACKET).take(mine).to_pylist(), of.reassembly.marks[mine].tolist(), strict=True):
        found.append({
            "ns": row["ts_ns"] or None, "way": of.way(codes.LOW if row["forward"] else codes.HIGH), "capture": of.capture(row["capture"]),
            "packet": row["packet"], "flags": "".join(letter for bit, letter in enumerate(FLAGS) if row["flags"] >> bit & 1),
            "seq": row["seq"], "ack": row["ack"], "octets": row["wire_octets"],
            "file_offset": row["file_offset"] if row["captured_octets"] and row["file_offset"] >= 0 else None,
            "marks": ", ".join(_marks(row, mark)),
        })  # fmt: skip
    return found


def _marks(row: Row, mark: int) -> Iterator[str]:
    """What a packet was taken for."""
    if row["flags"] & ELSEWHERE:
        yield "elsewhere"  # another capture has it, or another capture point gives its connection
    elif mark & marks.COPY:
        yield "copy"
    elif mark & marks.STRAY:
        yield "stray"
    for bit, word in ((marks.PROBE, "probe"), (marks.BEHIND, "behind"), (marks.COUNTED, "out of order")):
        if mark & bit:
            yield word
    if row["flags"] & STEPPED:
        yield "clock stepped"
    if row["bad_checksum"]:
        yield "bad checksum"
    if row["captured_octets"] < row["wire_octets"]:
        yield f"cut to {row['captured_octets']}"


def _stretches(of: Connection, way: str) -> list[Row]:
    """The octets of a direction by offset: captured, captured again, or missing."""
    found, side = of.reassembly, words.DIRECTIONS.index(way) ^ of.client
    packet, capture = (of.segments.column(name).to_numpy() for name in ("packet", "capture"))
    rows: list[tuple[int, int, Row]] = []
    upto = 0
    for kind, extents in (("new", found.extents), ("again", found.overlaps)):
        mine: I64 = np.flatnonzero((extents.stream == of.stream) & (extents.side == side))
        for at in mine.tolist():
            offset, length, row = int(extents.offset[at]), int(extents.length[at]), int(extents.row[at])
            if kind == "new":
                if offset > upto:
                    rows.append((upto, 0, _stretch(upto, offset - upto, "gap")))
                upto = offset + length
            where = {"capture": of.capture(int(capture[row])), "packet": int(packet[row])}
            wire_order = int(extents.order[at]) or None
            rows.append((offset, 1 if kind == "new" else 2, _stretch(offset, length, kind) | where | {"wire_order": wire_order}))
    end = int(found.streams.sides.octets[of.stream, side])
    if end > upto:
        rows.append((upto, 0, _stretch(upto, end - upto, "gap")))
    return [row for _, _, row in sorted(rows, key=lambda one: one[:2])]


def _stretch(offset: int, octets: int, kind: str) -> dict[str, object]:
    return {"offset": offset, "octets": octets, "kind": kind, "capture": None, "packet": None, "wire_order": None}


def _layers(of: Connection) -> list[Row]:
    """TCP, and the layers that were opened; the octets are those that the innermost gives."""
    row, carried = of.row, of.detected.carried.octets[of.stream]
    found: list[Row] = [{"layer": "tcp", **{f"octets_{way}": row[f"outer_octets_{way}"] for way in words.DIRECTIONS}}]
    octets = {f"octets_{of.way(side)}": int(carried[side]) for side in SIDES}
    stack = of.detected.stacks.get(of.stream, ())
    return found + [{"layer": one.kind} | (octets if one is stack[-1] else dict.fromkeys(octets)) for one in stack]


def _detected(of: Connection) -> Iterator[Row]:
    roles = of.detected.roles[of.stream]
    for side in sorted(SIDES, key=of.way):
        yield {"what": f"role {of.way(side)}", "value": words.ROLES[roles[side]], "because": "first bytes"}
    yield {"what": "protocol", "value": of.row["protocol"], "because": "" if of.row["protocol"] == "stomp" else "no bytes of it are kept"}
    yield {"what": "transport", "value": of.row["transport"], "because": ""}
    if of.reassembly.streams.initiator[of.stream] >= 0:
        why = "the handshake"
    elif client_side.client_by_octets(of.detected.roles)[of.stream] >= 0:
        why = "first bytes"
    else:
        why = "commands of its frames, else masks of WebSocket, else the ports"
    yield {"what": "client", "value": of.end(of.client), "because": why}
