"""How the cases of a scripted broker begin: the client connects, subscribes, and echoes a first message."""

from __future__ import annotations

from collections.abc import Mapping

from stompcap.active.echo import ECHO
from stompcap.active.steps import Expect, Say, Speaks, Step, frame

CONNECT = Expect("CONNECT|STOMP", keep={"offers": "accept-version"}, needed=True, patience=5)
SUBSCRIBE = Expect("SUBSCRIBE", keep={"sub": "id", "queue": "destination"}, needed=True)


def message(name: str, *lines: str, body: bytes = b"", length: bool = True, eol: str = "\n") -> bytes:
    """A MESSAGE for the client's subscription; content-length where there is a body, unless `length` is false."""
    own = ("subscription:{sub}", f"message-id:{name}", f"ack:{name}", "destination:{queue}")
    return frame("MESSAGE", *own, *lines, *[f"content-length:{len(body)}"] * (bool(body) and length), body=body, eol=eol)


def echoed(body: bytes, has: Mapping[str, str | None] | None = None, *, needed: bool = False, patience: float = 1) -> Expect:
    """The client sends back what it got."""
    return Expect("SEND", {"destination": ECHO}, has or {}, body, needed=needed, patience=patience)


def ready() -> tuple[Step, ...]:
    """The start of a case about something else, in 1.2."""
    return CONNECT, SUBSCRIBE, Speaks("1.2"), Say(message("m0", body=b"hello")), echoed(b"hello", needed=True), Expect("ACK", needed=True)
