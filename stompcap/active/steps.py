"""A case is data: what one side of a conversation does, what the other must do, and the rules of the catalogue that this is about.

Octets and header values may name what a conversation knows in braces: {queue}, {login}, {passcode}, {host}, and what a step has kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

ABSENT = "\0absent"
"""As a value in `has`: the header must not be there."""
CLOSE = "CLOSE"
"""As a command of Expect: the other side ends the connection."""


@dataclass(frozen=True)
class Say:
    """Send octets; in segments of `pieces` octets where that is not 0."""

    octets: bytes
    pieces: int = 0
    gap_s: float = 0


@dataclass(frozen=True)
class Expect:
    """A frame must come: one of these commands (`A|B`), chosen by `where`. Its headers must be as `has` says (None: there), and its body.

    Frames that are not chosen wait for later steps, but for an ERROR. What is `needed` only leads up to the judgement: without it nothing
    is judged. Nor is anything where the command that is `spare` comes instead.
    """

    command: str
    where: Mapping[str, str] = field(default_factory=dict)
    has: Mapping[str, str | None] = field(default_factory=dict)
    body: bytes | None = None
    keep: Mapping[str, str] = field(default_factory=dict)
    """Names of what is known from now on, and the header that says it."""
    needed: bool = False
    spare: str = ""
    patience: float = 1
    """Of the time that all steps have."""


@dataclass(frozen=True)
class Never:
    """No such frame may come for that long (as in Expect; `CLOSE` too)."""

    command: str
    where: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.3


@dataclass(frozen=True)
class Beats:
    """Asked for beats every `ask_ms`, the other side is never silent for two and a half intervals as agreed; `times` are watched."""

    ask_ms: int
    times: int = 2


@dataclass(frozen=True)
class Silence:
    """Say nothing for that many of the intervals at which CONNECTED agreed that this side beats; not judged where none was agreed."""

    promise_ms: int
    intervals: float


@dataclass(frozen=True)
class Idle:
    """Nothing at all, not even an EOL, may come for that long, and the connection must stay."""

    seconds: float


@dataclass(frozen=True)
class Speaks:
    """Not judged unless the connection is of this version."""

    version: str = "1.2"


@dataclass(frozen=True)
class Offers:
    """Not judged unless the client's accept-version has this version."""

    version: str


@dataclass(frozen=True)
class Reconnect:
    """Close this connection without a word and connect anew."""

    connect: bytes


Step = Say | Expect | Never | Beats | Silence | Idle | Speaks | Offers | Reconnect


@dataclass(frozen=True)
class Case:
    """One thing that the other side must do. `level` is that of the rule it is judged by, the first of `rules`."""

    name: str
    rules: tuple[str, ...]
    level: str
    must: str
    """A sentence: what the other side must do."""
    clause: str
    """Of the specification."""
    steps: Sequence[Step]
    version: str = "1.2"
    connected: tuple[str, ...] | None = None
    """Of a scripted broker: the headers of its CONNECTED where they are part of the case."""


def frame(command: str, *lines: str, body: bytes = b"", eol: str = "\n") -> bytes:
    """A frame as it stands: lines are headers on the wire, nothing is added or escaped."""
    return eol.join([command, *lines, "", ""]).encode() + body + b"\0"


def connect(versions: str = "1.2", *lines: str, command: str = "CONNECT", eol: str = "\n") -> bytes:
    """The CONNECT of a scripted client."""
    return frame(command, f"accept-version:{versions}", "host:{host}", "login:{login}", "passcode:{passcode}", *lines, eol=eol)


CONNECTED = Expect("CONNECTED", needed=True)


def opened(version: str = "1.2", *lines: str) -> tuple[Step, ...]:
    """A scripted client's connection, as the start of a case about something else."""
    return Say(connect(version, *lines)), CONNECTED


def subscribed(*lines: str, ack: str = "auto") -> tuple[Step, ...]:
    """A subscription of the case's queue, as the start of a case about something else."""
    octets = frame("SUBSCRIBE", "id:s1", "destination:{queue}", f"ack:{ack}", *lines, "receipt:sub")
    return Say(octets), Expect("RECEIPT", {"receipt-id": "sub"}, needed=True)
