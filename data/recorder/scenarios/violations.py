"""Planted violations, one session each: connect, break one rule, check whether the broker still answers, leave.

Each entry names the rules broken on purpose. The broker's reaction is its own and part of the capture.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial

from data.recorder.client import Client
from data.recorder.scenario import Scenario, Stage
from data.recorder.scenarios import openings
from data.recorder.wire import Frame, Header, Headers

Plant = Callable[[Client, str], None]
PATIENCE_S = 0.6


def play(stage: Stage, plant: Plant) -> None:
    """One session around one violation."""
    client, queue = stage.client(), stage.queue()
    client.connect(stage.version)
    plant(client, queue)
    client.wait(lambda frame: frame.command == "ERROR", PATIENCE_S)
    if not (client.ended or client.stopped):
        client.send("SEND", [("destination", queue), ("receipt", "r-alive")], b"still there?")
        client.wait(lambda frame: frame.get("receipt-id") == "r-alive", PATIENCE_S)
    client.close()


def wired(client: Client, rule: str, note: str, command: str, lines: Headers, body: bytes = b"") -> Frame:
    """Send header lines unchanged (no escaping; a line without colon has no value) and log the frame."""
    text = [command, *(name if value is None else f"{name}:{value}" for name, value in lines), "", ""]
    octets = "\n".join(text).encode("utf-8", "surrogateescape") + body + b"\0"
    # Logged as tables show such octets: with backslash escapes.
    shown = [(name, value and value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"))
             for name, value in lines]
    return client.send(command, shown, body, wire=octets, plant={rule: note})


def one(rule: str, note: str, command: str, *headers: tuple[str, str], body: bytes = b"") -> Plant:
    """A plant that is one well-formed frame; `@` in a value is replaced by the queue."""
    def plant(client: Client, queue: str) -> None:
        pairs = [(name, value.replace("@", queue)) for name, value in headers]
        client.send(command, pairs, body, plant={rule: note})
    return plant


def lines(rule: str, note: str, command: str, *headers: Header, body: bytes = b"") -> Plant:
    """A plant that is one frame with header lines as given."""
    def plant(client: Client, queue: str) -> None:
        pairs = [(name, value and value.replace("@", queue)) for name, value in headers]
        wired(client, rule, note, command, pairs, body)
    return plant


def crlf(client: Client, queue: str) -> None:
    """CRLF before 1.2: the CR belongs to the values."""
    octets = f"SEND\r\ndestination:{queue}\r\n\r\nx\0".encode()
    client.send("SEND", [("destination", queue + "\r")], b"x", wire=octets, plant={"FR-02": "lines end in CRLF"})


def delivered(client: Client, queue: str, mode: str) -> Frame:
    """One message delivered in the given mode."""
    client.subscribe(queue, mode)
    client.publish(queue, b"one")
    return client.messages(1)[0]


def duplicate_subscription(client: Client, queue: str) -> None:
    """The same id twice, on another destination."""
    client.subscribe(queue, "auto", "s-1")
    client.send("SUBSCRIBE", [("id", "s-1"), ("destination", queue + ".b"), ("ack", "auto")],
                plant={"SB-03": "id s-1 is in use"})


def ack_headers(client: Client, queue: str, rule: str, names: tuple[str, ...]) -> None:
    """ACK of a real message with only some of the headers it needs."""
    got = delivered(client, queue, "client")
    known = {"message-id": got.get("message-id") or "", "subscription": "s-1", "id": got.get("message-id") or ""}
    client.send("ACK", [(name, known[name]) for name in names], plant={rule: f"only: {', '.join(names) or 'nothing'}"})


def ack_twice(client: Client, queue: str) -> None:
    """The second ACK of one message."""
    got = delivered(client, queue, "client-individual")
    client.settle(got, 10)
    client.send("ACK", [("id", got.get("ack") or "")], plant={"AK-07": "acknowledged before"})


def ack_auto(client: Client, queue: str) -> None:
    """ACK of a message in mode auto."""
    got = delivered(client, queue, "auto")
    client.send("ACK", [("id", got.get("ack") or got.get("message-id") or "")], plant={"AK-06": "subscription is auto"})


def ack_elsewhere(client: Client, queue: str) -> None:
    """1.1: the right message-id, another subscription."""
    client.subscribe(queue + ".b", "client", "s-2")
    got = delivered(client, queue, "client")
    client.send("ACK", [("message-id", got.get("message-id") or ""), ("subscription", "s-2")],
                plant={"AK-05": "delivered to s-1"})


def begin_twice(client: Client, queue: str) -> None:
    """BEGIN of an id that is open."""
    client.send("BEGIN", [("transaction", "tx-1")])
    client.send("BEGIN", [("transaction", "tx-1")], plant={"TX-03": "tx-1 is open"})


def too_long(client: Client, queue: str) -> None:
    """content-length reaches into the next frame."""
    headers = [("destination", queue), ("content-length", "40")]
    wired(client, "FR-07", "content-length 40, body 5", "SEND", headers, b"short")
    client.send("SEND", [("destination", queue)], b"next")


def nul_in_body(client: Client, queue: str) -> None:
    """A NUL within a body that has no content-length: the rest is junk."""
    client.send("SEND", [("destination", queue)], b"ab", plant={"FR-09": "NUL in body"})
    client.piece(b"cd\0", "junk", {})


def stray_nul(client: Client, queue: str) -> None:
    """NULs between frames."""
    client.send("SEND", [("destination", queue)], b"x")
    client.piece(b"\0\0", "junk", {"FR-11": "two NULs between frames"})


def half_frame(client: Client, queue: str) -> None:
    """The head of a frame, then FIN."""
    client.piece(f"SEND\ndestination:{queue}\ncontent-length:100\n\nbegin".encode(), "partial", {"FR-01": "cut by FIN"})
    client.close()


def after_disconnect(client: Client, queue: str) -> None:
    """DISCONNECT and a SEND right behind it."""
    client.send("DISCONNECT", [("receipt", "r-bye")])
    client.send("SEND", [("destination", queue)], b"too late", plant={"DS-01": "after DISCONNECT"})
    client.wait(lambda frame: frame.command == "RECEIPT", PATIENCE_S)
    client.log.end_kind, client.log.ended_by = "disconnect", "client"
    client.close()


def secret_command(client: Client, queue: str) -> None:
    """A passcode in an unexpected place: a frame of an unknown command, the name in capitals."""
    client.send("LOGIN", [("PASSCODE", client.log.user.passcode)], plant={"FR-04": "no such command"})


def secret_junk(client: Client, queue: str) -> None:
    """A passcode line in octets that are no frame, then in a frame cut short."""
    line = f"passcode:{client.log.user.passcode}\n".encode()
    client.piece(b"\0 \n" + line + b"\0", "junk", {"FR-11": "octets that are no frame"})
    client.piece(b"STOMP\nlogin:x\n" + line, "partial", {"FR-01": "cut by FIN"})
    client.close()


DESTINATION = ("destination", "@")
TABLE: dict[str, tuple[tuple[str, ...], Plant]] = {
    "nodest": (("1.2",), one("SN-01", "no destination", "SEND", body=b"x")),
    "nosubid": (("1.1", "1.2"), one("SB-02", "no id", "SUBSCRIBE", DESTINATION, ("ack", "auto"))),
    "nosubdest": (("1.2",), one("SB-01", "no destination", "SUBSCRIBE", ("id", "s-1"), ("ack", "auto"))),
    "dupsub": (("1.2",), duplicate_subscription),
    "ackmode": (("1.2",), one("SB-04", "no such mode", "SUBSCRIBE", ("id", "s-1"), DESTINATION, ("ack", "sometimes"))),
    "unsubnoid": (("1.2",), one("SB-06", "no id", "UNSUBSCRIBE")),
    "unsubunknown": (("1.2",), one("SB-07", "no such subscription", "UNSUBSCRIBE", ("id", "s-9"))),
    "acknoid": (("1.2",), partial(ack_headers, rule="AK-03", names=("message-id", "subscription"))),
    "acknosub": (("1.1",), partial(ack_headers, rule="AK-02", names=("message-id",))),
    "acknomessage": (("1.0",), partial(ack_headers, rule="AK-01", names=())),
    "ackunknown": (("1.2",), one("AK-04", "never delivered", "ACK", ("id", "nonsense"))),
    "acktwice": (("1.2",), ack_twice),
    "ackauto": (("1.2",), ack_auto),
    "ackelsewhere": (("1.1",), ack_elsewhere),
    "nack10": (("1.0",), one("AK-08", "NACK in 1.0", "NACK", ("message-id", "1"))),
    "beginnoid": (("1.2",), one("TX-01", "no transaction", "BEGIN")),
    "begintwice": (("1.2",), begin_twice),
    "commitunknown": (("1.1", "1.2"), one("TX-04", "never begun", "COMMIT", ("transaction", "tx-9"))),
    "sendunknown": (("1.2",), one("SN-02", "never begun", "SEND", DESTINATION, ("transaction", "tx-9"), body=b"x")),
    "sendid": (("1.2",), one("SN-06", "message-id on SEND", "SEND", DESTINATION, ("message-id", "7"), body=b"x")),
    "escape": (("1.2",), lines("FR-19", "\\t is no escape", "SEND", DESTINATION, ("note", "a\\tb"), body=b"x")),
    "escape11": (("1.1",), lines("FR-19", "\\r is none in 1.1", "SEND", DESTINATION, ("note", "a\\rb"), body=b"x")),
    "rawcolon": (("1.2",), lines("FR-20", "colon not escaped", "SEND", DESTINATION, ("note", "a:b"), body=b"x")),
    "barecr": (("1.2",), lines("FR-03", "CR within a value", "SEND", DESTINATION, ("note", "a\rb"), body=b"x")),
    "nocolon": (("1.2",), lines("FR-15", "line without colon", "SEND", DESTINATION, ("oops", None), body=b"x")),
    "notutf8": (("1.2",), lines("FR-18", "octet FF", "SEND", DESTINATION, ("note", "a\udcffb"), body=b"x")),
    "padded": (("1.2",), lines("FR-24", "space before the value", "SUBSCRIBE",
                               ("id", "s-1"), DESTINATION, ("ack", " client"))),
    "repeated": (("1.2",), one("FR-25", "two destinations", "SEND", DESTINATION, ("destination", "@.b"), body=b"x")),
    "tooshort": (("1.2",), lines("FR-07", "content-length 3, body 13", "SEND", DESTINATION, ("content-length", "3"),
                                 body=b"longer by far")),
    "toolong": (("1.2",), too_long),
    "lengthword": (("1.2",), lines("FR-08", "not a number", "SEND", DESTINATION, ("content-length", "abc"), body=b"x")),
    "lengthminus": (("1.2",), lines("FR-08", "negative", "SEND", DESTINATION, ("content-length", "-1"), body=b"x")),
    "nulbody": (("1.2",), nul_in_body),
    "subbody": (("1.2",), one("FR-10", "body on SUBSCRIBE", "SUBSCRIBE", ("id", "s-1"), DESTINATION, body=b"a body")),
    "straynul": (("1.2",), stray_nul),
    "command": (("1.2",), one("FR-04", "no such command", "PUBLISH", DESTINATION, body=b"x")),
    "lowercase": (("1.2",), one("FR-04", "lower case", "send", DESTINATION, body=b"x")),
    "servercommand": (("1.2",), one("FR-06", "MESSAGE from a client", "MESSAGE", DESTINATION, ("message-id", "1"),
                                    body=b"x")),
    "crlf": (("1.0", "1.1"), crlf),
    "secondconnect": (("1.2",), one("CN-06", "CONNECT again", "CONNECT", ("accept-version", "1.2"), ("host", "/"))),
    "halfframe": (("1.2",), half_frame),
    "afterbye": (("1.2",), after_disconnect),
    "secretcommand": (("1.2",), secret_command),
    "secretjunk": (("1.2",), secret_junk),
}
SCENARIOS = [
    *(Scenario(name, "violations", partial(play, plant=plant), versions) for name, (versions, plant) in TABLE.items()),
    *openings.SCENARIOS,
]
