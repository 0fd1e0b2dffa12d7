"""Heart-beats: those of the server, and what it makes of the client's."""

from __future__ import annotations

from stompcap.active.steps import Beats, Case, Expect, Idle, Say, Silence, connect, frame

HEART_BEATING = "1.2 Heart-beating"
CONNECTED = Expect("CONNECTED", keep={"beats": "heart-beat"}, needed=True)
SEND = Say(frame("SEND", "destination:{queue}", "receipt:r", body=b"x"))
GOT = Expect("RECEIPT", {"receipt-id": "r"})

CASES = (
    Case(
        "server-beats", ("HB-02",), "MUST", "The server sends something within the interval agreed", HEART_BEATING,
        (Say(connect("1.2", "heart-beat:0,1000")), CONNECTED, Beats(1000)),
    ),
    Case(
        "no-beats-agreed", ("HB-03", "HB-07", "HB-08"), "MUST", "Without heart-beats nobody beats, and silence is no reason to close",
        HEART_BEATING, (Say(connect("1.2", "heart-beat:0,0")), CONNECTED, Idle(2), SEND, GOT),
    ),
    Case(
        "beats-keep-it-open", ("HB-05",), "MUST", "A client that beats is alive", HEART_BEATING,
        (
            Say(connect("1.2", "heart-beat:1000,0")), CONNECTED, Silence(1000, 0.7), Say(b"\n"), Silence(1000, 0.7), Say(b"\n"),
            Silence(1000, 0.7), Say(b"\n"), SEND, GOT,
        ),
    ),
    Case(
        "late-beat", ("HB-05",), "SHOULD", "A beat that comes 1.2 intervals after the last is late, and tolerated", HEART_BEATING,
        (Say(connect("1.2", "heart-beat:1000,0")), CONNECTED, Silence(1000, 1.2), Say(b"\n"), SEND, GOT),
    ),
    Case(
        "missing-beats", ("HB-06",), "INFO", "A client that is silent for five intervals is given up", HEART_BEATING,
        (Say(connect("1.2", "heart-beat:1000,0")), CONNECTED, Silence(1000, 0), Expect("CLOSE", patience=3.5)),
    ),
)  # fmt: skip
