"""What is told of deliveries where octets are missing: one table decides, and nothing else does.

    what became of the delivery                               octets are missing between it and that
    an ACK or NACK named it                                   settled, marked: its latency is an upper bound
    a cumulative one settled it along; an ABORT gave it back  unknown
    it was delivered again before it was settled              unknown, the copy too
    nothing                                                   unknown

A gap lies between the row before it and the row behind it: it concerns a delivery that came before the latter and is settled behind the
former, of either direction. An ACK counts as a gap too where the capture does not tell how far it reaches: it names one of several copies
(stompcap.session.settling_walk), or on a broker whose ACKs reach over the connection a MESSAGE of a subscription that is not known. Of
such a subscription any ACK may be cumulative: but by its name nothing is told to be settled, given back or left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stompcap.places import END
from stompcap.session.columns import chosen
from stompcap.session.dialogue import CLIENT, I64, SERVER, Bools, Dialogue
from stompcap.session.missing import Missing
from stompcap.session.notes import MODE_UNKNOWN
from stompcap.session.progress import LISTED, Progress
from stompcap.session.settling import Settling
from stompcap.session.settling_walk import AGAIN, CHANGED, CUMULATIVE, DIRECT, REPLACED, SETTLED, SWEPT, UNCLEAR, VOIDED
from stompcap.session.subscriptions import Subscriptions
from stompcap.session.transactions import Transactions


@dataclass(frozen=True)
class Losses:
    """Per delivery.

    bits       CHANGED: octets are missing between it and what settled it for good or replaced it, or since, where nothing did; SWEPT: an
               ambiguous ACK came meanwhile that may have settled it; AGAIN and UNCLEAR
    untold     what became of it is unknown
    guessed    it may be of another subscription, one that is lost (stompcap.session.subscriptions)
    supposed   that is not known yet
    waits      a gap that makes it CHANGED or `guessed` may show yet: the other side was not captured since
    """

    bits: I64
    untold: Bools
    guessed: Bools
    supposed: Bools
    waits: Bools

    @property
    def marked(self) -> Bools:
        """What settled it may be something else, before."""
        found: Bools = (self.bits & (CHANGED | SWEPT)) > 0
        return found


def find(
    dialogue: Dialogue, gone: Missing, held: Subscriptions, found: Settling, dealt: Transactions, told: Progress
) -> Losses:
    """What is lost of all deliveries."""
    frame, by = found.frame, found.by
    ended, anew = chosen(dealt.ended, found.transaction), _replacing(dialogue, found)
    settled, replaced = found.state == SETTLED, found.state == REPLACED
    last = np.where(settled, np.where(ended >= 0, ended, by), np.where(replaced, anew, -1))

    guessed, along = held.guessed[frame], (by >= 0) & (found.how == CUMULATIVE)
    behind = first_behind(dialogue, found.ambiguous, frame)
    changed = (found.loss & CHANGED) > 0
    swept = ((found.loss & SWEPT) > 0) | (found.reached & (behind >= 0) & ((last < 0) | (behind < last)))
    swept |= along & found.ambiguous[by]
    for side in (CLIENT, SERVER):
        changed |= np.where(last < 0, gone.after(dialogue, side)[frame], gone.begun(dialogue, side, last) > dialogue.position[frame])

    vague = guessed | (found.mode == MODE_UNKNOWN)
    back, again = np.isin(found.state, (VOIDED, REPLACED)), (found.loss & AGAIN) > 0
    named = settled & (found.how == DIRECT)
    untold = ((found.loss & UNCLEAR) > 0) | ((changed | swept) & ~named) | (changed & ((found.aborts > 0) | again))
    untold |= (vague & (again | back | along)) | (guessed & (by < 0))
    untold |= (by >= 0) & (dialogue.version[frame] < 0)  # the ACKs contradict the rest of the session
    untold |= (along & held.guessed[chosen(frame, found.delivery[by])]) | found.weary

    supposed = held.supposed[frame] & ~guessed & (told.lapse[frame] == END) & (told.heard[CLIENT][frame] == END)
    waits = supposed | (settled & (told.heard[SERVER][last] == END)) | (replaced & (told.heard[CLIENT][last] == END))
    waits &= (told.told[frame] & LISTED) == 0
    return Losses(found.loss | changed * CHANGED | swept * SWEPT, untold, guessed, supposed, waits)


def first_behind(dialogue: Dialogue, which: Bools, frame: I64) -> I64:
    """Per frame given the first behind it, in its session, of those that are marked; -1 where there is none."""
    events = np.append(np.flatnonzero(which), -1)
    found = events[np.searchsorted(events[:-1], frame, side="right")]
    return np.where((found >= 0) & (dialogue.session[found] == dialogue.session[frame]), found, -1)


def _replacing(dialogue: Dialogue, found: Settling) -> I64:
    """Per delivery the first MESSAGE behind it that has it for the one before of its message-id, -1 where there is none."""
    anew = np.flatnonzero(found.message_id_before >= 0)[::-1]
    by = np.full(len(found.frame), -1, np.int64)
    by[found.delivery[found.message_id_before[anew]]] = anew
    return by
