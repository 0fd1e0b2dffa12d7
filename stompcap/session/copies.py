"""Deliveries of one name where it is not known which of them an ACK means.

A server may deliver again, by the same name, what was refused or whose transaction was aborted. Where the capture lost that, the
earlier copy seems unsettled still, and takes the ACK of the later one. So of copies that stand beside each other unsettled, client
octets missing between them, none is known to be settled by what seems to have; nor are those that come before they are settled.
"""

from __future__ import annotations

import numpy as np

from stompcap.kernel import kernel
from stompcap.places import END
from stompcap.session.columns import chosen
from stompcap.session.dialogue import FRAME_BITS, I64, Bools, Dialogue
from stompcap.session.settling import ACK_ID, MESSAGE_ID, Settling
from stompcap.session.settling_walk import AUTOMATIC, REPLACED, SETTLED
from stompcap.session.wire import remembered


@kernel
def _sweep(group: I64, at: I64, begin: I64, until: I64, unsure: Bools, since: I64) -> None:
    """Deliveries stand by group, then as they came; `begin` is where an ACK of each may first be lost, `until` when it was settled.

    One that is `unsure` may need no ACK: what names it may mean an earlier one. `since`: as `find` gives it.
    """
    first, reach = 0, np.int64(-1)
    for k in range(len(group)):
        if k > 0 and group[k] != group[k - 1]:
            first, reach = k, np.int64(-1)
        while first < k and (begin[first] < at[k] or unsure[k] or since[first] <= at[k]):
            if until[first] > at[k] or since[first] <= at[k]:
                since[first] = min(since[first], at[k])
                reach = max(reach, until[first])
            first += 1
        if reach > at[k]:
            since[k] = min(since[k], at[k])
        if since[k] <= at[k]:
            reach = max(reach, until[k])


@kernel
def _falling(group: I64, values: I64) -> None:
    """The least value of each entry and those behind it in its group, so that it never falls."""
    for k in range(len(group) - 2, -1, -1):
        if group[k] == group[k + 1] and values[k] > values[k + 1]:
            values[k] = values[k + 1]


def find(dialogue: Dialogue, found: Settling, lost: I64, unclear: Bools, final: I64) -> I64:
    """Per delivery the place where it became one of such copies; END where it is none.

    `lost`: the place behind which an ACK or NACK of it, that came behind it, may be lost; END where none may. `unclear`: its mode is not
    known. `final`: the frame by which it is settled or replaced, if it is.
    """
    frame = found.frame
    since = remembered(dialogue.frames, "copied", np.full(dialogue.frames.num_rows, END))[dialogue.row[frame]]
    first = np.where(dialogue.version[frame] == 2, found.since[frame, ACK_ID], found.since[frame, MESSAGE_ID])
    _, group, size = np.unique((dialogue.session[frame].astype(np.int64) << FRAME_BITS) + first, return_inverse=True, return_counts=True)
    order = np.argsort(group, kind="stable")
    order = order[(size[group[order]] > 1) & (found.state[order] != AUTOMATIC)]
    if not len(order):
        return since
    group = group[order]
    done = np.isin(found.state, (SETTLED, REPLACED))
    until = np.where(done, chosen(dialogue.position, final), END)[order]
    mine, begin = since[order], lost[order]
    _falling(group, begin)
    _sweep(group, dialogue.position[frame[order]], begin, until, unclear[order], mine)
    since[order] = mine
    return since


def begins(dialogue: Dialogue, gap: I64) -> I64:
    """Per gap, a raw row, the place behind which it lies: that of the row before it; END for none."""
    raw = dialogue.rows
    row = np.maximum(gap - 1, 0)
    same = (gap > 0) & (raw.way[row] == raw.way[gap])
    return np.where(gap < 0, END, np.where(same, raw.place[row], -1))


def carried(dialogue: Dialogue, found: Settling, copied: I64) -> I64:
    """Per frame, for later pieces, the place where it became a copy, -1 where it is none; `copied` as `find` gives it."""
    places = np.full(len(dialogue), -1, np.int64)
    places[found.frame] = np.where(copied < END, copied, -1)
    return places
