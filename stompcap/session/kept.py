"""Which frames and raw rows of a piece are kept for the next one.

Kept is whatever the future of a session may still touch or be judged by: a frame is dropped only where that is known. What is
settled, answered or ended is dropped when nothing knows it by name any more (Options.memory), and what rules wait for when that many
frames have come behind it. What the session leaves open stays, and so do the first and the last frame of every command and side.
"""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from stompcap.session.analysis import Analysis
from stompcap.session.dialogue import CLIENT, CONNECT, FRAME, GAP, I64, OTHER, SERVER, STOMP, Bools
from stompcap.session.notes import TARGET_UNKNOWN
from stompcap.session.outcomes import Machine
from stompcap.session.settling_walk import REPLACED


def touchable(machine: Machine) -> Bools:
    """Deliveries that something to come may still touch, or put in doubt."""
    found: Bools = machine.settling.retained | machine.losses.waits
    return found


def left_over(machine: Machine) -> Bools:
    """Subscriptions that something to come may still touch: by their id, or by that of a delivery."""
    held = machine.subscriptions
    row = held.row[machine.settling.frame[touchable(machine)]]
    left = held.known.copy()
    left[row[row >= 0]] = True
    return left


class Kept:
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
        now, matters = d.now, touchable(m)
        self.frames[m.settling.frame[matters]] = True
        unknown = np.flatnonzero(self.holds & (m.settling.target == TARGET_UNKNOWN))[::-1]
        since = np.full(d.sessions, np.iinfo(np.int64).max)
        since[d.session[unknown]] = d.ordinal[unknown] - self.memory  # evidence may say whose message-id they name
        self.frames[d.messages[d.ordinal[d.messages] >= since[d.session[d.messages]]]] = True
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
        self.frames[held.opened[left_over(self.machine)]] = True
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
