"""The forms in which a secret may be repeated: as it is, and as STOMP, JSON, URLs, hex and base64 write it."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from urllib.parse import quote, quote_plus

from stompcap.stomp.grammar import ESCAPES

LEAST = 6
"""Octets of a secret, and of a form, that is searched for: most matches of shorter ones would be accidental."""
BEFORE, BEHIND = 1, 2
"""Bits of a form in base64: the digit before it, or behind it, has bits of the secret too."""
PLAIN = {octet.encode(): plain.encode() for octet, plain in ESCAPES[-1].items()}
ESCAPED = {plain: b"\\" + octet for octet, plain in PLAIN.items()}
SAFE = ("", "/", "-_.!~*'()", "-_.*")
"""What encoders of URLs leave as it is, besides letters, digits and `-_.~`: all reserved, paths, encodeURIComponent, Java's."""
PLAINEST = re.compile(rb"[A-Za-z0-9_.-]*")
URL_DIGITS = bytes.maketrans(b"+/", b"-_")
HTML = str.maketrans({mark: f"\\u{ord(mark):04x}" for mark in "<>&'"})


@lru_cache(maxsize=1 << 14)
def forms(secret: bytes) -> tuple[tuple[bytes, str, int], ...]:
    """The forms of a secret: octets, the form's name, and bits BEFORE and BEHIND; none is shorter than LEAST."""
    found: dict[bytes, tuple[str, int]] = {}
    plain = re.sub(rb"\\(.)", lambda escape: PLAIN.get(escape[1], escape[0]), secret)
    for one in dict.fromkeys((secret, plain)):
        for octets, name, edges in _forms(one):
            if len(octets) >= LEAST:
                found.setdefault(octets, (name, edges))
    return tuple((octets, *spelling) for octets, spelling in found.items())


def _forms(secret: bytes) -> Iterator[tuple[bytes, str, int]]:
    """All forms, some of them alike."""
    if len(secret) < LEAST:
        return
    yield secret, "plain", 0
    if not PLAINEST.fullmatch(secret):
        yield from _written(secret)
    for written in (secret.hex(), secret.hex().upper()):
        yield written.encode(), "hex", 0
        yield re.sub("..", r"%\g<0>", written).encode(), "url", 0
    yield from ((octets, "json", 0) for octets in _every_unit(secret))
    for skipped in range(3):
        core, edges = _base64(secret, skipped)
        yield core, "base64", edges
        yield core.translate(URL_DIGITS), "base64", edges


def _written(secret: bytes) -> Iterator[tuple[bytes, str, int]]:
    """As STOMP, URLs and JSON write what they do not leave as it is."""
    yield re.sub(rb"[\\:\n\r]", lambda mark: ESCAPED[mark[0]], secret), "plain", 0
    for safe in SAFE:
        for written in (quote(secret, safe=safe), quote_plus(secret, safe=safe)):
            yield written.encode(), "url", 0
            yield re.sub("%..", lambda escape: escape[0].lower(), written).encode(), "url", 0
            yield written.replace("~", "%7E").encode(), "url", 0
    yield from ((octets, "json", 0) for octets in _json(secret))


def _json(secret: bytes) -> Iterator[bytes]:
    """The secret as JSON writers spell it in a string."""
    try:
        text = secret.decode()
    except UnicodeDecodeError:
        return
    for ascii_only in (True, False):
        written = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        for spelled in (written, written.replace("/", "\\/"), written.translate(HTML)):
            yield spelled.encode()
            yield re.sub(r"\\u[0-9a-f]{4}", lambda escape: "\\u" + escape[0][2:].upper(), spelled).encode()


def _every_unit(secret: bytes) -> Iterator[bytes]:
    """The secret as a string of JSON with each unit of UTF-16 as an escape."""
    with suppress(UnicodeDecodeError):
        units = secret.decode().encode("utf-16-be").hex()
        for written in (units, units.upper()):
            yield re.sub("....", r"\\u\g<0>", written).encode()


def _base64(secret: bytes, skipped: int) -> tuple[bytes, int]:
    """The digits that are the secret's alone where so many octets, of the three that four digits spell, come before it."""
    digits = base64.b64encode(bytes(skipped) + secret).rstrip(b"=")
    begin = -(-8 * skipped // 6)
    complete = 8 * (skipped + len(secret)) // 6
    edges = (BEFORE if skipped else 0) | (BEHIND if 8 * (skipped + len(secret)) % 6 else 0)
    return digits[begin:complete], edges
