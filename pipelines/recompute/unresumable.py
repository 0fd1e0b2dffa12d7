"""Finds open connections that cannot go on from their saved state and are computed again from their captures.

The state of a connection of many packets (`stompcap.assembly.resume.flow_state`) takes all new packets as later ones, while a run over all
captures takes captures in order of their first packets. So a connection is computed again if
- a capture with packets of it comes too late,
- another version left its state, and this one cannot read it,
- it shows STOMP only now, and octets before that were not kept,
- a capture brings more old octets than new ones of it: that may be a second capture point, whose clock is ahead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from pipelines.ingest.extract import endpoints
from stompcap.lake.data_files import Files
from stompcap.lake.open_state import has_states
from stompcap.lake.query import opened
from stompcap.spark.slices import Periods
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from pipelines.ingest.baseline import Baseline
    from pipelines.ingest.extract import Extracted
    from pipelines.job import Job

NONE = pa.schema([*TABLES["streams"].arrow, ("endpoints", pa.binary())]).empty_table()
STATES = """
    SELECT stream_id, endpoints, max(ts_ns) AS ts_ns FROM stream_state
    WHERE pieces IS NOT NULL OR endpoints IN (SELECT endpoints FROM reported) GROUP BY stream_id, endpoints"""
STREAMS = """
    SELECT streams.* REPLACE (greatest(last_ns, states.ts_ns) AS last_ns), endpoints
    FROM streams JOIN states ON streams.stream_id = states.stream_id
    WHERE endpoints IN (SELECT endpoints FROM found) ORDER BY streams.stream_id"""
REPEATED = """
    SELECT endpoints FROM states JOIN streams AS held USING (stream_id) JOIN new_streams AS new USING (stream_id)
    WHERE new.retransmitted_octets_c2s + new.retransmitted_octets_s2c - held.retransmitted_octets_c2s - held.retransmitted_octets_s2c
        > greatest(new.octets_c2s + new.octets_s2c - held.octets_c2s - held.octets_s2c, {least})
    UNION SELECT endpoints FROM states WHERE stream_id IN (SELECT stream_id FROM duplicates)"""
LEAST_REPEATED = 4096


def unresumable(job: Job, made: Extracted, baseline: Baseline, streams: Files, new: Files, duplicates: pa.Table) -> pa.Table:
    """Rows of table streams: the open connections that cannot go on with a batch as it was extracted.

    `streams` are the files with the rows of open connections, `new` those of the batch, `duplicates` what `pipelines.recompute.duplicates`
    found. The rows have `endpoints` too, and as `last_ns` the time of the flow's last packet.
    """
    late = [one for one in made.captures if one.row["first_ns"] is not None and one.row["capture_id"] in made.late]
    reported = [*made.unresumed, *made.recognised_late]
    if not late and not reported and not has_states(baseline.files):
        return NONE
    with opened({"stream_state": Files.of("stream_state", baseline.files), "streams": streams, "new_streams": new}) as database:
        database.register("reported", pa.table({"endpoints": pa.array(reported, pa.binary())}))
        states = database.sql(STATES).to_arrow_table()
        if not states.num_rows:
            return NONE
        database.register("states", states)
        database.register("duplicates", duplicates)
        repeated = database.sql(REPEATED.format(least=LEAST_REPEATED)).to_arrow_table().column("endpoints")
        found = pa.array([*reported, *repeated.to_pylist()], pa.binary())
        if late:
            last = states.column("ts_ns").to_numpy()
            before = Periods.of(states.column("endpoints").combine_chunks(), np.zeros(len(last), np.int64), last - 1)
            found = pa.concat_arrays([found, endpoints(job, late, before)])
        database.register("found", pa.table({"endpoints": found}))
        return database.sql(STREAMS).to_arrow_table()
