"""Connecting: what a client says, and what it makes of CONNECTED."""

from __future__ import annotations

from stompcap.active.serving_cases.shared import CONNECT, SUBSCRIBE, echoed, message
from stompcap.active.steps import Case, Expect, Offers, Say, Step

NEGOTIATION = "1.2 Protocol Negotiation"


def first(**has: str | None) -> tuple[Step, ...]:
    """The client's first frame has these headers."""
    named = {name.replace("_", "-"): value for name, value in has.items()}
    return (Expect("CONNECT|STOMP", has=named, patience=5),)


CASES = (
    Case("accept-version", ("CN-01",), "MUST", "CONNECT has accept-version", NEGOTIATION, first(accept_version=None)),
    Case("host", ("CN-02",), "MUST", "A client that offers 1.1 or later sends host", "1.2 CONNECT or STOMP Frame", first(host=None)),
    Case(
        "connect-not-stomp", ("CN-05",), "SHOULD", "A client says CONNECT rather than STOMP", "1.2 CONNECT or STOMP Frame",
        (Expect("CONNECT"),),
    ),
    Case(
        "unknown-connected-headers", ("CN-09",), "MUST", "Headers of CONNECTED that a client does not know are passed over", NEGOTIATION,
        (CONNECT, Expect("SUBSCRIBE")),
        connected=("version:1.2", "x-unknown:1", "server:made-up/1.0 (a b)", "session:a:b", "heart-beat:0,0"),
    ),
    Case(
        "version-not-offered", ("CN-09b",), "INFO", "A client whose server chose a version that it did not offer goes", NEGOTIATION,
        (CONNECT, Expect("CLOSE|DISCONNECT")), connected=("version:9.9", "heart-beat:0,0"),
    ),
    Case(
        "connected-without-version", ("CN-09",), "SHOULD", "CONNECTED without version is one of 1.0: the client goes on with 1.0, or goes",
        NEGOTIATION, (CONNECT, Expect("SUBSCRIBE|CLOSE|DISCONNECT")), "1.0", ("session:1",),
    ),
    Case(
        "down-to-1.1", ("AK-02", "SB-02"), "MUST", "A server of 1.1 gets frames of 1.1: ACK has message-id and subscription", "1.1 ACK",
        (
            CONNECT, Offers("1.1"), SUBSCRIBE, Say(message("m1", body=b"hello").replace(b"ack:m1\n", b"")), echoed(b"hello", needed=True),
            Expect("ACK", has={"message-id": "m1", "subscription": "{sub}"}),
        ),
        "1.1", ("version:1.1", "heart-beat:0,0"),
    ),
)  # fmt: skip
