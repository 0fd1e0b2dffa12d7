"""Where octets are missing that may have settled a delivery otherwise than it seems.

What a cumulative ACK seems to have settled along may have been settled before: by an ACK or NACK that the capture lost, or by one that
it has, of a MESSAGE or a SUBSCRIBE that it lost. And where the version is not known although ACKs show it, they contradict the rest of
the session, and the server may not have accepted them. Of such a delivery nothing is told.

What an ACK names itself is taken to be settled by it, for a client names a MESSAGE once; else any loss would hide all latencies. But a
client may do wrong, or take the name of a transaction once more: such a delivery is marked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stompcap.places import END
from stompcap.session.columns import chosen
from stompcap.session.dialogue import CLIENT, I64, SERVER, Bools, Dialogue
from stompcap.session.missing import Missing
from stompcap.session.notes import MODE_UNKNOWN
from stompcap.session.progress import DOUBTED, LISTED, Progress
from stompcap.session.settling import Settling
from stompcap.session.settling_walk import CUMULATIVE, ENCLOSED, SETTLED, VOIDED
from stompcap.session.transactions import Transactions


@dataclass(frozen=True)
class Doubts:
    """Per delivery.

    untold     nothing may be told of what settled it: it may not be what seems to have, or was aborted and may have been settled since
    marked     octets are missing between it and what settled it, or what ended the transaction of that
    swept      a strange frame behind it (Settling.strange) may have settled it: what that names, the capture may have lost
    waits      it is settled, but not for good: missing octets of the server may show yet that make it `untold` or `marked`
    gap        raw row of the first gap in the client's octets behind it that something follows, -1 where there is none
    strange    the first strange frame behind it, -1 where there is none
    """

    untold: Bools
    marked: Bools
    swept: Bools
    waits: Bools
    gap: I64
    strange: I64


def _first_behind(dialogue: Dialogue, events: I64, frame: I64) -> I64:
    """The first of some frames, in wire order, that is behind each frame given, in its session; -1 where there is none."""
    if len(events) == 0:
        return np.full(len(frame), -1, np.int64)
    next_one = events[np.minimum(np.searchsorted(events, frame, side="right"), len(events) - 1)]
    return np.where((next_one > frame) & (dialogue.session[next_one] == dialogue.session[frame]), next_one, -1)


def find(dialogue: Dialogue, gone: Missing, found: Settling, dealt: Transactions, told: Progress) -> Doubts:
    """The doubts of all deliveries."""
    frame, by = found.frame, found.by
    missed = gone.before(dialogue, CLIENT) | gone.before(dialogue, SERVER)
    later = gone.after(dialogue, CLIENT)
    gap, strange = gone.first(dialogue, CLIENT, frame), _first_behind(dialogue, np.flatnonzero(found.strange), frame)
    cut = chosen(dialogue.rows.offset, gap)
    reached = (strange >= 0) & (found.swept_by >= 0)

    def hidden(upto: I64) -> Bools:
        """Octets are missing behind the delivery and before that frame, which might have settled it."""
        lost: Bools = ((gap >= 0) & (cut < dialogue.offset[upto])) | (reached & (strange < upto) & missed[upto])
        return lost

    ended = chosen(dealt.ended, found.transaction)
    final = np.where(ended >= 0, ended, by)
    doubtful = (dialogue.version[frame] < 0) | ((found.how == CUMULATIVE) & hidden(by))
    swept = (found.swept_by >= 0) & missed[found.swept_by]
    again = (found.state == VOIDED) & (later[ended] | swept | _answered_since(dialogue, found, ended))
    marked = (by >= 0) & (hidden(final) | ((found.state == ENCLOSED) & later[by]))
    waits = (found.state == SETTLED) & reached & (strange < final) & ~missed[final]
    if waits.any():
        waits &= told.heard[SERVER][final] == END
    before = told.told[frame]
    untold = np.where(before & LISTED, before & DOUBTED, (by >= 0) & (doubtful | again)) > 0
    return Doubts(untold, marked, swept, waits, gap, strange)


def _answered_since(dialogue: Dialogue, found: Settling, ended: I64) -> Bools:
    """Per delivery whose mode is not known: ACKs, cumulative perhaps, came behind what ended the transaction that it was in."""
    answers = np.flatnonzero(dialogue.settles)
    latest = np.full(dialogue.sessions, -1, np.int64)
    latest[dialogue.session[answers]] = answers
    since: Bools = (found.mode == MODE_UNKNOWN) & (latest[dialogue.session[found.frame]] > ended)
    return since
