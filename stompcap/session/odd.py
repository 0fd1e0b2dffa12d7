"""ACKs and NACKs that may mean a MESSAGE which the capture lost: one of another name, or the same one delivered anew.

A server delivers anew what was refused, and what an aborted transaction had settled. Where octets of the server are missing since, an
ACK may mean the copy, and settle along what came before that. And of a NACK that is odd it is not known what it refused along.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stompcap.kernel import kernel
from stompcap.places import END
from stompcap.session.dialogue import ABORT, ACK, I8, I32, I64, NACK, SERVER, Bools, Dialogue
from stompcap.session.nearest import last_before
from stompcap.session.notes import TARGET_PENDING
from stompcap.session.progress import ODD, WAVERS, Progress
from stompcap.session.settling import Settling


@kernel
def _spread(session: I32, command: I8, named: I64, frame: I64, reached: Bools, missed: Bools, odd: Bools, nack: I64) -> None:
    """Mark what names a delivery that an odd NACK may have refused, octets of the server being `missed` since.

    `named` is the delivery per frame, -1 for none; `nack` becomes the last odd NACK of each session.
    """
    for i in range(len(session)):
        if command[i] == ACK or command[i] == NACK:
            k, s = named[i], session[i]
            odd[i] |= k >= 0 and missed[i] and reached[k] and nack[s] > frame[k]
            if odd[i] and command[i] == NACK:
                nack[s] = i


@dataclass(frozen=True)
class Odd:
    """What is odd.

    now       per frame, whether it is
    soon      per frame, whether it is, or will be where octets of the server turn out to be missing behind the last one that came
    nacks     two rows: per session the last NACK that is, and the last of `soon`; -1 for none
    """

    now: Bools
    soon: Bools
    nacks: I64


def find(dialogue: Dialogue, found: Settling, copied: I64, cut: I64, lost: I64, told: Progress) -> Odd:
    """The frames that are odd.

    Such is what is strange (Settling.strange), or names a delivery that is copied (stompcap.session.copies), or one that was refused or
    may have been, or that may have been in a transaction that was aborted, octets of the server being missing since.

    Per delivery, `copied`: the place where it became a copy, see there, `cut`: the offset where octets of the client are missing first
    behind it, `lost`: the place behind which the server's are; END where it is none and none are.
    """
    answers = np.flatnonzero(dialogue.settles & (found.delivery >= 0))
    named = found.delivery[answers]
    by = found.by[named]
    back = (told.told[answers] & WAVERS) > 0
    back |= (dialogue.command[by] == NACK) & (by >= 0) & (by < answers) & (found.target[answers] != TARGET_PENDING)
    back |= (cut[named] < dialogue.offset[answers]) | (last_before(dialogue, dialogue.command == ABORT, answers) > found.frame[named])
    missed, silent = lost[named] < dialogue.position[answers], told.heard[SERVER][answers] == END
    now = found.strange | ((told.told & ODD) > 0)
    now[answers] |= (copied[named] < dialogue.position[answers]) | (back & missed)
    soon = now.copy()
    soon[answers] |= back & silent
    names = np.full(len(dialogue), -1, np.int64)
    names[answers] = named
    nacks = np.full((2, dialogue.sessions), -1, np.int64)
    for odd, gone, nack in ((now, missed, nacks[0]), (soon, missed | silent, nacks[1])):
        lacks = np.zeros(len(dialogue), np.bool_)
        lacks[answers] = gone
        _spread(dialogue.session, dialogue.command, names, found.frame, found.reached, lacks, odd, nack)
    return Odd(now, soon, nacks)
