"""The machine's findings as facts about frames, for rules."""

from __future__ import annotations

import numpy as np

from stompcap.codes import CLIENT, MODE_UNKNOWN, SERVER
from stompcap.columns import I64, Bools, take_or
from stompcap.session.clocks import Clocks
from stompcap.session.counters import Before
from stompcap.session.deliveries import follow as deliveries
from stompcap.session.dialogue import Dialogue
from stompcap.session.facts import ACTIVE, ENDED, UNNAMED, Facts
from stompcap.session.gaps import Gaps
from stompcap.session.layout import Records
from stompcap.session.receipts import follow as receipts
from stompcap.session.subscriptions import follow as subscriptions
from stompcap.session.transactions import follow as transactions
from stompcap.settings import Thresholds


def facts(
    dialogue: Dialogue, gaps: Gaps, before: Before, subs: subscriptions.Followed, txns: transactions.Followed, requests: receipts.Followed,
    delivered: deliveries.Followed, round_trip: I64, clocks: Clocks, thresholds: Thresholds,
) -> Facts:
    """The facts about all frames; `round_trip` per session, in nanoseconds."""
    count, found, rows = len(dialogue), delivered.found, delivered.rows
    settling = dialogue.settling
    named = found.delivery[settling]
    row = subs.row.copy()
    row[settling] = take_or(rows["subscription"], named)
    state = subs.state.copy()
    ended = take_or(subs.rows["ended_ordinal"], row[settling])
    over = (ended >= 0) & (ended < dialogue.ordinal[settling])
    state[settling] = np.where(row[settling] < 0, UNNAMED, np.where(over, ENDED, ACTIVE))
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
    answered = take_or(requests["answered_ordinal"], request)
    come = (answered >= 0) & (answered < dialogue.ordinal[at])
    grace = round_trip[dialogue.session[at]] + thresholds.ns("unsubscribe_grace_s")
    limit = np.where(come, take_or(requests["answered_ns"], request), subs["ended_ns"][of] + grace)
    told = come | clocks.comparable(dialogue.session[at], subs["ended_ordinal"][of], dialogue.ordinal[at])
    too_late[at], untimed[at] = (dialogue.last_ns[at] > limit) & told, ~told
    unanswered[at] = ~come & (subs["ended_asks"][of] == 1)
    subs["late"][row[too_late]] = 1
    return too_late, unanswered, untimed
