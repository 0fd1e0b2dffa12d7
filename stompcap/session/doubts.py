"""Where octets are missing that may have settled a delivery otherwise than it seems.

What a cumulative ACK seems to have settled along may have been settled before: by an ACK or NACK that the capture lost, or by one that
it has, of a MESSAGE or a SUBSCRIBE that it lost. And where the version is not known although ACKs show it, they contradict the rest of
the session, and the server may not have accepted them. Of such a delivery nothing is told; nor of one that an ABORT gave back, where
it may have been settled afterwards.

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
from stompcap.session.dialogue import ABORT, CLIENT, I64, SERVER, Bools, Dialogue
from stompcap.session.missing import Missing
from stompcap.session.nearest import first_behind, last_before, latest
from stompcap.session.notes import MODE_UNKNOWN
from stompcap.session.odd import Odd
from stompcap.session.odd import find as odd_frames
from stompcap.session.progress import DOUBTED, LISTED, Progress
from stompcap.session.settling import Settling
from stompcap.session.settling_walk import CUMULATIVE, ENCLOSED, REPLACED, SETTLED, VOIDED
from stompcap.session.subscriptions import Subscriptions
from stompcap.session.transactions import Transactions


@dataclass(frozen=True)
class Doubts:
    """Per delivery.

    untold     nothing may be told of what settled it: it may not be what seems to have, or was aborted and may have been settled since
    guessed    it may be of another subscription, one that is lost (stompcap.session.subscriptions)
    supposed   that is not known yet
    marked     octets are missing between it and what settled it, or what ended the transaction of that; of the server
               too, where an ABORT stands between
    swept      an odd frame behind it may have settled it: what that names, the capture may have lost
    waits      it is supposed, or settled or replaced, but not for good: missing octets may show yet that make it `guessed`, `untold`
               or `marked`
    copied     the place where it became one of those of which another may have been settled for it (stompcap.session.copies), else END
    rows       raw rows that tell all this, -1 where there is none: arrays of the first gaps behind it, of the client's octets, of the
               server's, and, where it is replaced, of the client's behind the end of the transaction it was in
    frames     frames that tell it: the first that may have settled it; the first odd ones behind it and behind that end; the last ABORT
               before what settled it

    And what is odd: see stompcap.session.odd.
    """

    untold: Bools
    guessed: Bools
    supposed: Bools
    marked: Bools
    swept: Bools
    waits: Bools
    copied: I64
    rows: tuple[I64, ...]
    frames: tuple[I64, ...]
    odd: Odd


def find(dialogue: Dialogue, gone: Missing, held: Subscriptions, found: Settling, dealt: Transactions, told: Progress) -> Doubts:
    """The doubts of all deliveries."""
    frame, by = found.frame, found.by
    before, ended = told.told[frame], chosen(dealt.ended, found.transaction)
    missed = gone.before(dialogue, CLIENT) | gone.before(dialogue, SERVER)
    gap, gap_s2c = gone.first(dialogue, CLIENT, frame), gone.first(dialogue, SERVER, frame)
    cut = np.where(gap >= 0, chosen(dialogue.rows.offset, gap), END)

    def lossy(upto: I64) -> Bools:
        """Octets of the client are missing behind the delivery and before that frame of the client."""
        lost: Bools = cut < dialogue.offset[upto]
        return lost

    guessed, along = held.guessed[frame], found.how == CUMULATIVE
    unclear = guessed | (found.mode == MODE_UNKNOWN)
    doubted = _doubted(dialogue, found, missed, unclear)
    lost = np.minimum(copies.begins(dialogue, gap), np.where(doubted >= 0, chosen(dialogue.position, doubted), END))
    final, anew_by = np.where(ended >= 0, ended, by), _replacing(dialogue, found)
    copied = copies.find(dialogue, found, lost, unclear, np.where(anew_by >= 0, anew_by, final))
    lost_s2c = copies.begins(dialogue, gap_s2c)
    odd = odd_frames(dialogue, found, copied, cut, lost_s2c, told)
    aborted = last_before(dialogue, dialogue.command == ABORT, by)
    back = aborted > frame
    anew = back & (lost_s2c < dialogue.position[by])
    strange, soon = (np.where(found.reached, first_behind(dialogue, which, frame), -1) for which in (odd.now, odd.soon))
    reached = strange >= 0

    def hidden(upto: I64) -> Bools:
        """Missing octets, or an odd frame, behind the delivery and before that frame might have settled it."""
        swept: Bools = lossy(upto) | (reached & (strange < upto) & missed[upto])
        return swept

    doubtful = (dialogue.version[frame] < 0) | (along & (hidden(by) | guessed | held.guessed[chosen(frame, found.delivery[by])]))
    swept = reached & missed[latest(dialogue, odd.now)[dialogue.session[frame]]]
    again = (found.state == VOIDED) & (swept | gone.after(dialogue, CLIENT)[ended] | _answered_since(dialogue, found, ended, unclear))
    replaced = anew_by >= 0
    gap_since = np.where(replaced, gone.first(dialogue, CLIENT, ended), -1)
    strange_since = np.where(replaced & found.reached, first_behind(dialogue, odd.now, ended), -1)
    again |= found.weary
    again |= replaced & (copies.begins(dialogue, gap_since) < dialogue.position[anew_by])
    again |= (strange_since >= 0) & (strange_since < anew_by)
    marked = (by >= 0) & (hidden(final) | anew | ((found.state == ENCLOSED) & gone.after(dialogue, CLIENT)[by]))
    waits = (found.state == SETTLED) & (((soon >= 0) & (soon < final) & ~hidden(final)) | (back & ~anew))
    if waits.any():
        waits &= told.heard[SERVER][final] == END
    if replaced.any():
        waits |= replaced & ~again & (told.heard[CLIENT][anew_by] == END)
    supposed = held.supposed[frame] & ~guessed & (told.lapse[frame] == END)
    if supposed.any():
        supposed &= told.heard[CLIENT][frame] == END
        waits |= supposed
    doubtful = np.where(by >= 0, doubtful | again, guessed)
    untold = np.where(before & LISTED, before & DOUBTED, (copied < END) | doubtful) > 0
    frames = doubted, strange, soon, strange_since, np.where(back, aborted, -1)
    return Doubts(untold, guessed, supposed, marked, swept, waits, copied, (gap, gap_s2c, gap_since), frames, odd)


def _doubted(dialogue: Dialogue, found: Settling, missed: Bools, unclear: Bools) -> I64:
    """Per delivery the first frame that may have settled it along: of what is lost, or any where its mode is not known; -1 for none."""
    strange = np.where(found.reached, first_behind(dialogue, found.strange & missed, found.frame), -1)
    return np.where(unclear, first_behind(dialogue, dialogue.settles, found.frame), strange)


def _answered_since(dialogue: Dialogue, found: Settling, ended: I64, unclear: Bools) -> Bools:
    """Per delivery whose mode is not known: ACKs, cumulative perhaps, came behind what ended the transaction that it was in."""
    last_one = latest(dialogue, dialogue.settles)[dialogue.session[found.frame]]
    since: Bools = unclear & (last_one > ended)
    return since


def _replacing(dialogue: Dialogue, found: Settling) -> I64:
    """Per delivery that was replaced the MESSAGE that delivers it anew, -1 for others."""
    anew = np.flatnonzero(found.message_id_before >= 0)[::-1]
    by = np.full(len(found.frame), -1, np.int64)
    by[found.delivery[found.message_id_before[anew]]] = anew
    return np.where(found.state == REPLACED, by, -1)
