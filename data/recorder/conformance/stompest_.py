"""The client under test, with stompest: echoes and acknowledges each message, until a body is `end` (docs/active.md)."""
from __future__ import annotations

import os
import time

from stompest.config import StompConfig
from stompest.sync import Stomp

client = Stomp(StompConfig(f"tcp://{os.environ['STOMPCAP_SERVE']}", login="guest", passcode="made-up", version="1.2"))
client.connect(heartBeats=(500, 500))
client.subscribe("/queue/test", {"id": "1", "ack": "client-individual"})
until, due = time.monotonic() + 12, time.monotonic()
while time.monotonic() < until:
    # The library leaves the pace of heart-beats, and what to make of the server's, to its user.
    if client.clientHeartBeat and time.monotonic() >= due:
        client.beat()
        due = time.monotonic() + 0.8 * client.clientHeartBeat / 1e3
    if client.serverHeartBeat and client.lastReceived and time.time() > client.lastReceived + 2.5 * client.serverHeartBeat / 1e3:
        break
    if not client.canRead(0.1):
        continue
    frame = client.receiveFrame()
    if frame.command != "MESSAGE":
        if frame.command == "ERROR":
            break
        continue
    note = {"note": frame.headers["note"]} if "note" in frame.headers else {}
    client.send("/queue/echo", frame.body, {"content-length": str(len(frame.body)), **note})
    client.ack(frame)
    if frame.body == b"end":
        client.disconnect(receipt="bye")
        if client.canRead(2):
            client.receiveFrame()
        break
client.close()
