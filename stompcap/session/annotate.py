"""The machine's findings as facts about frames, for rules."""

from __future__ import annotations

import numpy as np

from stompcap.session import deliveries, receipts, subscriptions, transactions
from stompcap.session.columns import I64, chosen
from stompcap.session.counters import Before
from stompcap.session.dialogue import CLIENT, SERVER, Dialogue
from stompcap.session.facts import ACTIVE, ENDED, MODE_UNKNOWN, UNNAMED, Facts
from stompcap.session.gaps import Gaps
from stompcap.session.records import Records

NO_RECEIPT, NO_ANSWER = -1, -2  # of an UNSUBSCRIBE: it asked for no receipt; none came so far


def facts(
    dialogue: Dialogue, gaps: Gaps, before: Before, held: subscriptions.Followed, dealt: transactions.Followed, asked: receipts.Followed,
    delivered: deliveries.Followed,
) -> Facts:
    """The facts about all frames."""
    count, found, rows = len(dialogue), delivered.found, delivered.rows
    settling = dialogue.settling
    named = found.delivery[settling]
    row = held.row.copy()
    row[settling] = chosen(rows["subscription"], named)
    state = held.state.copy()
    ended = chosen(held.rows["ended_ordinal"], row[settling])
    over = (ended >= 0) & (ended < dialogue.ordinal[settling])
    state[settling] = np.where(row[settling] < 0, UNNAMED, np.where(over, ENDED, ACTIVE))
    mode = np.full(count, MODE_UNKNOWN, np.int64)
    meant = np.flatnonzero(found.delivery >= 0)
    mode[meant] = rows["mode"][found.delivery[meant]]

    late = np.zeros(count, np.bool_)
    late[dialogue.messages] = True
    late &= (state == ENDED) & (row >= 0)
    at = np.flatnonzero(late)
    unsubscribed, answer = np.full(count, -1, np.int64), np.full(count, NO_RECEIPT, np.int64)
    unsubscribed[at] = held.rows["ended_ns"][row[at]]
    answer[at] = _answers(dialogue, at, row[at], held.rows, asked.rows)
    return Facts(
        previous=before.previous,
        latest_client=before.latest_client,
        connects_before=before.connects,
        connected_ns=before.connected_ns,
        disconnected_before=before.disconnects > 0,
        errors_before=before.errors,
        subscribes_before=before.subscribes,
        nameless_before=before.nameless,
        missed_c2s=gaps.missing[:, CLIENT],
        missed_s2c=gaps.missing[:, SERVER],
        gaps_c2s=gaps.ended[:, CLIENT],
        gaps_s2c=gaps.ended[:, SERVER],
        subscription_state=state,
        unsubscribed_ns=unsubscribed,
        unsubscribe_receipt=answer,
        same_destination=held.same_destination,
        ack_mode=mode,
        delivery=found.delivery,
        target=found.target,
        unsettled_earlier=found.unsettled_earlier == 1,
        is_message_id=found.is_message_id == 1,
        copy_of=found.copy_of,
        copy_acked=found.copy_acked == 1,
        ack_in_use=found.ack_in_use == 1,
        transaction_state=dealt.state,
        receipt=asked.asks,
        receipt_state=asked.state,
        answers=asked.answers,
    )


def _answers(dialogue: Dialogue, at: I64, row: I64, held: Records, asked: Records) -> I64:
    """Per MESSAGE of an ended subscription, when the RECEIPT of its UNSUBSCRIBE came."""
    request = asked.of(held["session"][row], held["ended_ordinal"][row])
    answered = chosen(asked["answered_ordinal"], request)
    come = (answered >= 0) & (answered < dialogue.ordinal[at])
    return np.where(come, chosen(asked["answered_ns"], request), np.where(held["ended_asks"][row] == 1, NO_ANSWER, NO_RECEIPT))
