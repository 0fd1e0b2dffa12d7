"""Deliveries: what settles them, by version and ack mode, as tables of dialogues and outcomes."""

from __future__ import annotations

import numpy as np
import pytest

from stompcap.session import Options
from stompcap.session.facts import (
    TARGET_AUTO,
    TARGET_CUMULATED,
    TARGET_NONE,
    TARGET_OTHER_SUBSCRIPTION,
    TARGET_PENDING,
    TARGET_SETTLED,
    TARGET_UNKNOWN,
)
from tests.session.subscribed import (
    AUTO,
    CUMULATIVE,
    DIRECT,
    END,
    LEFT,
    OPEN_10,
    OPEN_11,
    OPEN_12,
    REFUSED,
    SWEPT,
    UNKNOWN,
    outcomes,
    subscribed,
)
from tests.session.transcript import picked, run

MODES = [
    # opening, mode, what the client sends, outcomes of m1, m2, m3
    (OPEN_12, "client-individual", "> ACK id:a2\n", [LEFT, DIRECT, LEFT]),
    (OPEN_12, "client-individual", "> NACK id:a2\n", [LEFT, REFUSED, LEFT]),
    (OPEN_12, "client", "> ACK id:a2\n", [CUMULATIVE, DIRECT, LEFT]),
    (OPEN_12, "client", "> NACK id:a2\n", [SWEPT, REFUSED, LEFT]),
    (OPEN_12, "client", "> ACK id:a1\n> ACK id:a3\n", [DIRECT, CUMULATIVE, DIRECT]),
    (OPEN_12, "client", "> ACK id:a3\n> ACK id:a1\n", [CUMULATIVE, CUMULATIVE, DIRECT]),
    (OPEN_12, "auto", "", [AUTO, AUTO, AUTO]),
    (OPEN_12, "auto", "> ACK id:a2\n", [AUTO, AUTO, AUTO]),
    (OPEN_12, "client", "> ACK id:m2\n", [LEFT, LEFT, LEFT]),  # the commonest mistake: the message-id
    (OPEN_12, "client", "> ACK message-id:m2 subscription:1\n", [LEFT, LEFT, LEFT]),  # the headers of 1.1
    (OPEN_11, "client-individual", "> ACK message-id:m2 subscription:1\n", [LEFT, DIRECT, LEFT]),
    (OPEN_11, "client", "> ACK message-id:m2 subscription:1\n", [CUMULATIVE, DIRECT, LEFT]),
    (OPEN_11, "client", "> ACK message-id:m2\n", [LEFT, LEFT, LEFT]),  # half of the headers of 1.1
    (OPEN_11, "client", "> ACK message-id:m2 subscription:2\n", [LEFT, LEFT, LEFT]),
    (OPEN_11, "client", "> ACK id:m2\n", [LEFT, LEFT, LEFT]),
    (OPEN_10, "client", "> ACK message-id:m2\n", [CUMULATIVE, DIRECT, LEFT]),
    (OPEN_10, "client-individual", "> ACK message-id:m3\n", [LEFT, LEFT, DIRECT]),
    (OPEN_10, "auto", "", [AUTO, AUTO, AUTO]),
    (OPEN_12, "sometimes", "> ACK id:a2\n", [UNKNOWN, DIRECT, UNKNOWN]),
]


@pytest.mark.parametrize(("opening", "mode", "answer", "expected"), MODES)
def test_modes(opening: str, mode: str, answer: str, expected: list[tuple[object, ...]]) -> None:
    found = outcomes(subscribed(opening, mode) + answer + END)
    assert [x[1:] for x in found] == expected


def test_nack_settles_one_message_on_activemq() -> None:
    text = subscribed(OPEN_12, "client") + "> NACK id:a2\n" + END
    assert [x[1:] for x in outcomes(text, "server:ActiveMQ/5.17.2")] == [LEFT, REFUSED, LEFT]
    assert [x[1:] for x in outcomes(text, "server:ActiveMQ-Artemis/2.42.0")] == [SWEPT, REFUSED, LEFT]


def test_rabbitmq_needs_no_subscription_in_an_ack() -> None:
    text = subscribed(OPEN_11, "client") + "> ACK message-id:m2\n" + END
    assert [x[1:] for x in outcomes(text, "server:RabbitMQ/3.10.8")] == [CUMULATIVE, DIRECT, LEFT]
    assert [x[1:] for x in outcomes(text, "server:ActiveMQ/5.17.2")] == [LEFT, LEFT, LEFT]


def test_activemq_undoes_escapes_in_an_ack_of_1_0() -> None:
    text = OPEN_10 + """> SUBSCRIBE id:1 destination:/queue/a ack:client
    < MESSAGE message-id:ID:vm:1 subscription:1 destination:/queue/a
    > ACK 'message-id:ID\\cvm\\c1'
    """ + END
    assert outcomes(text, "server:ActiveMQ/5.17.2") == [("ID:vm:1", *DIRECT)]
    assert outcomes(text, "server:ActiveMQ-Artemis/2.42.0") == [("ID:vm:1", *LEFT)]
    as_it_stands = text.replace("message-id:ID:vm:1", "'message-id:ID\\cvm\\c1'")
    assert outcomes(as_it_stands, "server:ActiveMQ/5.17.2") == [("ID\\cvm\\c1", *DIRECT)]


@pytest.mark.parametrize(("opening", "named", "expected"), [
    (OPEN_10, "subscription:subscription//queue/a", DIRECT),
    (OPEN_11, "subscription:subscription//queue/a", DIRECT),
    (OPEN_10, "", DIRECT),
    (OPEN_10, "subscription:/queue/a", LEFT),
])  # fmt: skip
def test_artemis_makes_up_the_id_of_a_subscription_that_has_none(opening: str, named: str, expected: tuple[object, ...]) -> None:
    """PHP's extension and others acknowledge by all headers of the MESSAGE; Artemis refuses what names another subscription."""
    text = opening + f"""> SUBSCRIBE destination:/queue/a ack:client
    < MESSAGE message-id:382,386 subscription:subscription//queue/a destination:/queue/a
    > ACK message-id:382,386 {named}
    """ + END
    assert outcomes(text, "server:ActiveMQ-Artemis/2.42.0") == [("382,386", *expected)]


@pytest.mark.parametrize("opening", [OPEN_10, OPEN_11, OPEN_12])
@pytest.mark.parametrize(("server", "subscription", "expected"), [
    ("RabbitMQ/3.10.8", "/temp-queue/a", True), ("RabbitMQ/3.10.8", "a", False), ("ActiveMQ/5.17.2", "/temp-queue/a", False),
])  # fmt: skip
def test_rabbitmq_asks_for_no_ack_of_a_reply(opening: str, server: str, subscription: str, expected: bool) -> None:
    text = opening + f"""> SEND destination:/queue/a reply-to:/temp-queue/a
    < MESSAGE message-id:m1 subscription:{subscription} destination:/reply-queue/amq.gen-1
    """ + END
    [(_, status, *_)] = outcomes(text, f"server:{server}")
    assert (status == "auto") is (expected or opening == OPEN_12)  # 1.2 tells by the ack header


TWO = OPEN_12 + """
> SUBSCRIBE id:1 destination:/queue/a ack:client
> SUBSCRIBE id:2 destination:/queue/b ack:client
> SUBSCRIBE id:3 destination:/queue/c ack:client-individual
> SUBSCRIBE id:4 destination:/queue/d ack:auto
< MESSAGE message-id:m1 ack:a1 subscription:1 destination:/queue/a
< MESSAGE message-id:m2 ack:a2 subscription:2 destination:/queue/b
< MESSAGE message-id:m3 ack:a3 subscription:3 destination:/queue/c
< MESSAGE message-id:m4 subscription:4 destination:/queue/d
< MESSAGE message-id:m5 ack:a5 subscription:1 destination:/queue/a
> ACK id:a5
""" + END

PER_SUBSCRIPTION = [CUMULATIVE, LEFT, LEFT, AUTO, DIRECT]
PER_CONNECTION = [CUMULATIVE, CUMULATIVE, CUMULATIVE, AUTO, DIRECT]


@pytest.mark.parametrize(
    ("scope", "server", "expected"),
    [
        ("auto", "", PER_SUBSCRIPTION),
        ("auto", "server:ActiveMQ/5.17", PER_SUBSCRIPTION),
        ("auto", "server:RabbitMQ/3.10", PER_CONNECTION),
        ("subscription", "server:RabbitMQ/3.10", PER_SUBSCRIPTION),
        ("connection", "", PER_CONNECTION),
    ],
)
def test_scope_of_cumulative_acks(scope: str, server: str, expected: list[tuple[object, ...]]) -> None:
    assert [x[1:] for x in outcomes(TWO, server, options=Options(ack_scope=scope))] == expected


def test_an_unknown_scope_is_refused() -> None:
    with pytest.raises(ValueError, match="ack_scope"):
        run("> CONNECT", options=Options(ack_scope="planet"))


def test_latency_runs_from_the_last_octet_delivered_to_the_first_octet_that_settles() -> None:
    text = subscribed(OPEN_12, "client", 0) + """
    @100 < RAW "MESSAGE\\nmessage-id:m1\\nsubscription:1\\ndestination:/queue/a\\nack:a1\\n\\nlong"
    @130 < RAW " body\\x00"
    @150 > RAW "ACK\\nid:a1"
    @190 > RAW "\\n\\n\\x00"
    """
    [row] = run(text.replace("{server}", "")).tables["deliveries"].to_pylist()
    assert row["ack_latency_us"] == 20_000
    assert row["settled_ns"] - row["delivered_ns"] == 20_000_000
    assert row["body_octets"] == 9


def test_one_message_id_for_several_subscriptions() -> None:
    both = """
    > SUBSCRIBE id:1 destination:/topic/a ack:client-individual
    > SUBSCRIBE id:2 destination:/topic/a ack:client-individual
    < MESSAGE message-id:m subscription:1 destination:/topic/a
    < MESSAGE message-id:m subscription:2 destination:/topic/a
    """
    named = "> ACK message-id:m subscription:2\n"
    assert [x[1] for x in outcomes(OPEN_11 + both + named + END)] == ["unsettled", "settled"]
    assert [x[1] for x in outcomes(OPEN_10 + both + named + END)] == ["unsettled", "settled"]
    assert [x[1] for x in outcomes(OPEN_10 + both + "> ACK message-id:m\n" * 2 + END)] == ["settled", "settled"]
    assert [x[1] for x in outcomes(OPEN_11 + both + "> ACK message-id:m subscription:3\n" + END)] == ["unsettled"] * 2
    rabbit = outcomes(OPEN_11 + both + "> ACK message-id:m subscription:3\n" + END, "server:RabbitMQ/3.10")
    assert [x[1] for x in rabbit] == ["settled", "unsettled"]


def test_a_message_delivered_anew_to_the_same_id_after_unsubscribing() -> None:
    text = OPEN_11 + """
    > SUBSCRIBE id:1 destination:/queue/a ack:client
    < MESSAGE message-id:m subscription:1 destination:/queue/a
    > UNSUBSCRIBE id:1
    > SUBSCRIBE id:1 destination:/queue/a ack:client
    < MESSAGE message-id:m subscription:1 destination:/queue/a redelivered:true
    > ACK message-id:m subscription:1
    """ + END
    analysis = run(text.replace("{server}", ""))
    assert picked(analysis.tables["deliveries"], "status", "redelivered") == [("unsettled", False), ("settled", True)]
    names = ("subscription", "delivered", "acked", "unsettled", "status")
    assert picked(analysis.tables["subscriptions"], *names) == [("1", 1, 0, 1, "unsubscribed"), ("1", 1, 1, 0, "ended")]


def test_an_ack_after_unsubscribing_settles() -> None:
    text = subscribed(OPEN_12, "client", 1) + "> UNSUBSCRIBE id:1\n> ACK id:a1\n" + END
    assert [x[1:] for x in outcomes(text)] == [DIRECT]


def test_a_server_that_names_no_subscription() -> None:
    text = """
    > SUBSCRIBE destination:/queue/a ack:client
    > SUBSCRIBE destination:/queue/b
    < MESSAGE message-id:m1 destination:/queue/a
    < MESSAGE message-id:m2 destination:/queue/b
    < MESSAGE message-id:m3 destination:/queue/c
    > ACK message-id:m1
    > UNSUBSCRIBE destination:/queue/b
    < MESSAGE message-id:m4 destination:/queue/b
    """
    analysis = run((OPEN_10 + text + END).replace("{server}", ""))
    assert picked(analysis.tables["deliveries"], "subscription", "ack_mode", "status") == [
        ("/queue/a", "client", "settled"), ("/queue/b", "auto", "auto"), (None, None, "unknown"), (None, None, "unknown"),
    ]
    assert picked(analysis.tables["subscriptions"], "subscription", "delivered", "status") == [
        ("/queue/a", 1, "ended"), ("/queue/b", 1, "unsubscribed"),
    ]


def test_two_subscriptions_of_one_destination_leave_it_undecided() -> None:
    text = """
    > SUBSCRIBE id:1 destination:/queue/a ack:client
    > SUBSCRIBE id:2 destination:/queue/a ack:client
    < MESSAGE message-id:m1 destination:/queue/a
    > ACK message-id:m1 subscription:2
    """
    analysis = run((OPEN_11 + text + END).replace("{server}", ""))
    assert picked(analysis.tables["deliveries"], "subscription", "ack_mode", "status") == [(None, None, "settled")]


def test_a_message_without_ack_header_goes_by_its_message_id() -> None:
    text = OPEN_12 + """
    > SUBSCRIBE id:1 destination:/queue/a ack:client
    < MESSAGE message-id:m1 subscription:1 destination:/queue/a
    > ACK id:m1
    """ + END
    assert [x[1:] for x in outcomes(text)] == [DIRECT]


BEHIND = [
    # what follows two deliveries, of which the client acknowledges the first one only
    ("", ["settled", "open"]),
    ("> FIN\n", ["settled", "unsettled"]),
    ("> DISCONNECT\n", ["settled", "unsettled"]),
    ("< RST\n", ["settled", "unsettled"]),
    ("> GAP 40\n> DISCONNECT\n> FIN\n", ["settled", "unknown"]),
    ("> GAP 40\n", ["settled", "unknown"]),
    ("< GAP 40\n> FIN\n", ["settled", "unknown"]),
]


@pytest.mark.parametrize(("behind", "expected"), BEHIND)
def test_what_is_claimed_of_unsettled_messages(behind: str, expected: list[str]) -> None:
    found = outcomes(subscribed(OPEN_12, "client-individual", 2) + "> ACK id:a1\n" + behind)
    assert [x[1] for x in found] == expected


def test_a_gap_before_a_delivery_hides_no_ack_of_it() -> None:
    text = OPEN_12 + """
    > SUBSCRIBE id:1 destination:/queue/a ack:client
    > GAP 30
    > SEND destination:/queue/b
    < MESSAGE message-id:m1 subscription:1 destination:/queue/a ack:a1
    """ + END
    assert [x[1] for x in outcomes(text)] == ["unsettled"]


def test_the_middle_of_a_connection() -> None:
    text = """
    < MESSAGE message-id:m1 subscription:1 destination:/queue/a ack:a1
    < MESSAGE message-id:m2 subscription:1 destination:/queue/a ack:a2
    > ACK id:a2
    > FIN
    """
    assert outcomes(text, syn=False, synack=False) == [("m1", *UNKNOWN), ("m2", *DIRECT)]


def test_targets() -> None:
    text = subscribed(OPEN_11, "client", 3) + """
    > SUBSCRIBE id:2 destination:/queue/b
    < MESSAGE message-id:n1 subscription:2 destination:/queue/b
    > ACK message-id:m2 subscription:1
    > ACK message-id:m2 subscription:1
    > ACK message-id:m1 subscription:1
    > ACK message-id:n1 subscription:2
    > ACK message-id:m9 subscription:1
    > ACK message-id:m3 subscription:2
    > ACK subscription:1
    > NACK message-id:m3 subscription:1
    """
    analysis = run(text.replace("{server}", ""))
    facts, settling = analysis.facts, analysis.dialogue.acks
    assert facts.target[settling].tolist() == [
        TARGET_PENDING, TARGET_SETTLED, TARGET_CUMULATED, TARGET_AUTO, TARGET_UNKNOWN, TARGET_OTHER_SUBSCRIPTION, TARGET_NONE,
        TARGET_PENDING,
    ]
    assert facts.delivery[settling].tolist() == [1, 1, 0, 3, -1, 2, -1, 2]
    assert set(np.delete(facts.target, settling).tolist()) == {TARGET_NONE}


def test_in_flight() -> None:
    text = subscribed(OPEN_12, "client-individual", 3) + """
    > ACK id:a1
    > ACK id:a2
    < MESSAGE message-id:m4 subscription:1 destination:/queue/a ack:a4
    < MESSAGE message-id:m5 subscription:1 destination:/queue/a ack:a5
    """
    [row] = run(text.replace("{server}", "")).tables["subscriptions"].to_pylist()
    assert (row["max_in_flight"], row["delivered"], row["acked"], row["unsettled"]) == (3, 5, 2, 3)


def test_sessions_do_not_touch_each_other() -> None:
    text = subscribed(OPEN_12, "client", 2)
    found = outcomes(text.replace("{server}", ""))
    both = run((text + END).replace("{server}", ""), (text + "> ACK id:a2\n" + END).replace("{server}", ""))
    assert [x[1] for x in found] == ["open", "open"]
    names = ("stream_id", "status")
    assert picked(both.tables["deliveries"], *names) == [
        ("0" * 20, "unsettled"), ("0" * 20, "unsettled"), ("0" * 19 + "1", "settled"), ("0" * 19 + "1", "settled"),
    ]
