"""Transactions: committed, aborted, unknown."""

from __future__ import annotations

from stompcap.active.driving_cases.acknowledging import again
from stompcap.active.steps import Case, Expect, Never, Say, Step, frame, opened, subscribed

BEGIN = Say(frame("BEGIN", "transaction:t"))
SEND = Say(frame("SEND", "destination:{queue}", "transaction:t", body=b"x"))


def ended(command: str) -> tuple[Step, ...]:
    """COMMIT or ABORT, and its receipt."""
    return Say(frame(command, "transaction:t", "receipt:e")), Expect("RECEIPT", {"receipt-id": "e"}, needed=True)


CASES = (
    Case(
        "commit", ("SN-02", "TX-04"), "MUST", "What was sent in a transaction is delivered by COMMIT, and not before", "1.2 BEGIN",
        (*opened(), *subscribed(), BEGIN, SEND, Never("MESSAGE"), *ended("COMMIT"), Expect("MESSAGE", body=b"x")),
    ),
    Case(
        "abort", ("TX-04",), "MUST", "What was sent in a transaction that is aborted is never delivered", "1.2 ABORT",
        (*opened(), *subscribed(), BEGIN, SEND, *ended("ABORT"), Never("MESSAGE")),
    ),
    Case(
        "gone-without-commit", ("TX-07",), "MUST", "A transaction that is open when the connection ends is aborted", "1.2 BEGIN",
        (*opened(), BEGIN, SEND, Say(frame("SEND", "destination:{queue}.other", "receipt:o", body=b"y")), Expect("RECEIPT", needed=True),
         *again(), Never("MESSAGE")),
    ),
    Case(
        "ack-aborted", ("TX-05",), "SHOULD", "An ACK in a transaction that is aborted settles nothing", "1.2 ACK",
        (
            *opened(), *subscribed(ack="client-individual"), Say(frame("SEND", "destination:{queue}", body=b"m1")),
            Expect("MESSAGE", keep={"ack": "ack"}, needed=True), BEGIN, Say(frame("ACK", "id:{ack}", "transaction:t")), *ended("ABORT"),
            *again(), Expect("MESSAGE", body=b"m1", patience=2),
        ),
    ),
    Case(
        "commit-unknown", ("TX-04", "ER-02"), "SHOULD", "COMMIT of a transaction that is not open is answered by ERROR", "1.2 ERROR",
        (*opened(), Say(frame("COMMIT", "transaction:none", "receipt:e")), Expect("ERROR")),
    ),
    Case(
        "begin-twice", ("TX-03",), "INFO", "A second BEGIN of an open transaction is answered by ERROR", "1.2 BEGIN",
        (*opened(), BEGIN, Say(frame("BEGIN", "transaction:t", "receipt:b")), Expect("ERROR")),
    ),
)  # fmt: skip
