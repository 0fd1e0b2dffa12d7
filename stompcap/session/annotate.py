"""The machine's findings as facts about frames, for rules."""

from __future__ import annotations

import numpy as np

from stompcap.codes import CLIENT, MODE_UNKNOWN, SERVER
from stompcap.columns import I64, Bools
from stompcap.session.clocks import Clocks
from stompcap.session.counters import Before
from stompcap.session.deliveries.follow import FollowedDeliveries
from stompcap.session.dialogue import Dialogue
from stompcap.session.facts import ACTIVE, ENDED, UNNAMED, Facts
from stompcap.session.gaps import Gaps
from stompcap.session.layout import Records
from stompcap.session.receipts.follow import FollowedReceipts
from stompcap.session.subscriptions.follow import FollowedSubscriptions
from stompcap.session.transactions.follow import FollowedTransactions
from stompcap.settings import Thresholds


def annotated(
    dialogue: Dialogue, gaps: Gaps, before: Before, subs: FollowedSubscriptions, txns: FollowedTransactions, requests: FollowedReceipts,
    delivered: FollowedDeliveries, round_trip: I64, clocks: Clocks, thresholds: Thresholds,
) -> Facts:
    """The facts about all frames; `round_trip` per session, in nanoseconds."""
    count, found, rows = len(dialogue), delivered.facts, delivered.rows
    acks = dialogue.acks
    named = found.delivery[acks]
    row = subs.row.copy()
    row[acks] = rows.at("subscription", named)
    state = subs.state.copy()
    ended = subs.rows.at("ended_ordinal", row[acks])
    over = (ended >= 0) & (ended < dialogue.ordinal[acks])
    state[acks] = np.where(row[acks] < 0, UNNAMED, np.where(over, ENDED, ACTIVE))
    mode = np.full(count, MODE_UNKNOWN, np.int64)
    meant = np.flatnonzero(found.delivery >= 0)
    mode[meant] = rows["mode"][found.delivery[meant]]

    too_late, unanswered, untimed = _behind_unsubscribe(dialogue, row, state, subs.rows, requests.rows, round_trip, clocks, thresholds)
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
        too_late=too_late,
        unanswered=unanswered,
        untimed=untimed,
        same_destination=subs.same_destination,
        ack_mode=mode,
        delivery=found.delivery,
        target=found.target,
        unsettled_earlier=found.unsettled_earlier == 1,
        is_message_id=found.is_message_id == 1,
        copy_of=found.copy_of,
        copy_acked=found.copy_acked == 1,
        ack_in_use=found.ack_in_use == 1,
        transaction_state=txns.state,
        receipt=requests.asks,
        receipt_state=requests.state,
        answers=requests.answers,
    )


def _behind_unsubscribe(
    dialogue: Dialogue, row: I64, state: I64, subs: Records, requests: Records, round_trip: I64, clocks: Clocks, thresholds: Thresholds
) -> tuple[Bools, Bools, Bools]:
    """MESSAGEs of ended subscriptions: that came too late, whose UNSUBSCRIBE was not answered so far, of which the clocks do not tell."""
    sent = dialogue.messages
    at = sent[(state[sent] == ENDED) & (row[sent] >= 0)]
    too_late, unanswered, untimed = np.zeros((3, len(dialogue)), np.bool_)
    of = row[at]
    request = requests.of(subs["session"][of], subs["ended_ordinal"][of])
    answered = requests.at("answered_ordinal", request)
    arrived = (answered >= 0) & (answered < dialogue.ordinal[at])
    grace = round_trip[dialogue.session[at]] + thresholds.ns("unsubscribe_grace_s")
    limit = np.where(arrived, requests.at("answered_ns", request), subs["ended_ns"][of] + grace)
    timed = arrived | clocks.comparable(dialogue.session[at], subs["ended_ordinal"][of], dialogue.ordinal[at])
    too_late[at], untimed[at] = (dialogue.last_ns[at] > limit) & timed, ~timed
    unanswered[at] = ~arrived & (subs["ended_asks"][of] == 1)
    subs["late"][row[too_late]] = 1
    return too_late, unanswered, untimed
