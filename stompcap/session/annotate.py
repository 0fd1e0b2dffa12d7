"""The machine's numbers as annotations of frames, for rules."""

from __future__ import annotations

import numpy as np

from stompcap.kernel import kernel
from stompcap.session.columns import chosen
from stompcap.session.dialogue import CLIENT, CONNECT, CONNECTED, DISCONNECT, ERROR, I8, I32, I64, SERVER, STOMP, Bools
from stompcap.session.missing import Missing, open_at_end
from stompcap.session.notes import ACTIVE, ENDED, UNNAMED, Annotations
from stompcap.session.outcomes import Machine
from stompcap.session.settling_walk import REPLACED, SETTLED
from stompcap.session.subscriptions import mode_of


@kernel
def _walk(
    session: I32, side: I8, command: I8, previous: I64, connects: I32, connected: Bools, disconnect: I64, error: I64
) -> None:
    """What came before each frame in its session."""
    last = -1
    for i in range(len(session)):
        if session[i] != last:
            last, asked, answered, left, failed = session[i], 0, False, -1, -1
            latest_c2s, latest_s2c = -1, -1
        connects[i], connected[i], disconnect[i], error[i] = asked, answered, left, failed
        if side[i] == CLIENT:
            previous[i], latest_c2s = latest_c2s, i
            if command[i] == CONNECT or command[i] == STOMP:
                asked += 1
            elif command[i] == DISCONNECT and left < 0:
                left = i
        else:
            previous[i], latest_s2c = latest_s2c, i
            if command[i] == CONNECTED:
                answered = True
            elif command[i] == ERROR:
                failed = i


def annotate(machine: Machine, missing: Missing) -> Annotations:
    """The annotations of all frames."""
    dialogue, held, settled = machine.dialogue, machine.subscriptions, machine.settling
    count = len(dialogue)
    previous, disconnect, error = (np.full(count, -1, np.int64) for _ in range(3))
    connects, connected = np.zeros(count, np.int32), np.zeros(count, np.bool_)
    _walk(dialogue.session, dialogue.side, dialogue.command, previous, connects, connected, disconnect, error)

    row, state, unsubscribed = held.row.copy(), held.state.copy(), held.unsubscribed_by.copy()
    answers = np.flatnonzero(dialogue.settles)
    named = chosen(settled.frame, settled.delivery[answers])
    row[answers] = chosen(held.row, named)
    ended = chosen(held.ended, row[answers])
    ended = np.where(ended < answers, ended, -1)
    state[answers] = np.where(row[answers] < 0, UNNAMED, np.where(ended >= 0, ENDED, ACTIVE))
    unsubscribed[answers] = ended

    by, kept, replaced = np.full(count, -1, np.int64), np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    by[settled.frame], kept[settled.frame] = settled.by, settled.state == SETTLED
    replaced[settled.frame] = settled.state == REPLACED
    dealt, answered_by, answers = machine.transactions, np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    pair = machine.receipts.answered >= 0
    asked, answered = machine.receipts.asked[pair], machine.receipts.answered[pair]
    answered_by[asked], answers[answered] = answered, asked

    cut = open_at_end(dialogue.streams)[dialogue.session]
    return Annotations(
        previous=previous,
        connects_before=connects,
        connected_before=connected,
        disconnect_before=disconnect,
        error_before=error,
        missed_c2s=missing.before(dialogue, CLIENT),
        missed_s2c=missing.before(dialogue, SERVER),
        missing_later_c2s=machine.later_c2s | cut,
        missing_later_s2c=machine.later_s2c | cut,
        gap_later_s2c=missing.next(dialogue, SERVER),
        subscription_row=row,
        subscription_state=state,
        unsubscribed_by=unsubscribed,
        active_subscriptions=held.active,
        same_destination=held.same_destination,
        ack_mode=mode_of(held, row),
        delivery_row=settled.delivery,
        target=settled.target,
        unsettled_earlier=settled.earlier,
        acknowledged_by=by,
        settled=kept,
        replaced=replaced,
        message_id_before=settled.message_id_before,
        ack_id_before=settled.ack_id_before,
        transaction_row=dealt.frame_row,
        transaction_state=dealt.state,
        transaction_ended=chosen(dealt.ended, dealt.which),
        transaction_outcome=chosen(dealt.outcome.astype(np.int64), dealt.which),
        transaction_alive=chosen(dealt.alive.astype(np.int64), dealt.which) > 0,
        transaction_frames=chosen(dealt.sends + dealt.acks + dealt.nacks, dealt.which),
        receipt_row=machine.receipts.row,
        receipt_state=machine.receipts.state,
        answered_by=answered_by,
        answers=answers,
        sessions=machine.notes,
    )
