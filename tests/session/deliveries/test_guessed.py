"""MESSAGEs that do not name their subscription: it is told where it can be no other, and not where the capture may lack another."""

from __future__ import annotations

from collections import Counter

import pytest

from stompcap.session import Options
from tests.session.delivered import A1, BEGIN, COMMIT, EACH, INSIDE, ONE, OPENINGS, RABBITMQ, SECOND, dialogue, message, subscribe
from tests.session.pieces import differences, resumed, rows_of, whole
from tests.session.transcript import made, picked

BARE = "< MESSAGE message-id:m1 ack:a1 destination:/queue/a\n"
OF_THE_SERVER = "< MESSAGE message-id:m1 ack:a1 subscription:Q_/queue/a destination:/queue/a\n"
AUTO, NAMELESS = subscribe(mode="auto"), "> SUBSCRIBE destination:/queue/a ack:client\n"
GAP, OTHERS_GAP, WORD = "> GAP 40\n", "< GAP 40\n< EOL\n", "> EOL\n"
A2 = "> ACK id:a2\n"
NOT_KNOWN, NAMED_NOT_KNOWN = (None, None, "unknown", None), ("1", "client", "unknown", None)

CASES = {
    # of each MESSAGE: subscription, ack_mode, status, settled_by
    "nothing is missing": (ONE + BARE, [("1", "client", "unsettled", None)]),
    "nor before an ACK": (ONE + BARE + A1, [("1", "client", "settled", "direct")]),
    "mode auto": (AUTO + BARE, [("1", "auto", "auto", None)]),
    "another one may be lost": (ONE + GAP + WORD + BARE, [NOT_KNOWN]),
    "of mode auto": (GAP + AUTO + BARE, [NOT_KNOWN]),
    "and that shows later": (ONE + BARE + GAP + WORD, [NOT_KNOWN]),
    "and that shows later, of mode auto": (AUTO + BARE + GAP + WORD, [NOT_KNOWN]),
    "what is lost came later": (AUTO + BARE + WORD + GAP + WORD, [("1", "auto", "auto", None)]),
    "the server's octets are missing": (AUTO + OTHERS_GAP + BARE, [("1", "auto", "auto", None)]),
    "the ACK tells that it was settled": (EACH + GAP + WORD + BARE + A1, [(None, None, "settled", "direct")]),
    "in a transaction too": (EACH + GAP + WORD + BARE + BEGIN + INSIDE + COMMIT, [(None, None, "settled", "direct")]),
    "but not in mode auto, which it contradicts": (AUTO + GAP + WORD + BARE + A1, [(None, None, "settled", "direct")]),
    "what else the ACK settles is not known": (
        ONE + GAP + WORD + BARE.replace("1", "0") + BARE + A1, [NOT_KNOWN, (None, None, "settled", "direct")],
    ),
    "nor whether one by name was along": (ONE + GAP + WORD + BARE + SECOND + A2, [NOT_KNOWN, ("1", "client", "settled", "direct")]),
    "nor what its ACK settles along": (ONE + GAP + WORD + SECOND + BARE + A1, [NAMED_NOT_KNOWN, (None, None, "settled", "direct")]),
    "a name that the server gave": (NAMELESS + OF_THE_SERVER + A1, [("/queue/a", "client", "settled", "direct")]),
    "it may be of a lost SUBSCRIBE": (GAP + NAMELESS + OF_THE_SERVER + A1, [("Q_/queue/a", None, "settled", "direct")]),
    "a name is believed": (ONE + GAP + WORD + SECOND, [("1", "client", "unsettled", None)]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_told_of_a_delivery(name: str) -> None:
    text, expected = CASES[name]
    found = whole(made(dialogue("1.2", "", text)))
    assert picked(found["deliveries"], "subscription", "ack_mode", "status", "settled_by") == expected
    for subscription in rows_of(found, "subscriptions"):
        mine = [row for row in expected if row[1] is not None]
        assert subscription["delivered"] == len(mine) >= subscription["max_in_flight"]


@pytest.mark.parametrize(("mode", "between", "status"), [
    ("client", "", "settled"),
    ("client", GAP + WORD, "unknown"),
    ("client-individual", "", "unsettled"),
    ("client-individual", GAP + WORD, "unknown"),  # of the lost subscription it may be in mode client
])
def test_its_ack_may_settle_others_of_the_connection_along(mode: str, between: str, status: str) -> None:
    text = subscribe(mode=mode) + subscribe(2, destination="/queue/b") + between + message("m2", 2, "/queue/b", "a2") + BARE + A1
    assert picked(whole(made(dialogue("1.2", RABBITMQ, text)))["deliveries"], "status") == [(status,), ("settled",)]


@pytest.mark.parametrize(("between", "status"), [("", "unsubscribed"), (GAP, "open"), ("< GAP 40\n", "unsubscribed")])
def test_unsubscribe_by_destination_means_the_only_one_there(between: str, status: str) -> None:
    text = OPENINGS["1.0"].format("") + subscribe() + between + "> UNSUBSCRIBE destination:/queue/a\n"
    found = whole(made(text))
    assert picked(found["subscriptions"], "status") == [(status,)]


@pytest.mark.slow
def test_a_client_that_is_silent_is_not_waited_for_without_end() -> None:
    """Whether a SUBSCRIBE was lost shows when the client speaks; what came Options.retention frames before is told by then."""
    text = dialogue("1.2", "", AUTO + "".join(BARE.replace("m1", f"m{n}") for n in range(60)) + GAP + WORD)
    sessions, options = made(text), Options(retention=8)
    found, sizes = whole(sessions, options), list[Counter[str]]()
    statuses = [row["status"] for row in found["deliveries"].to_pylist()]
    assert statuses == ["auto"] * statuses.count("auto") + ["unknown"] * statuses.count("unknown")
    assert 6 <= statuses.count("unknown") <= 9
    assert differences(found, resumed(sessions, range(5, 66, 5), options, sizes)) == []
    assert sizes[-3].total() <= sizes[3].total() + 8, sizes


def test_none_is_counted_for_the_subscription_when_it_is_dropped() -> None:
    text = dialogue("1.2", "", GAP + WORD + AUTO + "".join(BARE.replace("m1", f"m{n}") for n in range(30)))
    sessions, options = made(text), Options(retention=4)
    found = resumed(sessions, range(5, 36, 5), options)
    assert picked(found["subscriptions"], "delivered") == [(0,)]
    assert differences(whole(sessions, options), found) == []
