"""The first frame of a kind in each session, and its columns and headers as columns of sessions."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stompcap.session.dialogue import I64, Dialogue


def first_of(dialogue: Dialogue, side: int, *commands: int) -> I64:
    """Per session the first frame of that side with one of the commands; -1 where there is none."""
    wanted = np.zeros(len(dialogue), np.bool_)
    for command in commands:
        wanted |= dialogue.command == command
    at = np.flatnonzero(wanted & (dialogue.side == side))[::-1]
    first = np.full(dialogue.sessions, -1, np.int64)
    first[dialogue.session[at]] = at
    return first


class OfSessions:
    """Columns and headers of one frame per session; null where the session has no such frame."""

    def __init__(self, dialogue: Dialogue, at: I64) -> None:
        self.dialogue = dialogue
        self.present = np.flatnonzero(at >= 0)
        self.at = at[self.present]
        place = np.full(len(at), -1, np.int64)
        place[self.present] = np.arange(len(self.present))
        self.back = pa.array(place, mask=place < 0)

    def header(self, name: str) -> pa.Array:
        """The effective value of a header."""
        return self.dialogue.some_header(name, self.at).take(self.back)

    def column(self, name: str) -> pa.Array:
        """A column of the table frames."""
        return self.dialogue.some(name, self.at).take(self.back)
