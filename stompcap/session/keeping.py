"""What of a piece is final and given out, and what of it is kept for the next one.

Kept is whatever the future of a session may still touch or be judged by: a frame is dropped only where that is known. What is
settled, answered or ended is dropped when nothing knows it by name any more (Options.memory), and what rules wait for when that many
frames have come behind it. What the session leaves open stays, and so do the first and the last frame of every command and side.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.places import END
from stompcap.session import carry as state
from stompcap.session import copies, outcomes, previews, settling, subscriptions, sums, transactions
from stompcap.session.analysis import Analysis, Options
from stompcap.session.carry import Carry
from stompcap.session.dialogue import (
    ACK,
    CLIENT,
    CONNECT,
    ERROR,
    FRAME,
    GAP,
    I64,
    MESSAGE,
    NACK,
    OTHER,
    SEND,
    SERVER,
    STOMP,
    SUBSCRIBE,
    Bools,
)
from stompcap.session.lookup import flat
from stompcap.session.notes import TARGET_UNKNOWN
from stompcap.session.outcomes import SETTLED_STATUS, VOIDED_STATUS, Machine, delivery_status
from stompcap.session.progress import ANSWERED, DOUBTED, JUDGED, LISTED, ODD, SEEN
from stompcap.session.resume import Advance
from stompcap.session.settling_walk import AUTOMATIC, REPLACED, SETTLED
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
    done = (np.isin(settled.state, (SETTLED, AUTOMATIC)) | ~settled.retained) & ~machine.doubts.waits
    opened, left = machine.subscriptions.opened, _left(machine)
    masks = {
        "sessions": pa.array(closing, pa.bool_()),
        "subscriptions": fresh(opened, ~left, LISTED),
        "deliveries": fresh(settled.frame, done, LISTED),
        "transactions": fresh(dealt.begun[begun], ~dealt.alive[begun], LISTED),
        "receipts": fresh(receipts.asked, receipts.answered >= 0, ANSWERED),
    }
    marks[machine.doubts.odd.now] |= ODD
    marks[settled.frame[machine.doubts.untold & ((marks[settled.frame] & LISTED) > 0)]] |= DOUBTED
    return {name: table.filter(masks[name]) if name in masks else table for name, table in analysis.tables.items()}, marks


def _matters(machine: Machine) -> Bools:
    """Deliveries that something to come may still touch, or put in doubt."""
    matters: Bools = machine.settling.retained | machine.doubts.waits
    return matters


def _left(machine: Machine) -> Bools:
    """Subscriptions that something to come may still touch: by their id, or by that of a delivery."""
    held = machine.subscriptions
    row = held.row[machine.settling.frame[_matters(machine)]]
    left = held.known.copy()
    left[row[row >= 0]] = True
    return left


class _Keep:
    """Frames and raw rows to be kept, and what has to be kept with them."""

    def __init__(self, analysis: Analysis, memory: int, holds: Bools, row_holds: Bools, forgets: Bools) -> None:
        self.analysis = analysis
        self.machine, self.notes = analysis.machine, analysis.notes
        self.dialogue = analysis.dialogue
        self.memory, self.holds = memory, holds | ~analysis.progress.ripe  # nothing has judged those yet
        self.row_of = self._row_of_frame()
        d = self.dialogue
        self.spoken_before = np.where(d.side == CLIENT, d.latest(SERVER), d.latest(CLIENT))
        self.rows = row_holds.copy()
        self.frames = self.holds.copy()
        self.edges = np.zeros(len(self.dialogue), np.bool_)
        self._edges()
        self._open()
        self._subscribed()
        self.frames &= self.holds | self.edges | ~forgets[self.dialogue.session]
        self._neighbours()
        while self._closure():
            pass
        self.rows[self.row_of[self.frames]] = True

    def _row_of_frame(self) -> I64:
        d = self.dialogue
        found = np.empty(len(d), np.int64)
        found[np.lexsort((d.offset, d.side, d.session))] = np.flatnonzero(d.rows.kind == FRAME)
        return found

    def _edges(self) -> None:
        """The first and last of every command and side, by order and by time; the first and last raw row and gap of each direction."""
        d, raw = self.dialogue, self.dialogue.rows
        kind = (d.session.astype(np.int64) * 2 + d.side) * (OTHER + 1) + d.command
        for order in (np.arange(len(d)), np.argsort(d.at_ns, kind="stable")):
            for way in (order, order[::-1]):
                self.edges[way[np.unique(kind[way], return_index=True)[1]]] = True
        self.frames |= self.edges
        direction = raw.session.astype(np.int64) * 2 + raw.side
        for chosen in (np.arange(len(raw)), np.flatnonzero(raw.kind == GAP)):
            for way in (chosen, chosen[::-1]):
                self.rows[way[np.unique(direction[way], return_index=True)[1]]] = True

    def _open(self) -> None:
        """What is not settled, ended or answered, or was so lately."""
        d, m = self.dialogue, self.machine
        now, matters = d.now, _matters(m)
        self.frames[m.settling.frame[matters]] = True
        for frames in m.doubts.frames:
            self._also(frames[matters])
        for gap in m.doubts.rows:
            self.rows[gap[matters & (gap >= 0)]] = True
        unknown = np.flatnonzero(self.holds & (m.settling.target == TARGET_UNKNOWN))[::-1]
        since = np.full(d.sessions, np.iinfo(np.int64).max)
        since[d.session[unknown]] = d.ordinal[unknown] - self.memory  # evidence may say whose message-id they name
        self.frames[d.messages[d.ordinal[d.messages] >= since[d.session[d.messages]]]] = True
        strange = np.flatnonzero(m.doubts.odd.now)[::-1]
        self.frames[strange[np.unique(d.session[strange], return_index=True)[1]]] = True
        for frames in (*m.doubts.odd.nacks, m.doubts.odd.aborted):
            self._also(frames)
        which = m.transactions.which
        if len(m.transactions.alive):
            lately = now[d.session[m.transactions.first]] - d.ordinal[np.maximum(m.transactions.ended, 0)] <= self.memory
            touched = (which >= 0) & m.transactions.alive[which] & (m.transactions.begun[which] < 0)
            self.frames |= touched & (now[d.session] - d.ordinal <= self.memory)  # they tell for how long it is still known
            self.frames[m.transactions.first[lately | m.transactions.alive]] = True
        asked, answered = m.receipts.asked, m.receipts.answered
        known = now[d.session[asked]] - d.ordinal[np.maximum(answered, 0)] <= self.memory
        self.frames[asked[(answered < 0) | known]] = True
        opening = np.flatnonzero((d.command == CONNECT) | (d.command == STOMP))  # they may ask for receipts
        self.frames[opening[now[d.session[opening]] - d.ordinal[opening] <= self.memory]] = True

    def _subscribed(self) -> None:
        """Subscriptions, and the first that has no id: a MESSAGE that names none may mean that one for ever (rule MS-04)."""
        d, held = self.dialogue, self.machine.subscriptions
        self.frames[held.opened[_left(self.machine)]] = True
        before = held.former[self.holds[held.opened]]  # a SUBSCRIBE not judged yet tells how the one before it ended
        self.frames[held.opened[before[before >= 0]]] = True
        named = pc.greater(pc.binary_length(d.some("id", held.opened)), 0).fill_null(False)
        nameless = held.opened[~np.asarray(named)]
        self.frames[nameless[np.unique(d.session[nameless], return_index=True)[1]]] = True

    def _neighbours(self) -> None:
        """Raw rows beside gaps, beside what rules wait for and beside the last; the frames in the rows to be kept."""
        raw = self.dialogue.rows
        middle = (self.rows & (raw.kind == GAP)) | ~self.analysis.progress.row_ripe
        middle[self.row_of[self.holds]] = True
        middle |= self.rows & ~self._ends()
        same = np.zeros(len(raw) + 1, np.bool_)
        same[1:-1] = (raw.session[1:] == raw.session[:-1]) & (raw.side[1:] == raw.side[:-1])
        self.rows[:-1] |= middle[1:] & same[1:-1]
        self.rows[1:] |= middle[:-1] & same[1:-1]
        frame_of = np.full(len(raw), -1, np.int64)
        frame_of[self.row_of] = np.arange(len(self.dialogue))
        self.frames[frame_of[self.rows & (frame_of >= 0)]] = True

    def _ends(self) -> Bools:
        """First and last raw rows of their direction."""
        raw = self.dialogue.rows
        step = (raw.session[1:] != raw.session[:-1]) | (raw.side[1:] != raw.side[:-1])
        edge = np.concatenate([[True], step, [True]]) if len(raw) else np.zeros(1, np.bool_)
        ends: Bools = (edge[:-1] | edge[1:])[: len(raw)]
        return ends

    def _closure(self) -> bool:
        """Keep what kept frames lead to; whether that was more than there was."""
        before = int(self.frames.sum())
        d, m, n, keep = self.dialogue, self.machine, self.notes, self.frames
        held, settled, dealt, receipts = m.subscriptions, m.settling, m.transactions, m.receipts
        meant = np.unique(held.row[keep & (held.row >= 0)])
        self._also(held.opened[meant])
        self._also(held.ended[meant])
        kept = keep[settled.frame]
        self._also(settled.by[kept])
        anew = np.flatnonzero(settled.message_id_before >= 0)
        replaced = settled.frame[kept & (settled.state == REPLACED)]
        self._also(anew[np.isin(settled.message_id_before[anew], replaced)])
        named = settled.delivery[keep & d.settles]
        self._also(settled.frame[named[named >= 0]])
        of = np.unique(dealt.which[keep & (dealt.which >= 0)])
        for places in (dealt.first, dealt.begun, dealt.ended):
            self._also(places[of])
        pair = receipts.answered >= 0
        asked, answered = receipts.asked[pair], receipts.answered[pair]
        both = keep[asked] | keep[answered]
        self._also(asked[both])
        self._also(answered[both])
        for places in (
            n.previous, self.spoken_before, n.message_id_before, n.ack_id_before, n.error_before, n.unsubscribed_by,
            n.disconnect_before, receipts.known_by,
        ):
            self._also(places[self.holds])
        return int(keep.sum()) > before

    def _also(self, frames: I64) -> None:
        self.frames[frames[frames >= 0]] = True


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
    chosen = _Keep(analysis, options.memory, holds, row_holds, forgets)
    frames = np.flatnonzero(chosen.frames & going[dialogue.session])
    rows = np.flatnonzero(chosen.rows & going[raw.session])
    dealt = analysis.machine.transactions
    marks[dealt.first[(dealt.left >= 0) & ~chosen.frames[dealt.left]]] |= transactions.OVER
    columns = {"position": dialogue.position, "ordinal": dialogue.ordinal, "told": marks, "counted": counted}
    columns["under"] = subscriptions.carried(dialogue, analysis.machine.subscriptions)
    columns |= settling.carried(dialogue, analysis.machine.settling) | transactions.carried(dialogue, dealt)
    columns["copied"] = copies.carried(dialogue, analysis.machine.settling, analysis.machine.doubts.copied)
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
    row = machine.subscriptions.row[frame]
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
