"""What is told of deliveries where octets are missing between them and what settled them: stompcap.session.deliveries.status."""

from __future__ import annotations

import pytest

from stompcap.session import Options
from tests.session.delivered import (
    A1,
    A2,
    ABORT,
    ANEW,
    BEGIN,
    COMMIT,
    EACH,
    FIRST,
    INSIDE,
    LEFT,
    OLD_ACK,
    ONE,
    RABBITMQ,
    SECOND,
    THIRD,
    UNKNOWN,
    analysed,
    dialogue,
    message,
)
from tests.session.pieces import differences, resumed, staggered, whole
from tests.session.transcript import made, picked


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        ("", [3_000, 2_000]),
        ("> GAP 30\n", [None, 3_000]),  # an ACK of the first alone may have been lost
        ("< GAP 60\n> ACK id:lost\n< EOL\n", [None, 5_000]),  # or one of a MESSAGE that was
    ],
)
def test_a_cumulative_ack_tells_nothing_where_an_earlier_one_may_be_lost(between: str, expected: list[int | None]) -> None:
    rows = analysed("1.2", "", ONE + FIRST + SECOND + between + "> EOL\n> ACK id:a2\n").tables["deliveries"]
    names = ("status", "settled_by", "ack_latency_us", "octets_missing")
    assert picked(rows, *names) == [
        ("unknown", None, None, None) if latency is None else ("settled", by, latency, bool(between))
        for by, latency in zip(("cumulative", "direct"), expected, strict=True)
    ]


SILENT = "< GAP 60\n< EOL\n"  # a MESSAGE may be missing
GAP, TAKEN_UP = "> GAP 30\n> EOL\n", "< GAP 60\n> ACK id:lost\n< EOL\n"
ALONG, SURE, MARKED = ("settled", "cumulative", False), ("settled", "direct", False), ("settled", "direct", True)
HOLES = [
    # where octets are missing; of each MESSAGE: status, settled_by, whether octets are missing before what settled it
    ("nowhere", ONE + FIRST + SECOND + A2, [ALONG, SURE]),
    ("before and behind, not between", ONE + GAP + FIRST + SECOND + A2 + GAP, [ALONG, SURE]),
    ("between the first and the second", ONE + FIRST + GAP + SECOND + A2, [UNKNOWN, SURE]),
    ("between", ONE + FIRST + SECOND + GAP + A2, [UNKNOWN, MARKED]),
    ("in front of the ACK, in its packet", EACH + FIRST + "> GAP 30\n" + A1, [MARKED]),
    ("between, a NACK", EACH + FIRST + GAP + "> NACK id:a1\n", [MARKED]),
    ("of the server only", ONE + FIRST + SECOND + "< GAP 60\n< EOL\n" + A2, [UNKNOWN, MARKED]),
    ("of the server, and what was lost is acknowledged", ONE + FIRST + SECOND + TAKEN_UP + A2, [UNKNOWN, MARKED]),
    ("so, before the second", ONE + FIRST + TAKEN_UP + SECOND + A2, [UNKNOWN, SURE]),
    ("so, where that settles nothing else", EACH + FIRST + TAKEN_UP + A1, [MARKED]),
    ("before the ACK in a transaction", EACH + FIRST + GAP + BEGIN + INSIDE + COMMIT, [MARKED]),
    ("before its COMMIT", EACH + FIRST + BEGIN + INSIDE + GAP + COMMIT, [MARKED]),
    ("behind its COMMIT", EACH + FIRST + BEGIN + INSIDE + COMMIT + GAP, [SURE]),
    ("before a cumulative ACK in a transaction", ONE + FIRST + SECOND + GAP + BEGIN + "> ACK id:a2 transaction:t\n" + COMMIT,
     [UNKNOWN, MARKED]),
    ("before its ABORT", EACH + FIRST + BEGIN + INSIDE + GAP + ABORT, [UNKNOWN]),
    ("behind its ABORT", EACH + FIRST + BEGIN + INSIDE + ABORT + GAP, [UNKNOWN]),
    ("instead of its end", EACH + FIRST + BEGIN + INSIDE + GAP, [UNKNOWN]),
    ("before an ACK behind its ABORT", EACH + FIRST + BEGIN + INSIDE + ABORT + GAP + A1, [UNKNOWN]),
    ("before a redelivery, a cumulative ACK aborted", ONE + FIRST + SECOND + GAP + BEGIN + "> ACK id:a2 transaction:t\n" + ABORT + ANEW,
     [UNKNOWN, UNKNOWN, LEFT]),
    ("before nothing", EACH + FIRST + GAP, [UNKNOWN]),
]


@pytest.mark.parametrize(("text", "expected"), [c[1:] for c in HOLES], ids=[c[0] for c in HOLES])
def test_what_is_told_where_octets_are_missing(text: str, expected: list[tuple[object, ...]]) -> None:
    rows = analysed("1.2", "", text).tables["deliveries"]
    assert picked(rows, "status", "settled_by", "octets_missing") == expected
    for row in rows.to_pylist():
        no_frame = row["settled_by"] is None
        names = ("settlement", "settled_ns", "settle_offset", "octets_missing")
        assert [row[name] is None for name in names] == [no_frame] * 4
        assert (row["ack_latency_us"] is None) == (no_frame or row["status"] == "unknown")
        assert not no_frame or row["transaction"] is row["transaction_outcome"] is row["commit_latency_us"] is None


REFUSE, STRANGE = "> NACK id:a1\n", "> NACK id:lost\n"
BACK = ("settled", "direct", False)
COPIES = [
    # a server delivers anew by the same name, and the capture lost why; of each MESSAGE: status, settled_by, octets_missing
    ("nothing is missing", EACH + FIRST + FIRST + A1, [BACK, LEFT]),
    ("the NACK may be missing", EACH + FIRST + GAP + FIRST + A1, [UNKNOWN, UNKNOWN]),
    ("and nothing comes of it", EACH + FIRST + GAP + FIRST, [UNKNOWN, UNKNOWN]),
    ("missing before and behind, not between", EACH + GAP + FIRST + FIRST + A1 + GAP, [BACK, UNKNOWN]),
    ("settled before the gap", EACH + FIRST + REFUSE + GAP + FIRST + A1, [BACK, BACK]),
    ("a third, before the second is settled", EACH + FIRST + GAP + FIRST + A1 + FIRST + A1, [UNKNOWN, UNKNOWN, UNKNOWN]),
    ("a third, when both are", EACH + FIRST + GAP + FIRST + A1 + A1 + FIRST + A1, [UNKNOWN, UNKNOWN, BACK]),
    ("of another name", EACH + FIRST + GAP + SECOND + A1 + A2, [("settled", "direct", True), BACK]),
    ("the later one may have been meant: it reaches further", ONE + FIRST + GAP + SECOND + FIRST + A1, [UNKNOWN, UNKNOWN, UNKNOWN]),
    ("aborted, and the ABORT may be missing", EACH + FIRST + BEGIN + INSIDE + GAP + FIRST + A1, [UNKNOWN, BACK]),
    ("the transaction that was aborted may be missing", EACH + FIRST + GAP + ABORT + FIRST + A1, [UNKNOWN, UNKNOWN]),
    ("the copy is missing: its ACK may settle others", ONE + SECOND + FIRST + REFUSE + THIRD + "< GAP 60\n< EOL\n" + A1,
     [("settled", "cumulative", False), BACK, UNKNOWN]),
    ("the copy is missing, behind an ABORT", EACH + FIRST + BEGIN + INSIDE + ABORT + "< GAP 60\n< EOL\n" + A1, [UNKNOWN]),
    ("missing before it was delivered", EACH + "< GAP 60\n< EOL\n" + FIRST + BEGIN + INSIDE + ABORT + A1, [BACK]),
    ("so, and the ACK of it may settle others", ONE + FIRST + BEGIN + INSIDE + ABORT + SECOND + SILENT + A1, [UNKNOWN, UNKNOWN]),
    ("so, at the end of the session", ONE + FIRST + BEGIN + INSIDE + ABORT + SECOND + A1 + "< GAP 60\n", [UNKNOWN, UNKNOWN]),
    ("nothing is missing of the server", ONE + FIRST + BEGIN + INSIDE + ABORT + SECOND + A1, [BACK, LEFT]),
    ("something may have been given back", ONE + FIRST + SECOND + SILENT + A1, [MARKED, UNKNOWN]),
    ("what gave it back may be missing, and then the copy", ONE + FIRST + GAP + SECOND + SILENT + A1, [MARKED, UNKNOWN]),
    ("not the copy", ONE + FIRST + GAP + SECOND + A1, [MARKED, LEFT]),
    ("what refused it seems to have settled it along", ONE + FIRST + SECOND + "> NACK id:a2\n" + THIRD + SILENT + A1,
     [("settled", "cumulative", False), BACK, UNKNOWN]),
    ("what refused it refused what is missing", ONE + FIRST + SILENT + STRANGE + SECOND + SILENT + A1, [MARKED, UNKNOWN]),
    ("and so on", ONE + FIRST + GAP + SECOND + SILENT + "> NACK id:a1\n" + THIRD + SILENT + A2 + message("m4", ack="a4"),
     [MARKED, MARKED, UNKNOWN, LEFT]),
    ("the copy may need no ACK", EACH + FIRST + BEGIN + INSIDE + ABORT + message("m1", 9, ack="a1") + A1, [UNKNOWN, UNKNOWN]),
    ("the first may have been settled along: its mode is not known",
     EACH + message("m1", 9, ack="a1") + message("m2", 9, ack="a2") + A2 + FIRST + A1, [UNKNOWN, BACK, UNKNOWN]),
    ("replaced, and refused perhaps before", EACH + FIRST + BEGIN + INSIDE + ABORT + GAP + FIRST, [UNKNOWN, LEFT]),
    ("it may have been missing before, though it shows behind", EACH + FIRST + BEGIN + INSIDE + ABORT + FIRST + GAP, [UNKNOWN, UNKNOWN]),
    ("the ABORT came behind what is missing", EACH + FIRST + BEGIN + INSIDE + GAP + ABORT + FIRST, [UNKNOWN, LEFT]),
    ("the copy came before it", EACH + FIRST + BEGIN + INSIDE + ABORT + FIRST + "> EOL\n" + GAP, [("voided", "direct", False), UNKNOWN]),
    ("replaced, and refused along with what is missing",
     ONE + FIRST + BEGIN + INSIDE + ABORT + SILENT + STRANGE + FIRST, [UNKNOWN, LEFT]),
    ("refused behind the copy", ONE + FIRST + BEGIN + INSIDE + ABORT + FIRST + SILENT + STRANGE,
     [("voided", "direct", False), UNKNOWN]),
]


@pytest.mark.parametrize(("text", "expected"), [c[1:] for c in COPIES], ids=[c[0] for c in COPIES])
def test_which_copy_an_ack_means_is_not_told_where_it_is_not_known(text: str, expected: list[tuple[object, ...]]) -> None:
    rows = analysed("1.2", "", text).tables["deliveries"]
    assert picked(rows, "status", "settled_by", "octets_missing") == expected


def test_so_it_is_by_message_id() -> None:
    for first, second in (("", ""), ("x", "y")):  # what a version does not use means nothing
        rows = analysed("1.1", "", EACH + message("m1", ack=first) + GAP + message("m1", ack=second) + OLD_ACK).tables["deliveries"]
        assert picked(rows, "status") == [("unknown",), ("unknown",)]


def test_what_was_refused_before_octets_are_missing_is_no_copy_of_what_comes() -> None:
    refused = "> NACK message-id:m1 subscription:1\n"
    rows = analysed("1.1", "", EACH + message("m1") + refused + GAP + message("m1") + OLD_ACK).tables["deliveries"]
    assert picked(rows, "status", "settlement") == [("settled", "nack"), ("settled", "ack")]


@pytest.mark.slow
def test_a_settled_delivery_waits_for_the_gap_that_makes_it_doubtful() -> None:
    """A MESSAGE is lost, the ACK of it is not; a piece ends before the server is heard again, by which the loss shows."""
    text = dialogue("1.2", "", ONE + FIRST + SECOND + TAKEN_UP.removesuffix("< EOL\n") + A2 + "> EOL\n" * 9 + "< EOL\n")
    sessions = staggered(made(text), 21)
    for memory in (2, 65_536):
        options = Options(retention=memory)
        first = "settled" if memory == 2 else "unknown"  # what shows later than that is not known
        assert whole(sessions, options)["deliveries"]["status"].to_pylist() == [first, "settled"] * 21
        assert differences(whole(sessions, options), resumed(sessions, [22], options)) == []


def test_on_rabbitmq_the_ack_of_a_lost_message_reaches_over_the_connection() -> None:
    rows = analysed("1.2", RABBITMQ, EACH + FIRST + TAKEN_UP + A1).tables["deliveries"]
    assert picked(rows, "status", "octets_missing") == [("settled", True)]


def test_nothing_is_counted_as_settled_that_may_not_be() -> None:
    rows = analysed("1.2", "", ONE + FIRST + GAP + SECOND + A2).tables["subscriptions"]
    assert picked(rows, "delivered", "acked", "nacked", "unsettled") == [(2, 1, 0, 0)]
