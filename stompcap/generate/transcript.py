r"""The language of the catalogue's examples, line by line; each line is a segment or what happens between two.

`C:` and `S:` send octets (⏎ LF, ␍ CR, ␀ NUL, \xHH any octet); `C closes`, `S resets` end the connection; `wait 5s` passes
time, `C stalls 5s` too, while the server's window is shut, `C resends 5s` while octets are sent again; `C loses 9` leaves a
gap; `in 1.2`, as the first line, opens a session of that version; `midstream` says that no handshake was seen. `C breaks mask`,
`C keeps mask`, `C hides mask` say what was seen of a layer below STOMP (stompcap.transport.checks), perhaps with words:
`S keeps version v12.stomp`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

SIGNS = {"⏎": b"\n", "␍": b"\r", "␀": b"\0"}
SENDS, WAITS, MIDSTREAM = "sends", "waits", "midstream"


@dataclass(frozen=True)
class Event:
    """One line: what happens (`sends`, `waits`, `midstream`, or the line's verb), at which side (0 the client), with what."""

    kind: str
    side: int = 0
    octets: bytes = b""
    number: int = 0
    words: tuple[str, ...] = ()


def events(text: str) -> Iterator[Event]:
    """The events of a transcript; ValueError for a line that means nothing."""
    for line in opening(text.strip().splitlines()):
        line = line.lstrip()
        if line == MIDSTREAM:
            yield Event(MIDSTREAM)
        elif frame := re.fullmatch(r"([CS]): ?(.*)", line):
            yield Event(SENDS, "CS".index(frame[1]), octets(frame[2]))
        elif waited := re.fullmatch(r"wait (\d+)s", line):
            yield Event(WAITS, number=int(waited[1]))
        elif done := re.fullmatch(r"([CS]) (?:(stalls|resends) (\d+)s|(loses) (\d+)|(closes|resets))", line):
            yield Event(done[2] or done[4] or done[6], "CS".index(done[1]), number=int(done[3] or done[5] or 0))
        elif checked := re.fullmatch(r"([CS]) (keeps|breaks|hides) ([a-z_0-9]+)(?: (.+))?", line):
            yield Event(checked[2], "CS".index(checked[1]), words=(checked[3], checked[4] or ""))
        else:
            raise ValueError(f"not a transcript line: {line!r}")


def octets(text: str) -> bytes:
    """The octets that a transcript's signs stand for."""
    return b"".join(_octets(part) for part in re.split(r"(\\x[0-9a-f]{2}|[⏎␍␀])", text))


def _octets(part: str) -> bytes:
    if re.fullmatch(r"\\x[0-9a-f]{2}", part):
        return bytes.fromhex(part[2:])
    return SIGNS.get(part) or part.encode()


def opening(lines: list[str]) -> list[str]:
    """Lines with `in VERSION` written out."""
    if not (begun := re.fullmatch(r"in (1\.[012])", lines[0].strip())):
        return lines
    version = begun[1]
    offer = "CONNECT⏎login:a⏎⏎␀" if version == "1.0" else f"CONNECT⏎accept-version:{version}⏎host:h⏎⏎␀"
    return [f"C: {offer}", f"S: CONNECTED⏎version:{version}⏎session:1⏎⏎␀", *lines[1:]]
