"""How far an analysis has got with sessions that go on: what is new, what was told before, what is over.

A session may be analysed in pieces. What still matters of the pieces before (`stompcap.session.carry`) stands in front of the new
one and is analysed again, but told only once: the marks kept here say what was told. A whole session is the case in which
everything is new and over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from stompcap.session.dialogue import FRAME, I64, Bools, Dialogue
from stompcap.session.wire import integers

# what was told of a frame or raw row
SEEN = 1  # it was analysed: a frame of the dialogue, a row counted
JUDGED = 2  # rules that settle at once have counted it
LISTED = 4  # its row of subscriptions, deliveries or transactions was given out
ANSWERED = 8  # its row of receipts was given out


@dataclass(frozen=True)
class Progress:
    """Marks of one analysis.

    closing    per session: nothing more comes; what is undecided is told as it stands
    whole      all sessions are whole and begin here: nothing was told, all is ripe, clear and closing
    told       per frame, what was told of it in earlier pieces, as bits: SEEN, JUDGED, LISTED, ANSWERED
    row_told   per raw row, the same
    counted    per frame, the rules that settle later than at once and have counted it, as bits
    row_counted  per raw row, the same
    ripe       per frame: the row behind it is there, or none will come
    row_ripe   per raw row, the same
    clear      per frame: the other side was captured beyond it, so that a gap before it would show
    """

    whole: bool
    closing: Bools
    told: I64
    row_told: I64
    counted: I64
    row_counted: I64
    ripe: Bools
    row_ripe: Bools
    clear: Bools


def whole(dialogue: Dialogue) -> Progress:
    """The progress of sessions that are given whole."""
    frames, rows = len(dialogue), len(dialogue.rows)
    every, all_rows = np.ones(frames, np.bool_), np.ones(rows, np.bool_)
    none, no_rows = np.zeros(frames, np.int64), np.zeros(rows, np.int64)
    return Progress(True, np.ones(dialogue.sessions, np.bool_), none, no_rows, none, no_rows, every, all_rows, every)


def of(dialogue: Dialogue, rows: pa.Table, closing: Bools, reached: I64) -> Progress:
    """The progress of sessions that come in pieces, by the marks of their frames and of `rows`.

    `reached`, of shape (sessions, 2): the place of the last octet captured of each direction.
    """
    raw = dialogue.rows
    row_ripe = closing[raw.session]
    row_ripe[:-1] |= (raw.session[1:] == raw.session[:-1]) & (raw.side[1:] == raw.side[:-1])
    ripe = np.zeros(len(dialogue), np.bool_)
    ripe[np.lexsort((dialogue.offset, dialogue.side, dialogue.session))] = row_ripe[raw.kind == FRAME]
    clear = closing[dialogue.session] | (reached[dialogue.session, 1 - dialogue.side] > dialogue.position)
    told, counted = (integers(dialogue.frames.column(name), 0)[dialogue.row] for name in ("told", "counted"))
    row_told, row_counted = (integers(rows.column(name), 0)[raw.row] for name in ("told", "counted"))
    return Progress(False, closing, told, row_told, counted, row_counted, ripe, row_ripe, clear)
