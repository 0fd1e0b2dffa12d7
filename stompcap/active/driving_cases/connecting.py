"""Connecting: versions, refusals, STOMP instead of CONNECT."""

from __future__ import annotations

from stompcap.active.steps import ABSENT, Case, Expect, Say, connect, frame

NEGOTIATION, CONNECTING = "1.2 Protocol Negotiation", "1.2 CONNECT or STOMP Frame"

CASES = (
    Case(
        "connect-1.2", ("CN-09", "CN-09b"), "MUST", "A client that offers 1.2 alone gets 1.2, and CONNECTED says so", NEGOTIATION,
        (Say(connect("1.2")), Expect("CONNECTED", has={"version": "1.2"})),
    ),
    Case(
        "connect-1.1", ("CN-09b", "CN-09"), "MUST", "A client that offers 1.1 alone gets 1.1, or an ERROR", NEGOTIATION,
        (Say(connect("1.1")), Expect("CONNECTED|ERROR"),), "1.1",
    ),
    Case(
        "connect-1.0", ("CN-09b",), "MUST", "A client without accept-version is one of 1.0", NEGOTIATION,
        (Say(frame("CONNECT", "host:{host}", "login:{login}", "passcode:{passcode}")), Expect("CONNECTED|ERROR", has={"ack": ABSENT})),
        "1.0",
    ),
    Case(
        "highest-version", ("CN-10",), "MUST", "Of 1.0, 1.1 and 1.2 the highest that both sides have is chosen: 1.2", NEGOTIATION,
        (Say(connect("1.0,1.1,1.2")), Expect("CONNECTED", has={"version": "1.2"})),
    ),
    Case(
        "versions-in-any-order", ("CN-10", "CN-03"), "MUST", "The highest version counts, not the first one listed", NEGOTIATION,
        (Say(connect("1.2,1.0,1.1")), Expect("CONNECTED", has={"version": "1.2"})),
    ),
    Case(
        "version-of-the-future", ("CN-09b", "CN-10"), "MUST", "A version that does not exist yet is passed over", NEGOTIATION,
        (Say(connect("1.2,9.9")), Expect("CONNECTED", has={"version": "1.2"})),
    ),
    Case(
        "no-common-version", ("CN-11",), "MUST", "Without a common version the server says ERROR and closes", NEGOTIATION,
        (Say(connect("9.9")), Expect("ERROR"), Expect("CLOSE", patience=8)),
    ),
    Case(
        "stomp-frame", ("CN-13",), "MUST", "STOMP is treated as CONNECT", CONNECTING,
        (Say(connect(command="STOMP")), Expect("CONNECTED", has={"version": "1.2"})),
    ),
    Case(
        "unknown-connect-header", ("CN-13",), "MUST", "Headers of CONNECT that a server does not know are passed over", CONNECTING,
        (Say(connect("1.2", "x-unknown:1", "user-agent:a:b")), Expect("CONNECTED")),
    ),
    Case(
        "wrong-passcode", ("CN-12", "ER-01"), "SHOULD", "A CONNECT refused is answered by ERROR, then a close", "1.2 Connecting",
        (
            Say(frame("CONNECT", "accept-version:1.2", "host:{host}", "login:nobody", "passcode:wrong")),
            Expect("ERROR", has={"message": None}, spare="CONNECTED"), Expect("CLOSE", patience=8),
        ),
    ),
    Case(
        "send-before-connect", ("FR-14",), "INFO", "A first frame that is not CONNECT is answered by ERROR or a close", "1.2 Connecting",
        (Say(frame("SEND", "destination:{queue}", "receipt:r", body=b"x")), Expect("ERROR|CLOSE")),
    ),
)  # fmt: skip
