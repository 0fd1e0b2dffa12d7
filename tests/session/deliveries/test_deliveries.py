"""Deliveries where things go otherwise than in the plain case: delivered anew, to several, in flight, lost by the capture.

Each case is the claim, the version, the broker's `server` header, the dialogue behind CONNECTED and what becomes of each MESSAGE.
"""

from __future__ import annotations

import pytest

from stompcap.session import Options
from tests.session.delivered import (
    A1,
    A2,
    A3,
    ABORT,
    ACK,
    ACTIVEMQ,
    ANEW,
    AUTO,
    BEGIN,
    COMMIT,
    EACH,
    FIRST,
    GONE,
    INSIDE,
    LEFT,
    LOST,
    NACK,
    OLD,
    OLD_ACK,
    ONE,
    RABBITMQ,
    SECOND,
    SWEPT,
    SWEPT_BY_NACK,
    THIRD,
    UNCLEAR,
    UNKNOWN,
    VOID,
    VOID_ALONG,
    analysed,
    message,
    subscribe,
)
from tests.session.transcript import picked

CASES = [
    # cumulative, by product
    ("NACK is cumulative over the connection on RabbitMQ", "1.2", RABBITMQ,
     ONE + subscribe(2, "client", "/queue/b") + FIRST + message("m2", 2, "/queue/b", "a2") + THIRD + "> NACK id:a3\n",
     [SWEPT_BY_NACK, SWEPT_BY_NACK, NACK]),
    ("NACK is cumulative in 1.1 as well", "1.1", "", ONE + OLD + "> NACK message-id:m2 subscription:1\n", [SWEPT_BY_NACK, NACK]),
    ("an ACK settles along what a NACK of ActiveMQ left", "1.2", ACTIVEMQ, ONE + FIRST + SECOND + THIRD + "> NACK id:a2\n> ACK id:a3\n",
     [SWEPT, NACK, ACK]),
    ("a client-individual ACK sweeps nothing on RabbitMQ", "1.2", RABBITMQ,
     ONE + subscribe(2, "client-individual", "/queue/b") + FIRST + message("m2", 2, "/queue/b", "a2") + A2, [LEFT, ACK]),
    # inside transactions
    ("a transaction lost with the connection", "1.2", "", EACH + FIRST + BEGIN + INSIDE + "< RST\n", [VOID]),
    ("a transaction lost at the client's FIN", "1.2", "", EACH + FIRST + BEGIN + INSIDE + "> FIN\n", [VOID]),
    ("a transaction whose end the capture may have lost", "1.2", "", EACH + FIRST + BEGIN + INSIDE + "> GAP 30\n> EOL\n",
     [UNKNOWN]),
    ("a transaction whose COMMIT came behind the gap", "1.2", "", EACH + FIRST + BEGIN + INSIDE + "> GAP 30\n" + COMMIT, [ACK]),
    ("a transaction begun again while it was open", "1.2", "", EACH + FIRST + BEGIN + INSIDE + BEGIN + COMMIT, [UNCLEAR]),
    ("a transaction never begun", "1.2", "", EACH + FIRST + INSIDE, [UNCLEAR]),
    ("a transaction that the server refused to commit: the client's word", "1.2", "",
     EACH + FIRST + BEGIN + INSIDE + "> COMMIT transaction:t receipt:1\n< ERROR receipt-id:1 message:no\n", [ACK]),
    ("two transactions at once keep apart", "1.2", "",
     ONE + FIRST + SECOND + THIRD + BEGIN + "> BEGIN transaction:u\n" + INSIDE
     + "> ACK id:a3 transaction:u\n> ABORT transaction:u\n" + COMMIT,
     [ACK, VOID_ALONG, VOID]),
    ("a direct ACK leaves what a transaction holds", "1.2", "", ONE + FIRST + SECOND + BEGIN + INSIDE + A2 + ABORT, [VOID, ACK]),
    ("a second ACK of what a transaction holds changes nothing", "1.2", "", EACH + FIRST + BEGIN + INSIDE + A1 + COMMIT, [ACK]),
    ("a transaction of the same id anew", "1.2", "",
     EACH + FIRST + SECOND + BEGIN + INSIDE + ABORT + BEGIN + "> ACK id:a2 transaction:t\n" + COMMIT,
     [VOID, ACK]),
    # after UNSUBSCRIBE
    ("a cumulative ACK after UNSUBSCRIBE", "1.2", "", ONE + FIRST + SECOND + THIRD + GONE + A2, [SWEPT, ACK, LEFT]),
    ("a NACK after UNSUBSCRIBE", "1.1", "", EACH + OLD + "> UNSUBSCRIBE id:1\n> NACK message-id:m1 subscription:1\n", [NACK, LEFT]),
    ("a MESSAGE that was under way at UNSUBSCRIBE", "1.2", "", ONE + FIRST + GONE + SECOND + A2, [SWEPT, ACK]),
    # delivered anew
    ("delivered anew after a NACK", "1.2", "", EACH + FIRST + "> NACK id:a1\n" + ANEW + "> ACK id:b1\n", [NACK, ACK]),
    ("delivered anew after a NACK, by the same ack id", "1.2", "", EACH + FIRST + "> NACK id:a1\n" + FIRST + A1, [NACK, ACK]),
    ("delivered anew after a NACK of 1.1", "1.1", "",
     EACH + message("m1") + "> NACK message-id:m1 subscription:1\n" + message("m1") + OLD_ACK, [NACK, ACK]),
    ("delivered anew after a NACK and left", "1.2", "", EACH + FIRST + "> NACK id:a1\n" + ANEW, [NACK, LEFT]),
    ("delivered anew after ABORT: the first copy stays voided", "1.2", "", ONE + FIRST + BEGIN + INSIDE + ABORT + ANEW + SECOND + A2,
     [VOID, SWEPT, ACK]),
    ("delivered anew after ABORT in 1.1, all of them", "1.1", "",
     ONE + OLD + BEGIN + "> ACK message-id:m2 subscription:1 transaction:t\n" + ABORT + OLD + "> ACK message-id:m2 subscription:1\n",
     [VOID_ALONG, VOID, SWEPT, ACK]),
    ("delivered anew after ABORT and acknowledged twice: the second ACK is for nothing", "1.1", "",
     EACH + message("m1") + BEGIN + "> ACK message-id:m1 subscription:1 transaction:t\n" + ABORT + message("m1")
     + "> ACK message-id:m1 subscription:1\n> ACK message-id:m1 subscription:1\n", [VOID, ACK]),
    ("delivered anew to another subscription after UNSUBSCRIBE", "1.1", "",
     EACH + message("m1") + GONE + subscribe(2, "client") + message("m1", 2) + "> ACK message-id:m1 subscription:2\n",
     [LEFT, ACK]),
    ("delivered anew to another subscription, told by message-id alone", "1.0", "",
     EACH + message("m1") + GONE + subscribe(2, "client") + message("m1", 2) + "> ACK message-id:m1\n", [LEFT, ACK]),
    # to several subscriptions
    ("to two subscriptions, by ack id", "1.2", "",
     EACH + subscribe(2) + message("m", 1, ack="x") + message("m", 2, ack="y") + "> ACK id:y\n",
     [LEFT, ACK]),
    ("to two subscriptions, without ack id", "1.2", "", EACH + subscribe(2) + message("m") + message("m", 2) + "> ACK id:m\n> ACK id:m\n",
     [ACK, ACK]),
    ("to two subscriptions, a cumulative ACK of one", "1.1", "",
     ONE + subscribe(2) + message("m") + message("m", 2) + message("n") + message("n", 2) + "> ACK message-id:n subscription:2\n",
     [LEFT, SWEPT, LEFT, ACK]),
    ("to two subscriptions, one of them auto", "1.0", "",
     subscribe(2, "auto") + ONE + message("m", 2) + message("m") + "> ACK message-id:m\n",
     [AUTO, ACK]),
    # ids of subscriptions taken anew
    ("an ACK for the former subscription of the id", "1.2", "",
     ONE + FIRST + SECOND + GONE + ONE + THIRD + A2, [SWEPT, ACK, LEFT]),
    ("a cumulative ACK does not reach the former subscription of the id", "1.2", "",
     ONE + FIRST + SECOND + GONE + ONE + THIRD + A3, [LEFT, LEFT, ACK]),
    ("on RabbitMQ it does", "1.2", RABBITMQ, ONE + FIRST + SECOND + GONE + ONE + THIRD + A3, [SWEPT, SWEPT, ACK]),
    ("a MESSAGE under way belongs to the former subscription of the id", "1.2", "",
     ONE + FIRST + GONE + subscribe(1, "auto", "/queue/b") + SECOND + message("m3", 1, "/queue/b") + A2,
     [SWEPT, ACK, AUTO]),
    ("a destination subscribed to anew in 1.0", "1.0", "",
     "> SUBSCRIBE destination:/q ack:client\n< MESSAGE message-id:m1 destination:/q\n> UNSUBSCRIBE destination:/q\n"
     "> SUBSCRIBE destination:/q ack:client\n< MESSAGE message-id:m2 destination:/q\n> ACK message-id:m2\n", [LEFT, ACK]),
    # what the capture lost
    ("an ACK of a MESSAGE that was lost may have settled those before", "1.2", "", ONE + FIRST + LOST, [UNKNOWN]),
    ("and with it all of the connection on RabbitMQ", "1.2", RABBITMQ, EACH + FIRST + LOST, [UNKNOWN]),
    ("also where it settles no other: octets are missing", "1.2", "", EACH + FIRST + LOST, [UNKNOWN]),
    ("not what came behind it", "1.2", "", ONE + "< GAP 60\n> ACK id:a2\n" + FIRST, [LEFT]),
    ("an ACK of what never was settles nothing", "1.2", "", ONE + FIRST + A2, [LEFT]),
    ("the SUBSCRIBE was lost: the mode is not known", "1.2", "", "> GAP 60\n> EOL\n" + FIRST + SECOND + A2, [UNKNOWN, ACK]),
    ("the UNSUBSCRIBE was lost", "1.2", "", ONE + FIRST + "> GAP 30\n" + ONE + SECOND + A2, [UNKNOWN, ACK]),
]


@pytest.mark.parametrize(("version", "server", "text", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_what_becomes_of_a_delivery(version: str, server: str, text: str, expected: list[tuple[object, ...]]) -> None:
    analysis = analysed(version, server, text)
    assert picked(analysis.tables["deliveries"], "status", "settlement", "settled_by") == expected


def test_one_subscription_may_count_for_the_connection_by_option() -> None:
    text = ONE + subscribe(2, "client", "/queue/b") + FIRST + message("m2", 2, "/queue/b", "a2") + "> NACK id:a2\n"
    found = {scope: analysed("1.2", "", text, options=Options(ack_scope=scope)) for scope in ("subscription", "connection")}
    outcomes = {scope: picked(a.tables["deliveries"], "status", "settlement") for scope, a in found.items()}
    assert outcomes == {"subscription": [LEFT[:2], NACK[:2]], "connection": [NACK[:2], NACK[:2]]}


def test_acks_in_one_packet_have_its_time() -> None:
    text = EACH + """
    @100 < MESSAGE message-id:m1 subscription:1 destination:/queue/a ack:a1
    @110 < MESSAGE message-id:m2 subscription:1 destination:/queue/a ack:a2
    & < MESSAGE message-id:m3 subscription:1 destination:/queue/a ack:a3
    @150 > ACK id:a2
    & > NACK id:a1
    & > ACK id:a3
    """
    analysis = analysed("1.2", "", text)
    assert picked(analysis.tables["deliveries"], "ack_latency_us", "settlement") == [(50_000, "nack"), (40_000, "ack"), (40_000, "ack")]
    d = analysis.dialogue
    offsets = [int(d.offset[i]) for i, name in enumerate(d.column("command").to_pylist()) if name in ("ACK", "NACK")]
    assert picked(analysis.tables["deliveries"], "settle_offset") == [(offsets[1],), (offsets[0],), (offsets[2],)]


def test_latency_of_a_message_in_pieces_and_of_its_acks_in_pieces() -> None:
    text = EACH + """
    @100 < RAW "MESSAGE\\nmessage-id:m1\\nsubscription:1\\nack:a1\\n\\nbody\\x00MESSAGE\\nmessage-id:m2\\n"
    @130 < RAW "subscription:1\\nack:a2\\n\\n\\x00"
    @150 > RAW "ACK\\nid:a1\\n\\n\\x00AC"
    @190 > RAW "K\\nid:a2\\n\\n\\x00"
    """
    rows = analysed("1.2", "", text).tables["deliveries"]
    assert picked(rows, "message_id", "ack_latency_us") == [("m1", 50_000), ("m2", 20_000)]


def test_commit_latency_runs_to_the_commit_of_cumulative_acks_too() -> None:
    text = ONE + FIRST + SECOND + "@100 > BEGIN transaction:t\n@110 > ACK id:a2 transaction:t\n@150 > COMMIT transaction:t\n"
    names = ("settled_by", "transaction", "ack_latency_us", "commit_latency_us")
    assert picked(analysed("1.2", "", text).tables["deliveries"], *names) == [
        ("cumulative", "t", 106_000, 146_000), ("direct", "t", 105_000, 145_000)
    ]


def test_a_subscription_counts_what_becomes_of_its_deliveries() -> None:
    text = EACH + FIRST + SECOND + THIRD + message("m4", ack="a4") + """
    > ACK id:a1
    > NACK id:a2
    > BEGIN transaction:t
    > ACK id:a3 transaction:t
    > ABORT transaction:t
    < MESSAGE message-id:m3 subscription:1 destination:/queue/a ack:b3 redelivered:true
    """
    names = ("delivered", "acked", "nacked", "unsettled", "max_in_flight")
    assert picked(analysed("1.2", "", text).tables["subscriptions"], *names) == [(5, 1, 1, 3, 4)]
