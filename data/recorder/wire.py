"""STOMP frames as octets, for the recorder only: a serializer and a small parser, independent of stompcap's.

The parser is for correct traffic (broker answers, a library's frames): it goes octet by octet through the
grammar of STOMP 1.2 "Augmented BNF", honours content-length, and cannot resynchronise.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

# A line without colon has no value.
Header = tuple[str, str | None]
Headers = Sequence[Header]
ESCAPES = {"1.0": {}, "1.1": {"\\": "\\\\", "\n": "\\n", ":": "\\c"},
           "1.2": {"\\": "\\\\", "\n": "\\n", ":": "\\c", "\r": "\\r"}}
NEVER_ESCAPED = {"CONNECT", "STOMP", "CONNECTED"}


@dataclass
class Frame:
    """One frame; `headers` have decoded values, `offset` counts octets of its direction since the connection began."""

    command: str
    headers: Headers
    body: bytes
    offset: int = 0
    length: int = 0
    first_ns: int = 0
    last_ns: int = 0
    planted: list[str] = field(default_factory=list)

    def get(self, name: str) -> str | None:
        """Value of the first header of that name."""
        return next((value for key, value in self.headers if key == name), None)


def escape(text: str, version: str) -> str:
    """Header text as it goes on the wire."""
    return "".join(ESCAPES[version].get(letter, letter) for letter in text)


def unescape(text: str, version: str) -> str:
    """Header text decoded; an undefined escape is unchanged."""
    back = {code: letter for letter, code in ESCAPES[version].items()}
    out, at = [], 0
    while at < len(text):
        pair = text[at:at + 2]
        out.append(back.get(pair, text[at]))
        at += 2 if pair in back else 1
    return "".join(out)


def serialize(command: str, headers: Headers, body: bytes, version: str, eol: str = "\n") -> bytes:
    """Octets of a frame, NUL included, nothing after it."""
    use = "1.0" if command in NEVER_ESCAPED else version
    lines = [command, *(f"{escape(name, use)}:{escape(value or '', use)}" for name, value in headers), "", ""]
    return eol.join(lines).encode() + body + b"\0"


class Parser:
    """Frames out of one direction's octets, with the clock of the chunks that brought them."""

    def __init__(self) -> None:
        self.octets = bytearray()
        self.chunks: list[tuple[int, int, int]] = []  # (offset, length, ns)
        self.at = 0
        self.version = "1.2"

    def feed(self, chunk: bytes, ns: int) -> list[Frame]:
        """Take one chunk; return the frames it completes."""
        self.chunks.append((len(self.octets), len(chunk), ns))
        self.octets += chunk
        frames = []
        while (frame := self._next()) is not None:
            frames.append(frame)
        return frames

    def clock(self, offset: int) -> int:
        """Time of the chunk that brought the octet at `offset`."""
        return next(ns for begin, length, ns in reversed(self.chunks) if begin <= offset < begin + length)

    def _next(self) -> Frame | None:
        data = self.octets
        while self.at < len(data) and data[self.at] in b"\r\n":
            self.at += 1
        end = self.at
        lines = []
        while True:
            stop = data.find(b"\n", end)
            if stop < 0:
                return None
            line = bytes(data[end:stop]).removesuffix(b"\r")
            end = stop + 1
            if not line:
                break
            lines.append(line.decode("utf-8", "backslashreplace"))
        command = lines[0]
        use = "1.0" if command in NEVER_ESCAPED else self.version
        headers = []
        for text in lines[1:]:
            name, _, value = text.partition(":")
            headers.append((unescape(name, use), unescape(value, use)))
        declared = next((value for name, value in headers if name == "content-length"), None)
        close = end + int(declared) if declared is not None else data.find(b"\0", end)
        if close < 0 or close >= len(data):
            return None
        frame = Frame(command, headers, bytes(data[end:close]), self.at, close + 1 - self.at)
        frame.first_ns, frame.last_ns = self.clock(self.at), self.clock(close)
        self.at = close + 1
        return frame
