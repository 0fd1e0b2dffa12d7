"""STOMP frames as octets, for the scripted sides: a serializer and a parser that is strict, in plain Python.

It shares nothing with stompcap/stomp, which reads anything and compiles: what a scripted peer takes for a frame is what the specification
calls one (1.2 "Augmented BNF", "Value Encoding", "Repeated Header Entries", "Header content-length").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

ESCAPES = {
    "1.0": {},
    "1.1": {"\\": "\\\\", "\n": "\\n", ":": "\\c"},
    "1.2": {"\\": "\\\\", "\r": "\\r", "\n": "\\n", ":": "\\c"},
}
CLEAR = ("CONNECT", "STOMP", "CONNECTED")  # never escaped
CLIENTS = ("CONNECT", "STOMP", "SEND", "SUBSCRIBE", "UNSUBSCRIBE", "ACK", "NACK", "BEGIN", "COMMIT", "ABORT", "DISCONNECT")
SERVERS = ("CONNECTED", "MESSAGE", "RECEIPT", "ERROR")
MOST_HEAD, MOST_BODY = 1 << 20, 1 << 26


class Malformed(Exception):
    """What came is no frame; the message says why."""


class Frame(NamedTuple):
    """A frame; headers are decoded, in their order; `raw` is what was on the wire, the NUL included."""

    command: str
    headers: Sequence[tuple[str, str]]
    body: bytes = b""
    raw: bytes = b""

    def get(self, name: str) -> str | None:
        """The first header of that name: of repeated ones the first counts."""
        return next((value for key, value in self.headers if key == name), None)


def encoded(command: str, headers: Sequence[tuple[str, str]], body: bytes = b"", version: str = "1.2") -> bytes:
    """A frame on the wire; content-length where there is a body."""
    use = "1.0" if command in CLEAR else version
    lines = [command, *(f"{escaped(name, use)}:{escaped(value, use)}" for name, value in headers)]
    lines += [f"content-length:{len(body)}"] * bool(body)
    return "\n".join([*lines, "", ""]).encode() + body + b"\0"


def escaped(text: str, version: str) -> str:
    """A header's name or value as it goes on the wire."""
    return "".join(ESCAPES[version].get(letter, letter) for letter in text)


def decoded(text: str, version: str) -> str:
    """A header's name or value; raises Malformed at an escape that the version does not define."""
    back = {code: letter for letter, code in ESCAPES[version].items()}
    if not back or "\\" not in text:
        return text
    out, at = [], 0
    while at < len(text):
        pair = text[at : at + 2]
        if pair[0] == "\\" and pair not in back:
            raise Malformed(f"undefined escape {pair}")
        out.append(back.get(pair, text[at]))
        at += 2 if pair in back else 1
    return "".join(out)


@dataclass
class Parser:
    """Frames out of the octets of one direction; `version` is that of the connection, "1.2" until it is known."""

    version: str = "1.2"
    eols: int = 0
    """The EOLs between frames so far: heart-beats, or what follows a frame."""

    def __post_init__(self) -> None:
        self._octets = bytearray()
        self._looked = 0

    def feed(self, octets: bytes) -> None:
        """Take what came."""
        self._octets += octets

    def next(self) -> Frame | None:
        """The next whole frame; raises Malformed where there can be none."""
        octets = self._octets
        lead = 0
        while lead < len(octets) and octets[lead] in b"\r\n":
            self.eols += octets[lead] == 10
            lead += 1
        del octets[:lead]
        if not octets:
            return None
        end = _end_of_head(octets)
        if end < 0:
            if len(octets) > MOST_HEAD:
                raise Malformed("headers over the limit")
            return None
        command, headers = self._head(bytes(octets[:end]))
        length = _length(headers)
        if length is None:
            close = octets.find(b"\0", max(end, self._looked))
            self._looked = len(octets)
        else:
            close = end + length
        if (close if close >= 0 else len(octets)) - end > MOST_BODY:
            raise Malformed("body over the limit")
        if close < 0 or close >= len(octets):
            return None
        if octets[close]:
            raise Malformed("no NUL behind content-length octets of body")
        frame = Frame(command, headers, bytes(octets[end:close]), bytes(octets[: close + 1]))
        del octets[: close + 1]
        self._looked = 0
        return frame

    @property
    def rest(self) -> bytes:
        """What has come of a frame that is not whole."""
        return bytes(self._octets)

    def _head(self, octets: bytes) -> tuple[str, list[tuple[str, str]]]:
        """Command and headers."""
        try:
            first, *lines = octets.decode().split("\n")[:-2]
        except UnicodeDecodeError as error:
            raise Malformed("headers are not UTF-8") from error
        command = first.removesuffix("\r")
        if command not in CLIENTS and command not in SERVERS:
            raise Malformed(f"unknown command {command[:40]}")
        clear = command in CLEAR
        version = "1.0" if clear else self.version
        headers = []
        for line in lines:
            name, colon, value = (line.removesuffix("\r") if clear or version == "1.2" else line).partition(":")
            if not colon or not name:
                raise Malformed(f"no header: {line[:40]}")
            headers.append((decoded(name, version), decoded(value, version)))
        return command, headers


def _end_of_head(octets: bytearray) -> int:
    """Where the body begins: behind the first empty line; -1 where that has not come."""
    found = [at + len(mark) for mark in (b"\n\n", b"\n\r\n") if (at := octets.find(mark, 0, MOST_HEAD + 3)) >= 0]
    return min(found, default=-1)


def _length(headers: Sequence[tuple[str, str]]) -> int | None:
    """What content-length says."""
    text = next((value for name, value in headers if name == "content-length"), None)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 12):
        raise Malformed(f"content-length {text[:20]} is no length")
    return int(text)
