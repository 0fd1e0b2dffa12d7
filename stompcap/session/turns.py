"""How much a session may leave open, and where that is looked at.

What a session opens and does not end (subscriptions, transactions, deliveries not acknowledged, receipts not answered) must be kept, or
what ends it could not be told. Nobody's session has very much of it open at a time, but a hostile one may. So it is counted at turns:
behind every Options.open // 2 frames of a session. Where it is more than Options.open, it is told as it stands and forgotten, and the
session goes on as if the capture had lost something at that place, in both directions: what depends on it is unknown or not evaluable.
Frames are counted from the beginning of the session, so that it comes to the same wherever pieces end.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stompcap.places import END
from stompcap.session.carry import KEPT_ROWS
from stompcap.session.dialogue import FRAME, GAP, I64, Bools
from stompcap.session.horizon import rising
from stompcap.session.lookup import flat
from stompcap.session.notes import MODE_CLIENT, MODE_INDIVIDUAL
from stompcap.session.outcomes import Machine
from stompcap.session.placing import Rows, ways
from stompcap.session.progress import JUDGED, SEEN
from stompcap.session.settling_walk import ENCLOSED, PENDING, VOIDED
from stompcap.session.wire import integers
from stompcap.tables import words


def next_turn(rows: Rows, where: I64, held: Bools, reached: I64, told: I64, turns: I64, every: int) -> I64:
    """Per session the place of the first frame behind its next turn, END where that is not there yet.

    `where` the rows stand and which are `held`; per direction the place `reached` by the frames told before; per session how many were
    `told` and how many `turns` it has had. There is one behind `every` frames.
    """
    found = np.full(len(turns), END, np.int64)
    fresh = np.flatnonzero((rows.kind == FRAME) & ~held)
    session = rows.way[fresh] // 2
    due = (turns + 1) * every - told
    for one in np.flatnonzero(np.bincount(session, minlength=len(turns)) > due).tolist():
        of = fresh[session == one]
        of = of[np.lexsort((rows.offset[of], rows.way[of]))]
        raised = rising(rows.way[of], np.maximum(where[of], reached[rows.way[of]]))
        found[one] = np.partition(raised, due[one])[due[one]]
    return found


def left_open(machine: Machine) -> I64:
    """Per session, how many subscriptions, transactions, deliveries and receipts are open."""
    session, settling = machine.dialogue.session, machine.settling
    asks = (settling.mode == MODE_CLIENT) | (settling.mode == MODE_INDIVIDUAL)
    unsettled = ((settling.state == PENDING) & asks) | np.isin(settling.state, (ENCLOSED, VOIDED))
    frames = np.concatenate([
        machine.subscriptions.opened[machine.subscriptions.ended < 0], machine.transactions.first[machine.transactions.alive],
        settling.frame[unsettled], machine.receipts.asked[machine.receipts.answered < 0],
    ])
    return np.bincount(session[frames], minlength=machine.dialogue.sessions)


def with_losses(rows: pa.Table, streams: pa.Array) -> pa.Table:
    """Raw rows that are kept, and behind the last of each direction of these streams a gap without octets."""
    way = ways(rows, streams)
    ends = np.full(2 * len(streams), -1, np.int64)
    np.maximum.at(ends, way[way >= 0], (integers(rows.column("stream_offset")) + integers(rows.column("length_octets")))[way >= 0])
    ordinal = np.zeros(2 * len(streams), np.int64)
    np.maximum.at(ordinal, way[way >= 0], integers(rows.column("ordinal"))[way >= 0] + 1)
    at = np.flatnonzero(ends >= 0)
    none = np.zeros(len(at), np.int64)
    columns = {
        "stream_id": streams.take(pa.array(at // 2)),
        "direction": pa.array(words.DIRECTIONS).take(pa.array(at % 2)),
        "stream_offset": pa.array(ends[at]),
        "length_octets": pa.array(none),
        "kind": pa.repeat(pa.scalar(words.RAW_KINDS[GAP]), len(at)),
        "redacted": pa.array(none > 0),
        "syntax": pa.array(none),
        "first_place": pa.array(none - 1),
        "last_place": pa.array(none - 1),
        "ordinal": pa.array(ordinal[at]),
        "told": pa.array(none + (SEEN | JUDGED)),
        "counted": pa.array(none),
    }
    arrays = [flat(columns[field.name]) if field.name in columns else pa.nulls(len(at), field.type) for field in KEPT_ROWS]
    return pa.concat_tables([rows, pa.Table.from_arrays(arrays, schema=KEPT_ROWS)])
