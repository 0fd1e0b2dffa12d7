"""Open connections of many packets that cannot go on from their state.

The state of such a connection (`stompcap.assembly.flow_state`) has gone on with later captures, and takes what comes as the latest. A run
over all captures would take them in order of their first packets: so where a capture comes too late for them, these connections are
computed again from their captures. So are those whose state another version left and this one cannot take up, and those that a capture
brought more old octets of than new ones: it may be of a second capture point, whose clock is ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.capture.rotation import ranked
from stompcap.lake.data_files import Files
from stompcap.lake.open_state import has_states
from stompcap.lake.query import opened
from stompcap.spark.slices import Periods
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from pipelines.ingest.bronze import Before
    from stompcap.capture import Survey
    from stompcap.spark.slices import Slice

NONE = pa.schema([*TABLES["streams"].arrow, ("endpoints", pa.binary())]).empty_table()
STATES = """
    SELECT stream_id, endpoints, max(ts_ns) AS ts_ns FROM stream_state
    WHERE pieces IS NOT NULL OR endpoints IN (SELECT endpoints FROM meant) GROUP BY stream_id, endpoints"""
STREAMS = """
    SELECT streams.* REPLACE (greatest(last_ns, states.ts_ns) AS last_ns), endpoints
    FROM streams JOIN states ON streams.stream_id = states.stream_id
    WHERE endpoints IN (SELECT endpoints FROM found) ORDER BY streams.stream_id"""
REPEATED = """
    SELECT endpoints FROM states JOIN streams AS held USING (stream_id) JOIN new_streams AS new USING (stream_id)
    WHERE new.retransmitted_octets_c2s + new.retransmitted_octets_s2c - held.retransmitted_octets_c2s - held.retransmitted_octets_s2c
        > greatest(new.octets_c2s + new.octets_s2c - held.octets_c2s - held.octets_s2c, {least})
    UNION SELECT endpoints FROM states WHERE stream_id IN (SELECT stream_id FROM twins)"""
LEAST_REPEATED = 4096
AGAIN_OCTETS = 1 << 30
"""Octets of captures that are read again because of a late one; `stompcap run --reprocess` reads more."""


def overtaken(
    captures: Sequence[Survey], past: Before, streams: Files, new: Files, twins: pa.Table,
    search: Callable[[Sequence[Survey], Slice], pa.Array], meant: Collection[bytes] = (),
) -> pa.Table:
    """Rows of table streams: the open connections of many packets, of which captures have packets from before the latest known.

    And those that the batch has once more: `twins` (`pipelines.recompute.duplicates`), or by its rows. `streams` are the files with the
    rows of open connections, `new` those of the batch being made. `search` gives the endpoints of chosen segments of captures; those of
    flows that are `meant` too are given. The rows have `endpoints` too, and as `last_ns` the time of the flow's last packet.
    """
    rank = ranked([*past.captures, *(one.row for one in captures)]).order
    latest = max((rank[row["capture_id"]] for row in past.captures), default=-1)
    late = [one for one in captures if one.row["first_ns"] is not None and rank[one.row["capture_id"]] < latest]
    if not late and not meant and not has_states(past.files):
        return NONE
    with opened({"stream_state": Files.of("stream_state", past.files), "streams": streams, "new_streams": new}) as database:
        database.register("meant", pa.table({"endpoints": pa.array(list(meant), pa.binary())}))
        states = database.sql(STATES).to_arrow_table()
        if not states.num_rows:
            return NONE
        database.register("states", states)
        database.register("twins", twins)
        repeated = database.sql(REPEATED.format(least=LEAST_REPEATED)).to_arrow_table().column("endpoints")
        found = pa.array([*meant, *repeated.to_pylist()], pa.binary())
        if late:
            last = states.column("ts_ns").to_numpy()
            before = Periods.of(states.column("endpoints").combine_chunks(), np.zeros(len(last), np.int64), last - 1)
            found = pa.concat_arrays([found, search(late, before)])
        database.register("found", pa.table({"endpoints": found}))
        return database.sql(STREAMS).to_arrow_table()


def few_octets(captures: Sequence[Mapping[str, Any]]) -> bool:
    """Whether so little is to be read again, rows of table captures, that a run does it without being asked."""
    octets: int = sum(row["size_octets"] for row in captures)
    return octets <= AGAIN_OCTETS


def of_others(rows: pa.Table, left: pa.Array) -> pa.Table:
    """Those rows of `overtaken` whose flows have none of the connections with the ids `left`."""
    flows = rows.filter(pc.is_in(rows.column("stream_id"), value_set=left)).column("endpoints")
    return rows.filter(pc.invert(pc.is_in(rows.column("endpoints"), value_set=flows.combine_chunks())))
