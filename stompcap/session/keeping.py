"""What of a piece is final and given out, and the state that is kept for the next one, of the frames and rows of stompcap.session.kept."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from stompcap.places import END
from stompcap.session import carry as state
from stompcap.session import outcomes, previews, settling, subscriptions, sums, transactions
from stompcap.session.analysis import Analysis, Options
from stompcap.session.carry import Carry
from stompcap.session.dialogue import ACK, ERROR, I64, MESSAGE, NACK, SEND, SUBSCRIBE, Bools
from stompcap.session.kept import Kept, left_over
from stompcap.session.lookup import flat
from stompcap.session.outcomes import SETTLED_STATUS, VOIDED_STATUS, delivery_status
from stompcap.session.progress import ANSWERED, JUDGED, LISTED, SEEN
from stompcap.session.resume import Advance
from stompcap.session.settling_walk import AUTOMATIC, SETTLED
from stompcap.session.unjudged import unjudged
from stompcap.tables import words


def news(analysis: Analysis, forgets: Bools) -> tuple[dict[str, pa.Table], I64]:
    """The tables cut down to what is final and was not given out; and the marks of all frames as they are then.

    `forgets`, per session: what is open is told as it stands.

    A session is final at the close, a receipt when it is answered, a transaction when it ends, a delivery when it is settled for good
    or nothing that comes can name it, a subscription when it has ended and nothing that comes can name it or a delivery of it.
    """
    machine, told = analysis.machine, analysis.progress
    dialogue, closing = analysis.dialogue, told.closing
    marks, ending = told.told | SEEN | np.where(told.ripe, JUDGED, 0), closing | forgets

    def fresh(frame: I64, final: Bools, mark: int) -> pa.Array:
        new = (final | ending[dialogue.session[frame]]) & ((told.told[frame] & mark) == 0)
        marks[frame[new]] |= mark
        return pa.array(new, pa.bool_())

    settled, dealt, receipts = machine.settling, machine.transactions, machine.receipts
    begun = np.flatnonzero(dealt.begun >= 0)
    done = (np.isin(settled.state, (SETTLED, AUTOMATIC)) | ~settled.retained) & ~machine.losses.waits
    opened, left = machine.subscriptions.opened, left_over(machine)
    masks = {
        "sessions": pa.array(closing, pa.bool_()),
        "subscriptions": fresh(opened, ~left, LISTED),
        "deliveries": fresh(settled.frame, done, LISTED),
        "transactions": fresh(dealt.begun[begun], ~dealt.alive[begun], LISTED),
        "receipts": fresh(receipts.asked, receipts.answered >= 0, ANSWERED),
    }
    return {name: table.filter(masks[name]) if name in masks else table for name, table in analysis.tables.items()}, marks


def keep(
    done: Advance, marks: I64, options: Options, holds: Bools, row_holds: Bools, counted: I64, row_counted: I64, forgets: Bools
) -> Carry:
    """The state for the next piece.

    `marks` as `news` gives them; `holds` and `counted`: what rules wait for and have counted (stompcap.rules.engine.Judgement).
    `forgets`, per session: what is open is not kept.
    """
    analysis = done.analysis
    dialogue, raw, progress = analysis.dialogue, analysis.dialogue.rows, analysis.progress
    going = ~progress.closing
    chosen = Kept(analysis, options.memory, holds, row_holds, forgets)
    frames = np.flatnonzero(chosen.frames & going[dialogue.session])
    rows = np.flatnonzero(chosen.rows & going[raw.session])
    dealt = analysis.machine.transactions
    marks[dealt.first[(dealt.left >= 0) & ~chosen.frames[dealt.left]]] |= transactions.OVER
    columns = {"position": dialogue.position, "ordinal": dialogue.ordinal, "told": marks, "counted": counted}
    unsure = analysis.machine.settling.frame[analysis.machine.losses.guessed | analysis.machine.losses.supposed]
    columns["under"] = subscriptions.carried(dialogue, analysis.machine.subscriptions, unsure)
    columns |= settling.carried(dialogue, analysis.machine.settling, analysis.machine.losses.bits) | transactions.carried(dialogue, dealt)
    columns["preview"] = previews.carried(dialogue, frames[dialogue.command[frames] == MESSAGE])
    for way, heard in zip(words.DIRECTIONS, progress.heard, strict=True):
        columns[f"heard_{way}"] = np.where(heard == END, -1, heard)
    columns |= {name: np.zeros(len(dialogue), np.int64) for name in (*outcomes.TALLIES, *transactions.TALLIES)}
    for places, tallies in (_delivered(analysis, chosen.frames), _enclosed(analysis, chosen.frames)):
        for name, values in tallies.items():
            columns[name][places] = values
    row_marks = {
        "ordinal": progress.row_ordinal,
        "told": progress.row_told | SEEN | np.where(progress.row_ripe, JUDGED, 0),
        "counted": row_counted,
    }
    on = flat(dialogue.streams.column("stream_id")).filter(pa.array(going, pa.bool_()))
    segments, stalls = unjudged(done)
    table = sums.table(analysis.sums, dialogue.streams).filter(pa.array(going, pa.bool_()))
    first = chosen.edges  # or last, which rules that settle at once have not seen yet
    telling = first | np.isin(dialogue.command, (MESSAGE, SUBSCRIBE, ERROR))  # tables or rules look at headers without a column
    only = {"headers": first, "command_raw": first, "header": telling, "body_preview": first | (dialogue.command == ERROR)}
    whole = Carry(
        _taken(state.KEPT_FRAMES, dialogue.frames, dialogue.row, frames, columns, only),
        _taken(state.KEPT_ROWS, done.rows, raw.row, rows, row_marks, {}),
        done.waiting_frames, done.waiting_rows, segments, stalls, table,
    )
    return whole.of(on)


def _taken(
    schema: pa.Schema, table: pa.Table, row: I64, at: I64, marks: Mapping[str, I64], only: Mapping[str, Bools]
) -> pa.Table:
    """The rows that stand at these places, `row` being their index in the table, with marks; some columns `only` of some places."""
    columns = []
    for field in schema:
        if field.name in marks:
            columns.append(pa.array(marks[field.name][at]))
        else:
            left_out = ~only[field.name][at] if field.name in only else None
            columns.append(flat(table.column(field.name)).take(pa.array(row[at], mask=left_out)))
    return pa.Table.from_arrays(columns, schema=schema)


def _delivered(analysis: Analysis, kept: Bools) -> tuple[I64, dict[str, I64]]:
    """SUBSCRIBEs, and per subscription the tallies with the deliveries that are dropped."""
    machine = analysis.machine
    frame, by = machine.settling.frame, machine.settling.by
    row = machine.of_subscription
    gone = ~kept[frame] & (row >= 0)
    status = delivery_status(machine)
    settled = gone & (status == SETTLED_STATUS)
    nack = (by >= 0) & (analysis.dialogue.command[by] == NACK)
    count = len(machine.subscriptions.opened)
    more = {"delivered": gone, "acked": settled & ~nack, "nacked": settled & nack, "voided": gone & (status == VOIDED_STATUS)}
    found = {name: getattr(machine.earlier, name) + np.bincount(row[which], minlength=count) for name, which in more.items()}
    return machine.subscriptions.opened, found | {"most": np.maximum(machine.earlier.most, machine.settling.most)}


def _enclosed(analysis: Analysis, kept: Bools) -> tuple[I64, dict[str, I64]]:
    """First frames of transactions, and per transaction what was in it and is dropped."""
    dialogue, dealt = analysis.dialogue, analysis.machine.transactions
    inside = np.flatnonzero(kept & (dealt.which >= 0))
    which, command = dealt.which[inside], dialogue.command[inside]

    def held(values: I64) -> I64:
        return np.bincount(which, weights=values, minlength=len(dealt.first)).astype(np.int64)

    octets = held(np.where(command == SEND, dialogue.body_octets[inside], 0))
    left = {"sends": dealt.sends - held(command == SEND), "octets": dealt.body_octets - octets, "touched": dealt.touched}
    return dealt.first, left | {"acked": dealt.acks - held(command == ACK), "nacked": dealt.nacks - held(command == NACK)}
