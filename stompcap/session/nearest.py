"""The nearest frame of some sort in the same session: before a frame, behind it, or the last of all; -1 where there is none."""

from __future__ import annotations

import numpy as np

from stompcap.session.dialogue import I64, Bools, Dialogue


def first_behind(dialogue: Dialogue, which: Bools, frame: I64) -> I64:
    """Per frame given, -1 for none, the first behind it of those that are marked."""
    events = np.append(np.flatnonzero(which), -1)
    found = events[np.searchsorted(events[:-1], frame, side="right")]
    return np.where((frame >= 0) & (found >= 0) & (dialogue.session[found] == dialogue.session[frame]), found, -1)


def last_before(dialogue: Dialogue, which: Bools, frame: I64) -> I64:
    """Per frame given, -1 for none, the last before it of those that are marked."""
    events = np.append(-1, np.flatnonzero(which))
    found = events[np.searchsorted(events[1:], frame)]
    return np.where((frame >= 0) & (found >= 0) & (dialogue.session[found] == dialogue.session[frame]), found, -1)


def latest(dialogue: Dialogue, which: Bools) -> I64:
    """Per session the last of those that are marked."""
    found, at = np.full(dialogue.sessions, -1, np.int64), np.flatnonzero(which)
    found[dialogue.session[at]] = at
    return found
