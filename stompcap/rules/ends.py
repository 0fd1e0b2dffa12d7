"""How far the capture can be trusted to the end of a session: who was heard last, who closed, what follows a frame.

That something did not happen is proved by what was captured after it could have happened, never by the capture's silence: a
packet lost at the very end leaves no gap behind.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow.compute as pc

from stompcap.places import END
from stompcap.rules.columns import truth
from stompcap.session.dialogue import CLIENT, GAP, I64, SERVER, Bools, Dialogue
from stompcap.session.horizon import first_above, rising
from stompcap.session.notes import Annotations

BOTH = 2  # index in words.CLOSERS, behind CLIENT and SERVER


class Ends:
    """Ends of the sessions of a dialogue; arrays of shape (sessions, 2) have the side as their second index."""

    def __init__(self, dialogue: Dialogue, notes: Annotations) -> None:
        self._d, self._n, self._s = dialogue, notes, notes.sessions

    @cached_property
    def following(self) -> I64:
        """Per frame the next one in its own direction, -1 where there is none."""
        found = np.full(len(self._d), -1, np.int64)
        behind = np.flatnonzero(self._n.previous >= 0)
        found[self._n.previous[behind]] = behind
        return found

    @cached_property
    def fin(self) -> Bools:
        """The side's FIN was captured (Zeek's letters F and f), shape (sessions, 2)."""
        return self._letters("Ff")

    @cached_property
    def reset(self) -> Bools:
        """A RST of the side was captured (Zeek's letters R and r), shape (sessions, 2)."""
        return self._letters("Rr")

    def _letters(self, letters: str) -> Bools:
        history = self._d.streams.column("history").combine_chunks()
        return np.stack([truth(pc.match_substring(history, letter)) for letter in letters], axis=1)

    @cached_property
    def whole(self) -> Bools:
        """All that the side sent was captured, from its SYN to its FIN, shape (sessions, 2)."""
        s = self._s
        starts, gaps = np.stack([s.start_c2s, s.start_s2c], axis=1), np.stack([s.gaps_c2s, s.gaps_s2c], axis=1)
        complete: Bools = starts & ~gaps & self.fin
        return complete

    @cached_property
    def spoke_ns(self) -> I64:
        """When octets of the side came last, shape (sessions, 2); -1 where none did."""
        raw = self._d.rows
        latest = np.full((self._d.sessions, 2), -1, np.int64)
        seen = raw.kind != GAP
        np.maximum.at(latest, (raw.session[seen], raw.side[seen]), raw.last_ns[seen])
        return latest

    @cached_property
    def open_ns(self) -> I64:
        """The latest moment at which the side had certainly not closed: its last octets or its FIN, shape (sessions, 2).

        A RST proves nothing: it also answers what comes for a connection that was closed before.
        """
        ends = np.stack([self._s.end_c2s, self._s.end_s2c], axis=1)
        return np.where(self.fin, np.maximum(ends, self.spoke_ns), self.spoke_ns)

    def heard_after(self, side: int, limit_ns: I64, among: Bools) -> I64:
        """Per frame the place of the first octets of the side that were captured after a time of its own, END where none were.

        Only of the frames `among`; END for the others.
        """
        d, raw, at = self._d, self._d.rows, np.flatnonzero(among)
        found = np.full(len(d), END)
        if len(at):
            seen = np.flatnonzero(raw.kind != GAP)
            way = raw.way[seen]
            spoken = rising(way, raw.last_ns[seen])
            found[at] = first_above(d.session[at] * np.int64(2) + side, limit_ns[at], way, spoken, raw.place[seen])
        return found

    def closed_first(self, side: int) -> Bools:
        """Per session: the side closed it, perhaps at the same time as the other."""
        closed: Bools = (self._s.closed_by == side) | (self._s.closed_by == BOTH)
        return closed

    @cached_property
    def closed_by_client(self) -> Bools:
        """Per session: the client certainly closed it first."""
        return np.asarray(self._s.closed_by == CLIENT)

    @cached_property
    def closed_by_server(self) -> Bools:
        """Per session: the server certainly closed it first."""
        return np.asarray(self._s.closed_by == SERVER)

    def next_of(self, frames: I64) -> I64:
        """Per frame of the dialogue the next of `frames` (ascending) behind it in its session, -1 where there is none."""
        d = self._d
        if len(frames) == 0:
            return np.full(len(d), -1, np.int64)
        place = np.searchsorted(frames, np.arange(len(d)), side="right")
        found = frames[np.minimum(place, len(frames) - 1)]
        return np.where((place < len(frames)) & (d.session[found] == d.session), found, -1)
