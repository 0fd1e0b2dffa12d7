"""The headers of each command that a line of a dialogue shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CONNECTING = ("accept-version", "host", "login", "heart-beat")
SETTLING = ("id", "message-id", "subscription", "transaction", "receipt")
LINE_HEADERS = {
    "CONNECT": CONNECTING,
    "STOMP": CONNECTING,
    "CONNECTED": ("version", "server", "session", "heart-beat"),
    "SEND": ("destination", "transaction", "receipt", "reply-to", "correlation-id"),
    "SUBSCRIBE": ("id", "destination", "ack", "selector", "prefetch-count", "receipt"),
    "UNSUBSCRIBE": ("id", "destination", "receipt"),
    "MESSAGE": ("subscription", "destination", "message-id", "ack", "redelivered"),
    "ACK": SETTLING,
    "NACK": SETTLING,
    "BEGIN": ("transaction", "receipt"),
    "COMMIT": ("transaction", "receipt"),
    "ABORT": ("transaction", "receipt"),
    "DISCONNECT": ("receipt",),
    "RECEIPT": ("receipt-id",),
    "ERROR": ("message", "receipt-id"),
}


def selected(frame: Mapping[str, Any], *, every: bool) -> list[tuple[str, str | None]]:
    """The header lines of a frame to be shown, in the order of the command's list; all lines if asked for, or for another command."""
    lines = [(str(one["name"]), one["value"]) for one in frame["headers"] or ()]
    names = LINE_HEADERS.get(frame["command"] or "")
    if every or names is None:
        return lines
    return sorted((line for line in lines if line[0].strip().lower() in names), key=lambda line: names.index(line[0].strip().lower()))
