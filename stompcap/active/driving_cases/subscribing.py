"""Subscriptions, and the headers of MESSAGE."""

from __future__ import annotations

from stompcap.active.steps import ABSENT, Case, Expect, Never, Say, frame, opened, subscribed

SEND = Say(frame("SEND", "destination:{queue}", "receipt:r", body=b"x"))
SENT = Expect("RECEIPT", {"receipt-id": "r"}, needed=True)
MESSAGE, SUBSCRIBE = "1.2 MESSAGE", "1.2 SUBSCRIBE"

CASES = (
    Case(
        "message-headers", ("MS-02", "MS-01", "MS-04"), "MUST", "MESSAGE has destination, message-id and subscription", MESSAGE,
        (*opened(), *subscribed(), SEND, Expect("MESSAGE", has={"destination": None, "message-id": None, "subscription": "s1"})),
    ),
    Case(
        "ack-header", ("MS-05",), "MUST", "MESSAGE has ack where the client must acknowledge", MESSAGE,
        (*opened(), *subscribed(ack="client"), SEND, Expect("MESSAGE", has={"ack": None})),
    ),
    Case(
        "no-ack-header-in-auto", ("MS-07",), "INFO", "In mode auto MESSAGE has no ack", MESSAGE,
        (*opened(), *subscribed(), SEND, Expect("MESSAGE", has={"ack": ABSENT})),
    ),
    Case(
        "subscription-id-with-escapes", ("MS-04",), "MUST", "Subscription repeats the id, whatever characters it has", MESSAGE,
        (
            *opened(), Say(frame("SUBSCRIBE", r"id:a\cb\\c", "destination:{queue}", "receipt:sub")), Expect("RECEIPT", needed=True),
            SEND, Expect("MESSAGE", has={"subscription": "a:b\\c"}),
        ),
    ),
    Case(
        "subscribe-without-id", ("SB-05", "SB-02"), "SHOULD", "A SUBSCRIBE without id is answered by ERROR", SUBSCRIBE,
        (*opened(), Say(frame("SUBSCRIBE", "destination:{queue}", "receipt:r")), Expect("ERROR")),
    ),
    Case(
        "subscribe-without-destination", ("SB-05", "SB-01"), "MUST", "A SUBSCRIBE without destination is answered by ERROR, then a close",
        SUBSCRIBE, (*opened(), Say(frame("SUBSCRIBE", "id:s", "receipt:r")), Expect("ERROR"), Expect("CLOSE", patience=3)),
    ),
    Case(
        "unknown-ack-mode", ("SB-05", "SB-04"), "SHOULD", "An ack mode that does not exist is answered by ERROR", SUBSCRIBE,
        (*opened(), Say(frame("SUBSCRIBE", "id:s", "destination:{queue}", "ack:sometimes", "receipt:r")), Expect("ERROR")),
    ),
    Case(
        "nothing-behind-unsubscribe", ("SB-08",), "MUST", "No MESSAGE comes once UNSUBSCRIBE is processed", "1.2 UNSUBSCRIBE",
        (
            *opened(), *subscribed(), Say(frame("UNSUBSCRIBE", "id:s1", "receipt:u")), Expect("RECEIPT", {"receipt-id": "u"}, needed=True),
            SEND, SENT, Never("MESSAGE"),
        ),
    ),
    Case(
        "two-subscriptions", ("MS-04",), "MUST", "Each of two subscriptions has the messages of its own destination", MESSAGE,
        (
            *opened(), *subscribed(), Say(frame("SUBSCRIBE", "id:s2", "destination:{queue}.b", "receipt:sub2")),
            Expect("RECEIPT", {"receipt-id": "sub2"}, needed=True),
            Say(frame("SEND", "destination:{queue}.b", body=b"b")), Say(frame("SEND", "destination:{queue}", body=b"a")),
            Expect("MESSAGE", {"subscription": "s2"}, body=b"b"), Expect("MESSAGE", {"subscription": "s1"}, body=b"a"),
        ),
    ),
)  # fmt: skip
