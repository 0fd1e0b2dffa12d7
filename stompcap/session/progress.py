"""How far an analysis has got with sessions that go on: what is new, what was told before, what is over.

A session may be analysed in pieces. What still matters of the pieces before (`stompcap.session.carry`) stands in front of the new
one and is analysed again, but told only once: the marks kept here say what was told. A whole session is the case in which
everything is new and over.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from stompcap.places import END
from stompcap.session import horizon
from stompcap.session.dialogue import FRAME, I64, Bools, Dialogue
from stompcap.session.sums import Sums
from stompcap.session.wire import integers
from stompcap.tables import words

# what was told of a frame or raw row
SEEN = 1  # it was analysed: a frame of the dialogue, a row counted
JUDGED = 2  # rules that settle at once have counted it
LISTED = 4  # its row of subscriptions, deliveries or transactions was given out
ANSWERED = 8  # its row of receipts was given out


@dataclass(frozen=True)
class Progress:
    """Marks of one analysis.

    closing    per session: nothing more comes; what is undecided is told as it stands
    whole      all sessions are whole and begin here: nothing was told, all is ripe and closing
    told       per frame, what was told of it in earlier pieces, as bits: SEEN, JUDGED, LISTED, ANSWERED
    row_told   per raw row, the same
    counted    per frame, the rules that settle later than at once and have counted it, as bits
    row_counted  per raw row, the same
    ripe       per frame: the row behind it is there, or none will come
    row_ripe   per raw row, the same
    row_ordinal  per raw row, how many of its direction came before it, those no longer at hand included
    lapse      per frame, and `row_lapse` per raw row: the place behind which nothing is waited for (stompcap.session.horizon)
    known      per side and frame `heard` as it was told in earlier pieces, -1 where it was not
    """

    dialogue: Dialogue = field(repr=False)
    whole: bool
    closing: Bools
    told: I64
    row_told: I64
    counted: I64
    row_counted: I64
    ripe: Bools
    row_ripe: Bools
    row_ordinal: I64
    lapse: I64
    row_lapse: I64
    known: tuple[I64, I64]

    @cached_property
    def lapses(self) -> bool:
        """Something is waited for no longer."""
        return bool((self.lapse < END).any() or (self.row_lapse < END).any())

    @cached_property
    def heard(self) -> tuple[I64, I64]:
        """Per side and frame: the place by which that side was captured beyond it, so that a gap before it would show."""
        c2s, s2c = (np.where(at < 0, horizon.heard(self.dialogue, side), at) for side, at in enumerate(self.known))
        return c2s, s2c


def whole(dialogue: Dialogue, memory: int) -> Progress:
    """The progress of sessions that are given whole."""
    frames, raw = len(dialogue), dialogue.rows
    every, all_rows = np.ones(frames, np.bool_), np.ones(len(raw), np.bool_)
    none, no_rows = np.zeros(frames, np.int64), np.zeros(len(raw), np.int64)
    ordinal = _numbered(raw.way)
    return Progress(
        dialogue, True, np.ones(dialogue.sessions, np.bool_), none, no_rows, none, no_rows, every, all_rows, ordinal,
        horizon.lapse(dialogue, memory), horizon.row_lapse(dialogue, ordinal, memory), (none - 1, none - 1),
    )


def of(dialogue: Dialogue, rows: pa.Table, closing: Bools, before: Sums, memory: int) -> Progress:
    """The progress of sessions that come in pieces, by the marks of their frames and of `rows`; `before`: the sums of earlier pieces."""
    raw = dialogue.rows
    row_ripe = closing[raw.session]
    row_ripe[:-1] |= (raw.session[1:] == raw.session[:-1]) & (raw.side[1:] == raw.side[:-1])
    ripe = np.zeros(len(dialogue), np.bool_)
    ripe[np.lexsort((dialogue.offset, dialogue.side, dialogue.session))] = row_ripe[raw.kind == FRAME]
    told, counted = (integers(dialogue.frames.column(name), 0)[dialogue.row] for name in ("told", "counted"))
    row_told, row_counted = (integers(rows.column(name), 0)[raw.row] for name in ("told", "counted"))
    ordinal = integers(rows.column("ordinal"))[raw.row]
    c2s, s2c = (integers(dialogue.frames.column(f"heard_{way}"))[dialogue.row] for way in words.DIRECTIONS)
    new = ordinal < 0
    ordinal[new] = _numbered(raw.way[new]) + before.rows.reshape(-1)[raw.way[new]]
    return Progress(
        dialogue, False, closing, told, row_told, counted, row_counted, ripe, row_ripe, ordinal,
        horizon.lapse(dialogue, memory), horizon.row_lapse(dialogue, ordinal, memory), (c2s, s2c),
    )


def _numbered(way: I64) -> I64:
    """Numbers from 0 on within each direction."""
    return np.arange(len(way)) - np.searchsorted(way, way)
