"""Planted violations in the opening of a session: CONNECT's headers, and frames before it."""
from __future__ import annotations

from functools import partial

from data.recorder.scenario import Scenario, Stage
from data.recorder.wire import Headers

# name: rule (None: the client is right and the server must refuse), note, the headers before login and passcode
TABLE: dict[str, tuple[str | None, str, Headers]] = {
    "nohost": ("CN-02", "no host", [("accept-version", "1.2")]),
    "order": ("CN-03", "versions descend", [("accept-version", "1.2,1.1,1.0"), ("host", "/")]),
    "spaces": ("CN-04", "space in the list", [("accept-version", "1.1, 1.2"), ("host", "/")]),
    "badbeat": ("CN-17", "not two numbers", [("accept-version", "1.2"), ("host", "/"), ("heart-beat", "soon")]),
    "connectreceipt": ("CN-08", "receipt on CONNECT", [("accept-version", "1.2"), ("host", "/"), ("receipt", "r-0")]),
    "nocommon": (None, "", [("accept-version", "3.7"), ("host", "/")]),
    "alltwo": (None, "", [("accept-version", "1.0,1.1,1.2"), ("host", "/")]),
}


def connect(stage: Stage, rule: str | None, note: str, headers: Headers) -> None:
    """CONNECT with those headers; if it is accepted, disconnect."""
    client = stage.client()
    client.connect(stage.version, headers=headers, plant={rule: note} if rule else None)
    if client.log.outcome == "connected":
        client.disconnect()
    else:
        client.wait_closed(0.5)
        client.close()


def first_send(stage: Stage) -> None:
    """A SEND before CONNECT."""
    client = stage.client()
    client.send("SEND", [("destination", stage.queue())], b"x", plant={"FR-14": "SEND comes first"})
    client.wait_closed(0.6)
    client.close()


def pipelined(stage: Stage) -> None:
    """A SEND right after CONNECT, without waiting for the answer."""
    client = stage.client()
    user = client.log.user
    secret = [("login", user.login), ("passcode", user.passcode)]
    client.send("CONNECT", [("accept-version", "1.2"), ("host", "/"), *secret])
    client.send("SEND", [("destination", stage.queue())], b"x", plant={"CN-07": "CONNECTED not awaited"})
    answer = client.wait(lambda frame: frame.command in ("CONNECTED", "ERROR"), 5)
    if answer is not None and answer.command == "CONNECTED":
        client.log.connected(answer, (0, 0))
        client.disconnect()
    else:
        client.close()


def leading_eols(stage: Stage) -> None:
    """EOLs before the first frame."""
    client = stage.client()
    client.raw(b"\n\r\n\n")
    client.log.plant("FR-13", "client", 0, "three EOLs before CONNECT")
    client.connect(stage.version)
    if client.log.outcome == "connected":
        client.disconnect()
    else:
        client.close()


SCENARIOS = [
    *(Scenario(name, "violations", partial(connect, rule=rule, note=note, headers=headers), ("1.2",))
      for name, (rule, note, headers) in TABLE.items()),
    Scenario("sendfirst", "violations", first_send, ("1.2",)),
    Scenario("pipelined", "violations", pipelined, ("1.2",)),
    Scenario("leadingeol", "violations", leading_eols, ("1.2",)),
]
