"""SEND: headers that reach the receivers, and what cannot be processed."""

from __future__ import annotations

from stompcap.active.steps import Case, Expect, Say, frame, opened, subscribed

BAD = frame("SEND", "receipt:bad", body=b"to nobody")

CASES = (
    Case(
        "users-headers", ("SN-03",), "MUST", "Headers of the user's reach the receivers", "1.2 SEND",
        (
            *opened(), *subscribed(), Say(frame("SEND", "destination:{queue}", "colour:red", "X-Number:17", body=b"x")),
            Expect("MESSAGE", has={"colour": "red", "X-Number": "17"}),
        ),
    ),
    Case(
        "content-type", ("SN-03",), "MUST", "The content-type of a SEND reaches the receivers", "1.2 Header content-type",
        (
            *opened(), *subscribed(), Say(frame("SEND", "destination:{queue}", "content-type:application/json", body=b"{}")),
            Expect("MESSAGE", has={"content-type": "application/json"}),
        ),
    ),
    Case(
        "same-destination", ("SN-04", "MS-01"), "SHOULD", "A MESSAGE's destination is that of its SEND", "1.2 MESSAGE",
        (
            *opened(), *subscribed(), Say(frame("SEND", "destination:{queue}", body=b"x")),
            Expect("MESSAGE", has={"destination": "{queue}"}),
        ),
    ),
    Case(
        "bad-send", ("SN-05", "ER-02"), "MUST", "A SEND without destination is answered by ERROR, then a close", "1.2 SEND",
        (*opened(), Say(BAD), Expect("ERROR"), Expect("CLOSE", patience=3)),
    ),
    Case(
        "error-names-the-receipt", ("ER-04",), "SHOULD", "An ERROR over a frame with a receipt has its receipt-id", "1.2 ERROR",
        (*opened(), Say(BAD), Expect("ERROR", has={"receipt-id": "bad"})),
    ),
    Case(
        "error-has-a-message", ("ER-01",), "SHOULD", "ERROR has a message", "1.2 ERROR",
        (*opened(), Say(BAD), Expect("ERROR", has={"message": None})),
    ),
    Case(
        "unknown-transaction", ("SN-05", "SN-02"), "SHOULD", "A SEND in a transaction that is not open is answered by ERROR", "1.2 SEND",
        (*opened(), Say(frame("SEND", "destination:{queue}", "transaction:none", "receipt:r", body=b"x")), Expect("ERROR")),
    ),
)  # fmt: skip
