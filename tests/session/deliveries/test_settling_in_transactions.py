"""Deliveries that are settled in transactions: committed, aborted and settled again, or left."""

from __future__ import annotations

from tests.session.subscribed import CUMULATIVE, DIRECT, END, OPEN_11, OPEN_12, outcomes, subscribed
from tests.session.transcript import picked, run


def test_transactions_settle_at_their_commit() -> None:
    text = subscribed(OPEN_12, "client-individual", 4) + """
    @100 > BEGIN transaction:t
    @110 > ACK id:a1 transaction:t
    @120 > NACK id:a2 transaction:t
    @150 > COMMIT transaction:t
    > BEGIN transaction:u
    > ACK id:a3 transaction:u
    > ABORT transaction:u
    > BEGIN transaction:v
    > ACK id:a4 transaction:v
    """
    names = ("status", "settlement", "transaction", "transaction_outcome", "commit_latency_us")
    open_ended = picked(run(text.replace("{server}", "")).tables["deliveries"], *names)
    closed = picked(run((text + END).replace("{server}", "")).tables["deliveries"], *names)
    assert open_ended[0] == ("settled", "ack", "t", "committed", 150_000 - 4_000)
    assert open_ended[1] == ("settled", "nack", "t", "committed", 150_000 - 5_000)
    assert open_ended[2] == ("voided", "ack", "u", "aborted", None)
    assert open_ended[3] == ("open", "ack", "v", "open", None)
    assert closed[:3] == open_ended[:3]
    assert closed[3] == ("voided", "ack", "v", "implicitly_aborted", None)


def test_what_an_aborted_transaction_had_settled_may_be_settled_again() -> None:
    text = subscribed(OPEN_12, "client", 3) + """
    > BEGIN transaction:t
    > ACK id:a2 transaction:t
    > ABORT transaction:t
    > ACK id:a3
    """ + END
    assert [x[1:] for x in outcomes(text)] == [CUMULATIVE, CUMULATIVE, DIRECT]


def test_after_an_abort_the_redelivery_is_acknowledged_not_the_first_copy() -> None:
    text = subscribed(OPEN_11, "client-individual", 1) + """
    > BEGIN transaction:t
    > ACK message-id:m1 subscription:1 transaction:t
    > ABORT transaction:t
    < MESSAGE message-id:m1 subscription:1 destination:/queue/a redelivered:true
    > ACK message-id:m1 subscription:1
    """ + END
    assert [x[1] for x in outcomes(text)] == ["voided", "settled"]


def test_an_aborted_delivery_is_found_behind_some_of_its_name() -> None:
    text = OPEN_12.replace("{server}", "") + "> SUBSCRIBE id:1 destination:/a ack:client-individual\n"
    text += "< MESSAGE message-id:m ack:m subscription:1 destination:/a\n" * 61
    text += "> ACK id:m transaction:t\n" * 60 + "> ACK id:m transaction:u\n> ABORT transaction:u\n> ACK id:m\n"
    assert outcomes(text)[-1][1:] == DIRECT


def test_cumulative_acks_in_one_transaction_keep_to_it() -> None:
    text = subscribed(OPEN_12, "client", 4) + """
    > BEGIN transaction:t
    > ACK id:a2 transaction:t
    > ACK id:a4 transaction:t
    > COMMIT transaction:t
    """ + END
    assert [x[1:] for x in outcomes(text)] == [CUMULATIVE, DIRECT, CUMULATIVE, DIRECT]


def test_what_one_transaction_gives_back_another_that_goes_on_does_not_hide() -> None:
    text = subscribed(OPEN_12, "client", 3) + """
    > BEGIN transaction:t
    > ACK id:a1 transaction:t
    > BEGIN transaction:u
    > ACK id:a2 transaction:u
    > ABORT transaction:t
    > ACK id:a3
    > COMMIT transaction:u
    """ + END
    assert [x[1:] for x in outcomes(text)] == [CUMULATIVE, DIRECT, DIRECT]
