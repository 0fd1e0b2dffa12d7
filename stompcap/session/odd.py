"""ACKs and NACKs that may mean a MESSAGE which the capture lost: one of another name, or the same one delivered anew.

A server delivers anew what was refused, and what an aborted transaction had settled. Where it is not known what a NACK, or an ACK
in a transaction that was aborted, has settled along, all deliveries before it may have come back, and what names them afterwards
may mean the copy; that is odd as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stompcap.kernel import kernel
from stompcap.places import END
from stompcap.session.dialogue import ABORT, ACK, I8, I32, I64, NACK, SERVER, Bools, Dialogue
from stompcap.session.nearest import last_before
from stompcap.session.notes import TARGET_PENDING
from stompcap.session.progress import ODD, SEEN, Progress
from stompcap.session.settling import Settling


@kernel
def _spread(session: I32, command: I8, named: I64, frame: I64, reached: Bools, odd: Bools, returned: I64) -> None:
    """Mark what names a delivery that an odd frame may have given back; `named` is the delivery per frame, -1 for none."""
    latest, back = -1, -1  # the last odd frame; the last of which it is known that what it settled may have come back
    for i in range(len(session)):
        if i > 0 and session[i] != session[i - 1]:
            latest, back = -1, -1
        if command[i] == ABORT:
            back = latest
        elif command[i] == ACK or command[i] == NACK:
            k = named[i]
            odd[i] |= k >= 0 and reached[k] and back > frame[k]
            if odd[i]:
                latest = i
                back = i if command[i] == NACK else back
        returned[session[i]] = back


@dataclass(frozen=True)
class Odd:
    """What is odd.

    now        per frame, whether it is
    soon       per frame, whether it is, or will be where octets of the server turn out to be missing behind the last one that came
    returned   per session the last odd frame by which what stood before it may have come back, -1 for none; and the last of `soon`
    aborted    the ABORTs that tell what only will be odd
    """

    now: Bools
    soon: Bools
    returned: tuple[I64, I64]
    aborted: I64


def find(dialogue: Dialogue, found: Settling, copied: I64, cut: I64, lost: I64, told: Progress) -> Odd:
    """The frames that are odd.

    Such is of itself what is strange (Settling.strange), or names a delivery that is copied (stompcap.session.copies), or that was refused,
    or seems settled but may have been given back by what is lost, or may have been delivered anew after an ABORT or what is lost.

    Per delivery, `copied`: the place where it became a copy, see there, `cut`: the offset where octets of the client are missing first
    behind it, `lost`: the place behind which the server's are; END where it is none and none are.
    """
    answers = np.flatnonzero(dialogue.settles & (found.delivery >= 0))
    named = found.delivery[answers]
    by = found.by[named]
    lossy = cut[named] < dialogue.offset[answers]
    refused = ((dialogue.command[by] == NACK) | lossy) & (by >= 0) & (by < answers) & (found.target[answers] != TARGET_PENDING)
    last_one = last_before(dialogue, dialogue.command == ABORT, answers)
    back = lossy | (last_one > found.frame[named])
    seen = ((told.told[answers] & SEEN) > 0) & (copied[named] < 0)  # what it became a copy by, came behind these
    now = found.strange | ((told.told & ODD) > 0)
    now[answers] |= (~seen & (copied[named] < dialogue.position[answers])) | refused | (back & (lost[named] < dialogue.position[answers]))
    soon, later = now.copy(), back & (told.heard[SERVER][answers] == END)
    soon[answers] |= later
    return Odd(now, soon, (_spread_all(dialogue, found, now), _spread_all(dialogue, found, soon)), last_one[later])


def _spread_all(dialogue: Dialogue, found: Settling, odd: Bools) -> I64:
    """Mark what is odd because of what is; returns, per session, the last frame by which what stood before it may have come back."""
    named, returned = np.where(dialogue.settles, found.delivery, -1), np.full(dialogue.sessions, -1, np.int64)
    _spread(dialogue.session, dialogue.command, named, found.frame, found.reached, odd, returned)
    return returned
