"""The client under test, with stomp.py: echoes and acknowledges each message, until a body is `end` (docs/active.md)."""
from __future__ import annotations

import os
import threading
from typing import Any

import stomp

OVER = threading.Event()


class Echo(stomp.ConnectionListener):  # type: ignore[misc]
    """What the library calls."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def on_message(self, frame: Any) -> None:
        """Send it back and acknowledge it."""
        note = {"note": frame.headers["note"]} if "note" in frame.headers else {}
        self.connection.send("/queue/echo", frame.body, headers=note)
        self.connection.ack(frame.headers["ack"] if "ack" in frame.headers else frame.headers["message-id"])
        if frame.body == "end":
            OVER.set()

    def on_disconnected(self) -> None:
        """The connection is gone."""
        OVER.set()


connection = stomp.Connection12(
    [(os.environ["STOMPCAP_SERVE_HOST"], int(os.environ["STOMPCAP_SERVE_PORT"]))], heartbeats=(500, 500), reconnect_attempts_max=1)
connection.set_listener("", Echo(connection))
connection.connect("guest", "made-up", wait=True)
connection.subscribe("/queue/test", id="1", ack="client-individual")
OVER.wait(12)
if connection.is_connected():
    connection.disconnect("bye")
