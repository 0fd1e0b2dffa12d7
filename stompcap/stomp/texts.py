"""Pieces of header lines to text: replaces escapes, and makes valid UTF-8 (STOMP 1.2, Value Encoding).

Undefined escapes are unchanged and flagged; nothing is dropped and nothing is fatal.
"""

from __future__ import annotations

import numpy as np

from stompcap.columns import Octets
from stompcap.kernel import allocating, callee
from stompcap.stomp import grammar as g
from stompcap.stomp.syntax import Syntax
from stompcap.stomp.utf8 import escape, is_utf8

NON_ASCII, NON_UTF8 = int(Syntax.NON_ASCII), int(Syntax.NON_UTF8)
BACKSLASHED, UNDEFINED = int(Syntax.BACKSLASH), int(Syntax.UNDEFINED_ESCAPE)

# classes of octets, in bits, so that a line is copied without a branch for each kind
HIGH, SLASH, COLON_BIT = 1, 2, 4
CLASS = np.zeros(256, np.uint8)
CLASS[128:] = HIGH
CLASS[g.BACKSLASH] = SLASH
CLASS[g.COLON] = COLON_BIT


@callee
def unescape(out: Octets, begin: int, end: int, version: int) -> tuple[int, bool]:
    """Replace the version's escapes in place: (new end, whether there was an undefined one)."""
    at = begin
    undefined = False
    i = begin
    while i < end:
        octet = out[i]
        if octet == g.BACKSLASH:
            value = g.ESCAPE_VALUES[version, out[i + 1]] if i + 1 < end else 0
            if value:
                out[at] = value
                i += 2
                at += 1
                continue
            undefined = True
        out[at] = octet
        at += 1
        i += 1
    return at, undefined


@allocating
def finish(out: Octets, begin: int, end: int, kinds: int, version: int) -> tuple[int, int]:
    """Unescape a copied piece (version -1: not) and make it UTF-8; `kinds` is the sum of its octets' CLASS: (new end, syntax bits)."""
    syntax = 0
    if kinds & SLASH:
        syntax |= BACKSLASHED
        if version > 0:
            end, undefined = unescape(out, begin, end, version)
            if undefined:
                syntax |= UNDEFINED
    if kinds & HIGH:
        syntax |= NON_ASCII
        if not is_utf8(out, begin, end):
            syntax |= NON_UTF8
            copied = out[begin:end].copy()
            end = escape(copied, 0, copied.size, out, begin)
    return end, syntax
