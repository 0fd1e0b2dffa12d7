"""Where octets are missing that may have settled a delivery otherwise than it seems.

What a cumulative ACK seems to have settled along may have been settled before: by an ACK or NACK that the capture lost, or by one that
it has, of a MESSAGE or a SUBSCRIBE that it lost. And where the version is not known although ACKs show it, they contradict the rest of
the session, and the server may not have accepted them. Of such a delivery nothing is told.

What an ACK names itself is taken to be settled by it, for a client names a MESSAGE once; else any loss would hide all latencies. But a
client may do wrong, or take the name of a transaction once more: such a delivery is marked. So is one that was settled when an ABORT
and missing octets of the server had come behind it: it may have been delivered anew, and the copy been meant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stompcap.places import END
from stompcap.session import copies
from stompcap.session.columns import chosen
from stompcap.session.dialogue import ABORT, CLIENT, I64, NACK, SERVER, Bools, Dialogue
from stompcap.session.missing import Missing
from stompcap.session.notes import MODE_UNKNOWN, TARGET_PENDING
from stompcap.session.progress import COPIED, DOUBTED, LISTED, Progress
from stompcap.session.settling import Settling
from stompcap.session.settling_walk import CUMULATIVE, ENCLOSED, SETTLED, VOIDED
from stompcap.session.transactions import Transactions


@dataclass(frozen=True)
class Doubts:
    """Per delivery.

    untold     nothing may be told of what settled it: it may not be what seems to have, or was aborted and may have been settled since
    marked     octets are missing between it and what settled it, or what ended the transaction of that; of the server
               too, where an ABORT stands between
    swept      an odd frame behind it may have settled it: what that names, the capture may have lost
    waits      it is settled, but not for good: missing octets of the server may show yet that make it `untold` or `marked`
    copied     another of its name may have been settled for it (stompcap.session.copies)
    gap        raw row of the first gap in the client's octets behind it that something follows, -1 where there is none
    strange    the first odd frame behind it, -1 where there is none

    gap_s2c    as `gap`, of the server's
    aborted    the last ABORT before what settled it; -1 where there is none behind the delivery, or nothing settled it

    Per frame `odd`: it is strange (Settling.strange), or names a delivery that is copied, or that was refused: one delivered anew is lost.
    """

    untold: Bools
    marked: Bools
    swept: Bools
    waits: Bools
    copied: Bools
    gap: I64
    strange: I64
    gap_s2c: I64
    aborted: I64
    odd: Bools


def _first_behind(dialogue: Dialogue, events: I64, frame: I64) -> I64:
    """The first of some frames, in wire order, that is behind each frame given, in its session; -1 where there is none."""
    if len(events) == 0:
        return np.full(len(frame), -1, np.int64)
    next_one = events[np.minimum(np.searchsorted(events, frame, side="right"), len(events) - 1)]
    return np.where((next_one > frame) & (dialogue.session[next_one] == dialogue.session[frame]), next_one, -1)


def _last_before(dialogue: Dialogue, events: I64, frame: I64) -> I64:
    """The last of some frames, in wire order, that is before each frame given, -1 for none, in its session; -1 where there is none."""
    if len(events) == 0:
        return np.full(len(frame), -1, np.int64)
    last_one = np.searchsorted(events, frame) - 1
    found = np.where(last_one < 0, -1, events[last_one])
    return np.where((found >= 0) & (dialogue.session[found] == dialogue.session[frame]), found, -1)


def _latest(dialogue: Dialogue, which: Bools) -> I64:
    """The last of some frames of each session, -1 where there is none."""
    latest = np.full(dialogue.sessions, -1, np.int64)
    at = np.flatnonzero(which)
    latest[dialogue.session[at]] = at
    return latest


def find(dialogue: Dialogue, gone: Missing, found: Settling, dealt: Transactions, told: Progress) -> Doubts:
    """The doubts of all deliveries."""
    frame, by = found.frame, found.by
    missed = gone.before(dialogue, CLIENT) | gone.before(dialogue, SERVER)
    later = gone.after(dialogue, CLIENT)
    before, gap = told.told[frame], gone.first(dialogue, CLIENT, frame)
    ended = chosen(dealt.ended, found.transaction)
    doubted = _first_behind(dialogue, np.flatnonzero(found.strange & missed), frame)
    begins = np.where((doubted >= 0) & found.reached, chosen(dialogue.position, doubted), END)
    lost = np.minimum(copies.begins(dialogue, gap), begins)
    copied = copies.find(dialogue, found, lost, ended, (before & COPIED) > 0)
    odd = found.strange.copy()
    answers = np.flatnonzero(dialogue.settles & (found.delivery >= 0))
    named = found.delivery[answers]
    refused = (dialogue.command[by[named]] == NACK) & (by[named] >= 0) & (by[named] < answers)
    refused &= found.target[answers] != TARGET_PENDING
    odd[answers] |= copied[named] | refused
    strange = _first_behind(dialogue, np.flatnonzero(odd), frame)
    latest = _latest(dialogue, odd)[dialogue.session[frame]]
    cut = chosen(dialogue.rows.offset, gap)
    reached = (strange >= 0) & found.reached

    def hidden(upto: I64) -> Bools:
        """Octets are missing behind the delivery and before that frame, which might have settled it."""
        lost: Bools = ((gap >= 0) & (cut < dialogue.offset[upto])) | (reached & (strange < upto) & missed[upto])
        return lost

    final = np.where(ended >= 0, ended, by)
    doubtful = (dialogue.version[frame] < 0) | ((found.how == CUMULATIVE) & hidden(by))
    swept = reached & missed[latest]
    gap_s2c, aborted = gone.first(dialogue, SERVER, frame), _last_before(dialogue, np.flatnonzero(dialogue.command == ABORT), by)
    back = aborted > frame
    anew = back & (copies.begins(dialogue, gap_s2c) < dialogue.position[by])
    again = (found.state == VOIDED) & (later[ended] | swept | _answered_since(dialogue, found, ended))
    marked = (by >= 0) & (hidden(final) | anew | ((found.state == ENCLOSED) & later[by]))
    waits = (found.state == SETTLED) & ((reached & (strange < final) & ~missed[final]) | (back & ~anew))
    if waits.any():
        waits &= told.heard[SERVER][final] == END
    untold = np.where(before & LISTED, before & DOUBTED, copied | ((by >= 0) & (doubtful | again))) > 0
    return Doubts(untold, marked, swept, waits, copied, gap, strange, gap_s2c, np.where(back, aborted, -1), odd)


def _answered_since(dialogue: Dialogue, found: Settling, ended: I64) -> Bools:
    """Per delivery whose mode is not known: ACKs, cumulative perhaps, came behind what ended the transaction that it was in."""
    latest = _latest(dialogue, dialogue.settles)
    since: Bools = (found.mode == MODE_UNKNOWN) & (latest[dialogue.session[found.frame]] > ended)
    return since
