"""Heart-beats: the client's own, and what it makes of the server's."""

from __future__ import annotations

from stompcap.active.serving_cases.shared import SUBSCRIBE, echoed, message
from stompcap.active.steps import Beats, Case, Expect, Never, Say, Silence

HEART_BEATING = "1.2 Heart-beating"
CONNECT = Expect("CONNECT|STOMP", keep={"beats": "heart-beat"}, needed=True, patience=5)
HELLO = (Say(message("m1", body=b"hello")), echoed(b"hello"))

CASES = (
    Case(
        "client-beats", ("HB-01",), "MUST", "The client sends something within the interval agreed", HEART_BEATING,
        (CONNECT, SUBSCRIBE, Beats(500)), connected=("version:1.2", "heart-beat:0,500"),
    ),
    Case(
        "late-beat", ("HB-05",), "SHOULD", "A beat that comes 1.2 intervals after the last is late, and tolerated", HEART_BEATING,
        (CONNECT, SUBSCRIBE, Silence(500, 1.2), Say(b"\n"), *HELLO), connected=("version:1.2", "heart-beat:500,0"),
    ),
    Case(
        "missing-beats", ("HB-06",), "INFO", "A server that is silent for five intervals is given up", HEART_BEATING,
        (CONNECT, SUBSCRIBE, Silence(500, 0), Expect("CLOSE|DISCONNECT", patience=3)), connected=("version:1.2", "heart-beat:500,0"),
    ),
    Case(
        "beats-between-frames", ("HB-04", "FR-11"), "MUST", "A beat is no frame and no part of one", HEART_BEATING,
        (CONNECT, SUBSCRIBE, Say(b"\n"), *HELLO, Say(b"\n\n")), connected=("version:1.2", "heart-beat:500,0"),
    ),
    Case(
        "no-beats-agreed", ("HB-03",), "MUST", "Without heart-beats a silent server is no reason to go", HEART_BEATING,
        (CONNECT, SUBSCRIBE, Never("DISCONNECT", seconds=1.5), *HELLO), connected=("version:1.2",),
    ),
)  # fmt: skip
