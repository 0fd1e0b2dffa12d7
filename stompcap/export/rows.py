"""A row of a stream as others may see it, octet for octet: names replaced, bodies and what is no frame blanked, all else as it was."""

from __future__ import annotations

import hashlib
import re

from stompcap.export.names import Names
from stompcap.stomp import grammar

COMMANDS = frozenset(one.name.encode() for one in grammar.COMMANDS)
HEAD_END = re.compile(rb"\r?\n[ \t]*\r?\n")
SPACES = re.compile(r"^(\s*)(.*?)(\s*)$", re.DOTALL)
BLANK = bytes(ord("x") if one > 127 or chr(one).isalnum() else one for one in range(256))
HIGH = re.compile(rb"[\x80-\xff]")
ALPHABET = b"abcdefghijklmnopqrstuvwxyz"

ERROR_WORDS = re.compile(
    r"(?i)\b(?:maximum|was|exceeded|exceed|message|frame|size|is|larger|than|delivery|acknowledgement|on|channel|timed?|out|slow|consumer"
    r"|connection|ttl|inactiv\w*|idle|for|heart-?\s?beat\w*|timeout|un(?:known|supported|defined|expected|recogni[sz]ed)|invalid|not"
    r"|supported|command|action|stomp|virtual[ -]?host|vhost|host|access|refused|denied|user|login|destination)\b"
    r"|org\.apache\.activemq\.transport\.stomp|\bAMQ[0-9]{6}\b"
)
"""The words of brokers' own texts by which causes and verdicts are told (stompcap.session.close_causes, rules, fingerprints)."""

QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")


def anonymised(octets: bytes, kind: str, names: Names) -> bytes:
    """The octets of a row of raw_frames of this kind, as many as they were."""
    if kind == "eol":
        return octets
    head = _Head(octets)
    if kind == "junk" or (kind == "partial" and head.command not in COMMANDS):
        return blank(octets)
    return head.anonymised(names) + _body(octets[head.end :], head.command == b"ERROR", names)


def blank(octets: bytes) -> bytes:
    """Each letter, digit and octet beyond ASCII as `x`."""
    return octets.translate(BLANK)


class _Head:
    """Command and header lines of a frame, with the blank line."""

    def __init__(self, octets: bytes) -> None:
        found = HEAD_END.search(octets)
        self.end = found.end() if found else len(octets)
        self.lines = octets[: self.end].split(b"\n")
        self.command = self.lines[0].strip(b"\r \t").upper()

    def anonymised(self, names: Names) -> bytes:
        """The same with other names."""
        first = self.lines[0] if self.command in COMMANDS else _bytes(names.words(_text(self.lines[0])))
        return b"\n".join([first, *(self._line(line, names) for line in self.lines[1:])])

    def _line(self, line: bytes, names: Names) -> bytes:
        name, colon, value = _text(line).partition(":")
        if not colon:
            return _bytes(names.words(name))
        before, inner, after = SPACES.findall(value)[0]
        if self.command == b"ERROR" and name.strip().lower() == "message":
            written = error_text(inner, names)
        elif name.strip().lower() == "content-length" or not inner:
            written = inner
        else:
            written = names.value("ack-mode" if self.command == b"SUBSCRIBE" and name.strip().lower() == "ack" else name, inner)
        return _bytes(name + colon + before + written + after)


def error_text(text: str, names: Names) -> str:
    """What a broker says: its words stay, others and all that is quoted are replaced."""
    found, at = [], 0
    for match in QUOTED.finditer(text):
        found += [names.words(text[at : match.start()], ERROR_WORDS), names.words(match[0])]
        at = match.end()
    return "".join((*found, names.words(text[at:], ERROR_WORDS)))


def _body(octets: bytes, error: bool, names: Names) -> bytes:
    """A body, and the NUL behind it: letters by a keyed digest of it, so that equal ones stay equal; its NULs, and that it is no UTF-8."""
    inside = octets[:-1] if octets.endswith(b"\0") else octets
    if not inside:
        return octets
    if error:
        written = _bytes(error_text(_text(inside), names))
        return (written if written != inside else inside.swapcase()) + octets[len(inside) :]
    drawn = bytes(ALPHABET[one % 26] for one in hashlib.blake2b(inside, key=names.key).digest())
    filled = bytearray((drawn * (len(inside) // len(drawn) + 1))[: len(inside)])
    if b"\0" in inside:
        for match in re.finditer(rb"\0", inside):
            filled[match.start()] = 0
    if not _is_utf8(inside):
        for match in HIGH.finditer(inside):
            filled[match.start()] = 0xFF
    if filled == inside and filled.strip(b"\0"):
        filled = filled.translate(bytes.maketrans(ALPHABET, ALPHABET[1:] + ALPHABET[:1]))
    return bytes(filled) + octets[len(inside) :]


def _is_utf8(octets: bytes) -> bool:
    try:
        octets.decode()
    except UnicodeDecodeError:
        return False
    return True


def _text(octets: bytes) -> str:
    return octets.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
