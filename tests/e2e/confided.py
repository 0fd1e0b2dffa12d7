"""Connections that confide secrets, by names of every kind, in every place: each value is there once, of letters that nothing else has."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from stompcap.generate.wire import ACK, PSH, Wire
from stompcap.stomp.secret_names import STEMS, WORDS
from tests.capture.packaging import Frame

START_NS = 1_700_000_000_000_000_000
SECOND = 10**9
SHAPES = ("{}", "X-{}", "my.{}", "{}Id", "{}-value", "the_{}_2", "{}S", "user{}", "x-a-{}", "a.b.{}")
NAMES = [shape.format(stem) for stem in STEMS for shape in SHAPES] + [
    *STEMS, *WORDS, "PassCode", "API-Key", "api_key", "api.key", "Set-Cookie", "AUTH", "Pwd", "session-id", "SESSION_ID", "pass-word"
]
LETTERS = "QZJV"
LEFT = re.compile(rb"[QZJV~]{4,}")
"""What is left of a value if four of its octets are, in what has no base64 of its own."""
CONNECTED = b"CONNECTED\nversion:1.2\nserver:RabbitMQ/3.10\n\n\0"
SPLIT = 7
"""Octets of a packet where frames are split over many."""


@dataclass
class Confided:
    """Values in the order of their making, each with where it is said; and the packets, connection by connection."""

    values: dict[str, str] = field(default_factory=dict)
    talks: list[list[Frame]] = field(default_factory=list)
    cuts: list[list[int]] = field(default_factory=list)
    """Per connection, how many packets an earlier run may have."""

    def secret(self, place: str) -> str:
        """A value that is said there."""
        number, letters = len(self.values), ""
        for _ in range(6):
            number, letter = divmod(number, len(LETTERS))
            letters += LETTERS[letter]
        value = f"{letters}~VQ~{letters[::-1]}"
        self.values[value] = place
        return value

    @property
    def frames(self) -> list[Frame]:
        """All packets."""
        return [frame for talk in self.talks for frame in talk]

    def runs(self, number: int) -> Iterator[list[Frame]]:
        """The packets for so many runs: each connection is cut in places of its own."""
        bounds = []
        for which, (talk, cuts) in enumerate(zip(self.talks, self.cuts, strict=True)):
            shift = which * 5 % max(1, len(cuts) // number)
            bounds.append([0, *(cuts[min(len(cuts) * cut // number + shift, len(cuts) - 1)] for cut in range(1, number)), len(talk)])
        for run in range(number):
            packets = [frame for talk, cut in zip(self.talks, bounds, strict=True) for frame in talk[cut[run] : cut[run + 1]]]
            moved = START_NS + run * len(self.talks) * SECOND  # what comes in a later run was said later
            yield [Frame(frame.octets, moved + frame.ts_ns - START_NS, frame.original) for frame in packets]


class Talk:
    """One connection."""

    def __init__(self, confided: Confided, name: str = "", *, whole: bool = True, torn: bool = True) -> None:
        """`torn`: a run may end anywhere, within a frame too."""
        self.confided, self.name = confided, name
        self.begins: list[int] | None = None if torn else [0]
        self.port = 10_000 + len(confided.talks)
        self.wire = Wire(self.port, (1_000 + self.port, 90_000 + self.port))
        if whole:
            self.wire.open()

    def secret(self, place: str) -> bytes:
        return self.confided.secret(f"{place}, {self.name}").encode()

    def says(self, octets: bytes, *, client: bool = True, split: int = 1400) -> None:
        if self.begins is not None:
            self.begins.append(len(self.wire.packets))
        for at in range(0, len(octets), split):
            self.wire.segment(client, PSH | ACK, octets[at : at + split])

    def loses(self, octets: int) -> None:
        """So many octets of the client are not captured."""
        self.wire.segment(True, PSH | ACK, b"x" * octets, captured=False)

    def opens(self, *headers: bytes) -> None:
        self.says(frame(b"CONNECT", b"accept-version:1.2", b"host:/", *headers))
        self.says(CONNECTED, client=False)

    def ends(self) -> None:
        begin = START_NS + len(self.confided.talks) * SECOND
        self.confided.cuts.append(self.begins or list(range(len(self.wire.packets) + 1)))
        self.confided.talks.append([Frame(one.octets, begin + one.ns) for one in self.wire.packets])


def frame(command: bytes, *headers: bytes, body: bytes = b"") -> bytes:
    return b"\n".join([command, *headers, b"", body]) + b"\0"


def _by_name(confided: Confided, text: str) -> None:
    """A value for each place that a header of this name may have."""
    name = text.encode()

    def header(talk: Talk, place: str, sign: bytes = b":") -> bytes:
        return name + sign + talk.secret(place)

    talk = Talk(confided, text)
    talk.opens(header(talk, "CONNECT"), b"login:bob")
    for split in (1400, SPLIT):
        talk.says(frame(b"SEND", b"destination:/queue/a", header(talk, "SEND"), body=b"hi"), split=split)
        talk.says(frame(b"MESSAGE", b"destination:/queue/a", b"message-id:1", header(talk, "MESSAGE"), b"subscription:0"),
                  client=False, split=split)  # fmt: skip
        talk.says(frame(b"SUBSCRIBE", b"id:0", b" " + name + b" : " + talk.secret("blanks"), b"destination:/queue/a"), split=split)
    quoted = b"CONNECT\nlogin:bob\n" + header(talk, "quoted in a body") + b"\nhost:/\n\n"
    talk.says(frame(b"SEND", b"destination:/queue/a", body=b"log: " + quoted), split=SPLIT)
    texts = (
        header(talk, "line of an ERROR"), b'{"' + name + b'": "' + talk.secret("JSON in an ERROR") + b'", "a": 1}',
        b"{login=bob, " + header(talk, "map in an ERROR", b"=") + b"}", b"CONNECT\n" + header(talk, "quoted in an ERROR") + b"\n\n",
    )  # fmt: skip
    spelled = b"".join(b"%c," % octet for octet in b"10," + header(talk, "spelled out"))[2:].replace(b"1,0,,,", b"10,", 1)
    for one in (*texts, b"frame C,O,N,N,E,C,T,10," + spelled.removeprefix(b"10,") + b"10,10,0,"):
        talk.says(frame(b"ERROR", b"message:bad", header(talk, "ERROR"), body=one), client=False, split=SPLIT)
    talk.says(frame(b"HELLO", b"id:0", header(talk, "unknown command")))
    talk.says(b"JUNK? of\n" + header(talk, "junk") + b"\n\nbody\0", split=SPLIT)
    talk.says(frame(b"SEND", b"destination:/queue/b", body=b"behind the junk"))
    talk.says(b"SEND\ndestination:/queue/a\n" + header(talk, "partial"), split=SPLIT)
    talk.ends()

    for place in ("value", "name"):  # torn there
        talk = Talk(confided, text)
        talk.opens()
        line = header(talk, f"torn in its {place}")
        said = frame(b"SEND", b"destination:/queue/a", line, b"z:1", body=b"b" * 30)
        at = said.index(line) + (len(name) + 6 if place == "value" else len(name) // 2)
        talk.says(said[:at])
        talk.loses(5)
        talk.says(said[at + 5 :], split=SPLIT)
        talk.says(frame(b"SEND", b"destination:/queue/c", body=b"q"))
        talk.ends()

    talk = Talk(confided, text, whole=False)
    talk.says(frame(b"SEND", b"destination:/queue/a", header(talk, "joined midway")))
    talk.loses(100)
    talk.says(b"tion:/queue/a\n" + header(talk, "behind a gap") + b"\nq:1\n\nbody\0", split=SPLIT)
    talk.says(frame(b"SEND", b"destination:/queue/d", body=b"x"))
    talk.ends()


def forms(value: str, login: str) -> Iterator[bytes]:
    """How others write a value."""
    octets = value.encode()
    yield from (octets, octets.hex().encode(), octets.hex().upper().encode(), json.dumps(value).encode())
    yield from (base64.b64encode(before + octets) for before in (b"", b"x", b"xy", login.encode() + b":"))
    yield base64.urlsafe_b64encode(octets)
    yield quote(value, safe="").replace("~", "%7E").encode()
    yield "".join(f"%{octet:02X}" for octet in octets).encode()
    yield "".join(f"\\u{ord(character):04x}" for character in value).encode()


def _repeated(confided: Confided) -> None:
    """Values that a connection gives once, and that it and its server repeat in all forms."""
    def repeats(talk: Talk, value: bytes) -> None:
        for form in forms(value.decode(), "bob"):
            talk.says(frame(b"SEND", b"destination:/queue/a", b"x-note:see " + form, body=b"it is " + form + b" now"), split=SPLIT)
            talk.says(frame(b"ERROR", b"message:cannot " + form, body=b"what is " + form), client=False)

    given: dict[str, Callable[[bytes], tuple[bytes, ...]]] = {
        "passcode": lambda value: (b"login:bob", b"passcode:" + value), "token": lambda value: (b"x-token:" + value,),
        "URL": lambda value: (b"x-from:stomp://bob:" + value + b"@host/x",), "Bearer": lambda value: (b"Authorization:Bearer " + value,),
        "Basic": lambda value: (b"Authorization:Basic " + base64.b64encode(b"bob:" + value),),
    }  # fmt: skip
    for place, headers in given.items():
        talk = Talk(confided, torn=False)
        value = talk.secret(f"repeated {place}")
        talk.opens(*headers(value))
        repeats(talk, value)
        talk.ends()
        talk = Talk(confided, torn=False)
        talk.opens()
        value = talk.secret(f"repeated {place} of a SEND")
        talk.says(frame(b"SEND", b"destination:/queue/a", *headers(value)), split=SPLIT)
        repeats(talk, value)
        talk.ends()
    for header in (b"login", b"x-any"):
        talk = Talk(confided, torn=False)
        value = talk.secret("token")
        payload = base64.urlsafe_b64encode(b'{"sub":"' + value + b'"}').rstrip(b"=")
        jwt = b".".join((b"eyJhbGciOiJIUzI1NiJ9", payload, value.replace(b"~", b"-")))
        talk.opens(header + b":" + jwt)
        talk.says(frame(b"SEND", b"destination:/queue/a", b"x-other:" + jwt, body=b"see " + jwt), split=SPLIT)
        talk.ends()


def confided(names: Sequence[str] = NAMES, *, repeated: bool = True) -> Confided:
    """Secrets that these names tell, in all places; and what is `repeated` without a name."""
    found = Confided()
    for name in names:
        _by_name(found, name)
    if repeated:
        _repeated(found)
    return found
