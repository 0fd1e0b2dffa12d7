"""The raw rows of a step as rules ask for them: their neighbours, their frames, and which of them are none."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from stompcap.codes import FRAME, JUNK, PARTIAL
from stompcap.columns import I64, Bools
from stompcap.session.dialogue import Dialogue
from stompcap.stomp.syntax import Syntax


class RowView:
    """Raw rows of a dialogue, by session, side and offset; masks have one entry per row unless said otherwise."""

    def __init__(self, dialogue: Dialogue) -> None:
        self.dialogue, self.rows = dialogue, dialogue.rows

    @cached_property
    def last(self) -> Bools:
        """Rows behind which their direction has none."""
        return np.append(~self.rows.follows, True)[1:]

    def bits(self, facts: Syntax) -> Bools:
        """Rows of which the decoder noticed any of these facts."""
        noticed: Bools = (self.rows.syntax & int(facts)) != 0
        return noticed

    @cached_property
    def headless(self) -> Bools:
        """Rows that have whole lines and then a NUL, but no blank line: frames whose headers never end."""
        return self.bits(Syntax.NUL_IN_HEAD) & self.bits(Syntax.LF_LINE | Syntax.CRLF_LINE)

    @cached_property
    def stray(self) -> Bools:
        """Rows that are neither frames, nor heads of frames, nor EOLs, nor gaps."""
        cut = (self.rows.kind == PARTIAL) & self.bits(Syntax.NUL_IN_HEAD)
        astray: Bools = ((self.rows.kind == JUNK) | cut) & ~self.headless
        return astray

    @cached_property
    def frame(self) -> I64:
        """The frame that a row holds, -1 where it is of another kind or its frame is not at hand."""
        dialogue, rows = self.dialogue, self.rows
        at = np.flatnonzero(rows.kind == FRAME)
        found = np.full(len(rows), -1, np.int64)
        if not dialogue.earlier.any() and not rows.context.any():
            found[at] = dialogue.new_by_key
            return found
        count = len(dialogue)
        direction = np.concatenate([dialogue.session * np.int64(2) + dialogue.side, rows.session[at] * np.int64(2) + rows.side[at]])
        order = np.lexsort((np.concatenate([dialogue.offset, rows.offset[at]]), direction))  # stable: a frame before its row
        offset = np.concatenate([dialogue.offset, rows.offset[at]])
        one, other = order[:-1], order[1:]
        same = (direction[one] == direction[other]) & (offset[one] == offset[other]) & (one < count) & (other >= count)
        found[at[other[same] - count]] = one[same]
        return found
