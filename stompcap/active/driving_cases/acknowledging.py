"""ACK and NACK: what they settle, and what comes again."""

from __future__ import annotations

from stompcap.active.steps import CONNECTED, Case, Expect, Never, Reconnect, Say, Step, connect, frame, opened, subscribed

ACK, SUBSCRIBE = "1.2 ACK", "1.2 SUBSCRIBE"


def three() -> tuple[Step, ...]:
    """Three messages, sent and come."""
    return (
        *(Say(frame("SEND", "destination:{queue}", body=body)) for body in (b"m1", b"m2", b"m3")),
        *(Expect("MESSAGE", keep={f"ack{number}": "ack"}, needed=True) for number in (1, 2, 3)),
    )


def again() -> tuple[Step, ...]:
    """The client goes without a word, comes back and subscribes again."""
    return Reconnect(connect()), CONNECTED, *subscribed(ack="client-individual")


def settled(command: str, name: str) -> tuple[Step, ...]:
    """An ACK or NACK, and its receipt."""
    return Say(frame(command, f"id:{{{name}}}", "receipt:k")), Expect("RECEIPT", {"receipt-id": "k"})


CASES = (
    Case(
        "individual-ack", ("AK-12",), "MUST", "An ACK in mode client-individual settles no other message", SUBSCRIBE,
        (
            *opened(), *subscribed(ack="client-individual"), *three(), *settled("ACK", "ack2"), *again(),
            Expect("MESSAGE", body=b"m1", patience=2), Expect("MESSAGE", body=b"m3"), Never("MESSAGE"),
        ),
    ),
    Case(
        "cumulative-ack", ("AK-09",), "MUST", "An ACK in mode client settles all messages before it too", SUBSCRIBE,
        (
            *opened(), *subscribed(ack="client"), *three(), *settled("ACK", "ack2"), *again(),
            Expect("MESSAGE", body=b"m3", patience=2), Never("MESSAGE"),
        ),
    ),
    Case(
        "unacknowledged-comes-again", ("MS-09", "AK-09"), "SHOULD", "What was not acknowledged is delivered again", SUBSCRIBE,
        (
            *opened(), *subscribed(ack="client"), *three(), *again(),
            Expect("MESSAGE", body=b"m1", patience=2), Expect("MESSAGE", body=b"m2"), Expect("MESSAGE", body=b"m3"),
        ),
    ),
    Case(
        "acknowledged-stays-settled", ("AK-13",), "INFO", "A message acknowledged is not delivered again", ACK,
        (
            *opened(), *subscribed(ack="client-individual"), *three(),
            *settled("ACK", "ack1"), *settled("ACK", "ack2"), *settled("ACK", "ack3"), *again(), Never("MESSAGE"),
        ),
    ),
    Case(
        "nack", ("RC-03", "AK-03"), "MUST", "NACK is a frame of 1.2 and no error", "1.2 NACK",
        (*opened(), *subscribed(ack="client-individual"), *three(), *settled("NACK", "ack2")),
    ),
    Case(
        "ack-in-mode-auto-is-implied", ("AK-06",), "MUST", "In mode auto a message counts as acknowledged once it is sent", SUBSCRIBE,
        (
            *opened(), *subscribed(), Say(frame("SEND", "destination:{queue}", body=b"m1")), Expect("MESSAGE", needed=True), *again(),
            Never("MESSAGE"),
        ),
    ),
    Case(
        "unknown-ack", ("AK-04",), "INFO", "An ACK that names no message is answered by ERROR", "1.2 ERROR",
        (*opened(), *subscribed(ack="client"), Say(frame("ACK", "id:none", "receipt:k")), Expect("ERROR")),
    ),
)  # fmt: skip
