"""How far a session is looked at behind a frame before what is undecided about the frame is given up.

That is Options.memory frames of the session, or as many raw rows of the direction where a raw row is asked about. It is told in places
on the wire (stompcap.places) and so by what was captured alone: a session comes to the same whole and in pieces, wherever they end.
"""

from __future__ import annotations

import numpy as np

from stompcap.kernel import kernel
from stompcap.places import END
from stompcap.session.dialogue import I64, Dialogue


@kernel
def _first_above(group: I64, above: I64, starts: I64, keys: I64, places: I64, found: I64) -> None:
    for i in range(len(group)):
        low, high = starts[group[i]], starts[group[i] + 1]
        end = high
        while low < high:
            middle = (low + high) // 2
            if keys[middle] > above[i]:
                high = middle
            else:
                low = middle + 1
        if low < end:
            found[i] = places[low]


def first_above(group: I64, above: I64, groups: I64, keys: I64, places: I64) -> I64:
    """Per entry the place of the first event of its group whose key is above a value, END where there is none.

    Events stand by `groups`, ascending; the keys never fall within a group.
    """
    found = np.full(len(group), END, np.int64)
    if len(group) and len(groups):
        starts = np.searchsorted(groups, np.arange(max(int(group.max()), int(groups[-1])) + 2))
        _first_above(group, above, starts, keys, places, found)
    return found


def last_below(group: I64, below: I64, groups: I64, keys: I64) -> I64:
    """Per entry the last event of its group whose key is below a value, -1 where there is none; events as above."""
    top = int(max(group.max(initial=0), groups.max(initial=0)))
    found = first_above(top - group, -below, top - groups[::-1], -keys[::-1], np.arange(len(keys) - 1, -1, -1))
    return np.where(found == END, -1, found)


@kernel
def _rise(group: I64, values: I64) -> None:
    for i in range(1, len(values)):
        if group[i] == group[i - 1] and values[i] < values[i - 1]:
            values[i] = values[i - 1]


def rising(group: I64, values: I64) -> I64:
    """The highest value so far in each group; entries stand by group."""
    highest = values.astype(np.int64)
    _rise(group, highest)
    return highest


def heard(dialogue: Dialogue, side: int) -> I64:
    """Per frame the place by which a side was captured beyond it, so that a gap before it would show; END where it was not."""
    raw = dialogue.rows
    return first_above(dialogue.session * np.int64(2) + side, dialogue.position, raw.way, raw.place, raw.place)


def lapse(dialogue: Dialogue, memory: int) -> I64:
    """Per frame the place of the first frame of its session that comes more than `memory` frames behind it; END where none does."""
    if int(dialogue.ordinal.max(initial=0)) <= memory:
        return np.full(len(dialogue), END)
    session = dialogue.session.astype(np.int64)
    return first_above(session, dialogue.ordinal + memory, session, dialogue.ordinal, dialogue.position)


def row_lapse(dialogue: Dialogue, ordinal: I64, memory: int) -> I64:
    """Per raw row the place of the first of its direction that comes more than `memory` rows behind it; `ordinal` numbers them."""
    raw = dialogue.rows
    if int(ordinal.max(initial=0)) <= memory:
        return np.full(len(raw), END)
    return first_above(raw.way, ordinal + memory, raw.way, ordinal, raw.place)
