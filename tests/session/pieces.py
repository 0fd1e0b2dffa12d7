"""Whole sessions cut into pieces, as a reader would bring them that stops at any packet: for tests of what is carried on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.assembly.resume import session_steps
from stompcap.codes import GAP
from stompcap.columns import integers
from stompcap.rules import judge
from stompcap.session import Options, StepInput, analyse
from stompcap.tables import TABLES, words
from stompcap.wire_order import END, at

Tables = Mapping[str, pa.Table]
CLOSES = ("fin_ns_c2s", "fin_ns_s2c", "rst_ns")


def whole(made: Tables, options: Options | None = None) -> dict[str, pa.Table]:
    """All tables of sessions given whole."""
    analysis = analyse(made["streams"], made["rows"], made["frames"], made["segments"], {"cap": 0}, made["stalls"], options)
    return analysis.tables | judge(analysis)


def cut(made: Tables, packets: Sequence[int]) -> Iterable[StepInput]:
    """Pieces of the sessions, each of what is told by the packets below a number, and the rest."""
    streams, rows, frames, segments = (made[name] for name in ("streams", "rows", "frames", "segments"))
    given = np.zeros(rows.num_rows, bool)
    seen = np.zeros(segments.num_rows, bool)
    gap = np.asarray(pc.equal(rows["kind"].combine_chunks(), words.RAW_KINDS[GAP]))
    last = np.where(gap, -1, integers(rows["last_packet"]))
    key = [list(zip(t["stream_id"].to_pylist(), t["direction"].to_pylist(), strict=True)) for t in (rows, frames)]
    offset, frame_offset = integers(rows["stream_offset"]), integers(frames["stream_offset"])
    ways: dict[tuple[str, str], list[int]] = {}
    for i in np.argsort(offset, kind="stable").tolist():
        ways.setdefault(key[0][i], []).append(i)
    stalls = made["stalls"]
    for number in (*packets, None):
        end = number is None
        limit = 2**40 if number is None else number
        arrived_rows = np.ones(rows.num_rows, bool)
        for mine in map(np.array, ways.values()):
            short = np.flatnonzero((last[mine] >= limit) & ~gap[mine])
            stop = len(mine) if end or not len(short) else int(short[0])
            if not end:  # a gap shows by what comes behind it
                while stop and gap[mine[stop - 1]]:
                    stop -= 1
            arrived_rows[mine[stop:]] = False
        new = arrived_rows & ~given
        given |= arrived_rows
        fresh = {(key[0][i], int(offset[i])) for i in np.flatnonzero(new)}
        chosen = pa.array([(k, int(frame_offset[i])) in fresh for i, k in enumerate(key[1])], pa.bool_())
        packet = integers(segments["packet"])
        arrived = (packet < limit) & ~seen
        seen |= arrived
        yield StepInput(
            streams if end else _open(streams, segments.filter(pa.array(packet < limit))),
            rows.filter(pa.array(new)), frames.filter(chosen), segments.filter(pa.array(arrived)), stalls,
            np.full(streams.num_rows, END if end else at(0, limit)), np.full(streams.num_rows, end),
        )
        stalls = stalls.slice(0, 0)


def _open(streams: pa.Table, segments: pa.Table) -> pa.Table:
    """The streams as they are known by the time of these segments."""
    latest = dict.fromkeys(streams["stream_id"].to_pylist(), -1)
    for name, ts_ns in zip(segments["stream_id"].to_pylist(), segments["ts_ns"].to_pylist(), strict=True):
        latest[name] = max(latest[name], ts_ns)
    known = []
    for row in streams.to_pylist():
        captured = {name: row[name] is not None and row[name] <= latest[row["stream_id"]] for name in CLOSES}
        hidden = {name: None for name in CLOSES if not captured[name]}
        hidden |= {} if captured["rst_ns"] else {"rst_by": None}
        known.append(row | hidden | ({} if any(captured.values()) else {"close_kind": "open", "closed_by": None}))
    return pa.Table.from_pylist(known, streams.schema)


def staggered(made: Tables, count: int) -> dict[str, pa.Table]:
    """The sessions `count` times, each time a packet later: a cut at packet `count` + 1 is one at every packet up to `count`."""

    def later(table: pa.Table, by: int) -> pa.Table:
        for i, field in enumerate(table.schema):
            column = table.column(i)
            if field.name == "stream_id":
                table = table.set_column(i, field, pc.binary_join_element_wise(f"{by:03d}", pc.utf8_slice_codeunits(column, 3), ""))
            elif field.name in ("packet", "first_packet", "last_packet"):
                table = table.set_column(i, field, pc.add(column, pa.scalar(by, field.type)))
        return table

    return {name: pa.concat_tables(later(table, by) for by in range(1, count + 1)) for name, table in made.items()}


def resumed(
    made: Tables, packets: Sequence[int], options: Options | None = None, most: list[Counter[str]] | None = None
) -> dict[str, pa.Table]:
    """All tables of sessions given in pieces, the state kept as octets between them; `most` gets the sizes of the states by stream."""
    found: dict[str, list[pa.Table]] = {}
    state = session_steps.EMPTY.to_bytes()
    for piece in cut(made, packets):
        tables, after = session_steps.resume(piece, session_steps.from_bytes(state), {"cap": 0}, options or Options())
        state = after.to_bytes()
        if most is not None:
            held = after.session.tables.values()
            most.append(Counter(stream for table in held for stream in table["stream_id"].to_pylist()))
        for name, table in tables.items():
            found.setdefault(name, []).append(table)
    return {name: pa.concat_tables(tables) for name, tables in found.items()}


def rows_of(tables: Tables, name: str) -> list[dict[str, object]]:
    """A table's rows in the order of its key."""
    columns = TABLES[name].key
    return sorted(tables[name].to_pylist(), key=lambda row: tuple(str(row[column]).zfill(20) for column in columns))


def differences(one: Tables, other: Tables) -> list[str]:
    """Rows that are in one of two sets of tables only."""
    found = []
    for name in one:
        left, right = rows_of(one, name), rows_of(other, name)
        if left == right:
            continue
        found += [f"{name} - {row}" for row in left if row not in right]
        found += [f"{name} + {row}" for row in right if row not in left]
        if len(left) != len(right):
            found.append(f"{name}: {len(left)} rows, {len(right)} in pieces")
    return found
