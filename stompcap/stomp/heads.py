"""Heads of frames to header entries: split, unescape, make text, find the effective ones. One kernel over all frames of a batch.

STOMP 1.2, Value Encoding and Repeated Header Entries. What a version does not define stays as it is and is flagged; nothing is
dropped and nothing is fatal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stompcap.kernel import kernel
from stompcap.stomp import grammar as g
from stompcap.stomp.octets import Octets, equals, fold, skip_blanks, skip_low, trim_blanks
from stompcap.stomp.opening import declared_length
from stompcap.stomp.rows import Bools, Ints, Rows
from stompcap.stomp.strings import Offsets
from stompcap.stomp.syntax import Syntax
from stompcap.stomp.utf8 import ESCAPED, escape, is_utf8

NO_COLON, EMPTY_NAME, EMPTY_VALUE = int(Syntax.NO_COLON), int(Syntax.EMPTY_NAME), int(Syntax.EMPTY_VALUE)
NON_ASCII, NON_UTF8, BACKSLASHED = int(Syntax.NON_ASCII), int(Syntax.NON_UTF8), int(Syntax.BACKSLASH)
UNDEFINED, RAW_COLON, PADDED = int(Syntax.UNDEFINED_ESCAPE), int(Syntax.RAW_COLON), int(Syntax.PADDED)
REPEATED, CONFLICTING, PASSCODE = int(Syntax.REPEATED), int(Syntax.CONFLICTING), int(Syntax.PASSCODE)

# names by length, so that a header is compared with few
_NAMES = tuple(sorted(g.STRUCTURAL, key=len))
_NAME_OCTETS, _NAME_LENGTHS = g.pack(_NAMES)
_LONGEST = int(_NAME_LENGTHS.max())
_FIRST_OF_LENGTH = np.searchsorted(_NAME_LENGTHS, np.arange(_LONGEST + 2))
_COLUMN = np.array([g.PROMOTED.index(n) if n in g.PROMOTED else -1 for n in _NAMES])
_MAY_NOT_PAD = np.array([n in g.UNPADDED for n in _NAMES])
_SECRET_ID = _NAMES.index(g.SECRET)
_MASK = np.frombuffer(g.MASK.encode(), np.uint8).copy()
_CONTENT_LENGTH_COLUMN = g.PROMOTED.index("content-length")

# what an octet is, in bits, so that a line is copied without a branch for each kind
_HIGH, _SLASH, _COLON_BIT = 1, 2, 4
_CLASS = np.zeros(256, np.uint8)
_CLASS[128:] = _HIGH
_CLASS[g.BACKSLASH] = _SLASH
_CLASS[g.COLON] = _COLON_BIT

_PRIME = 0x01000193


@dataclass(frozen=True)
class Heads:
    """Header entries of a batch of frames. Entry e of frame f: first[f] <= e < first[f + 1]."""

    first: Offsets
    names: Octets
    name_at: Offsets
    values: Octets
    value_at: Offsets
    has_value: Bools
    effective: Ints
    """Per entry: where the effective value begins and ends in `values`; begin is -1 where an earlier entry wins or a colon lacks."""
    plain: bool
    """All entries are effective as they stand."""
    promoted: Ints
    """Per promoted header and frame: begin and length of the effective value in `values`; length -1 where there is none."""
    content_length: Ints
    """Per frame; -1 where absent or no number of 63 bits."""
    syntax: Ints
    """Per frame: the delimiter's bits and those of the head."""


@kernel
def _hash(octets: Octets, begin: int, end: int) -> int:
    value = 0
    for i in range(begin, end):
        value = (value ^ octets[i]) * _PRIME & 0xFFFFFFFF
    return value ^ (value >> 15)


@kernel
def _same(a: Octets, begin: int, end: int, other: int, other_end: int) -> bool:
    if end - begin != other_end - other:
        return False
    for k in range(end - begin):
        if a[begin + k] != a[other + k]:
            return False
    return True


@kernel
def _name_id(octets: Octets, begin: int, end: int) -> int:
    """Index of a structural header's name, or -1."""
    length = end - begin
    if length < 1 or length > _LONGEST:
        return -1
    for word in range(_FIRST_OF_LENGTH[length], _FIRST_OF_LENGTH[length + 1]):
        if octets[begin] == _NAME_OCTETS[word, 0] and equals(octets, begin, end, _NAME_OCTETS[word, :length]):
            return word
    return -1


@kernel
def _is_secret(octets: Octets, begin: int, end: int) -> bool:
    """Whether a name is that of the passcode, in any case, blanks around it left out."""
    begin = skip_low(octets, begin, end)
    while end > begin and octets[end - 1] <= g.SPACE:
        end -= 1
    if end - begin != _NAME_LENGTHS[_SECRET_ID]:
        return False
    for k in range(end - begin):
        if fold(octets[begin + k]) != _NAME_OCTETS[_SECRET_ID, k]:
            return False
    return True


@kernel
def _unescape(out: Octets, begin: int, end: int, version: int) -> tuple[int, bool]:
    """Replace the version's escapes in place: (new end, whether there was one it does not define)."""
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


@kernel
def _finish(out: Octets, begin: int, end: int, kinds: int, version: int) -> tuple[int, int]:
    """Unescape a copied piece (version -1: not) and make it UTF-8: (new end, syntax bits)."""
    syntax = 0
    if kinds & _SLASH:
        syntax |= BACKSLASHED
        if version > 0:
            end, undefined = _unescape(out, begin, end, version)
            if undefined:
                syntax |= UNDEFINED
    if kinds & _HIGH:
        syntax |= NON_ASCII
        if not is_utf8(out, begin, end):
            syntax |= NON_UTF8
            piece = out[begin:end].copy()
            end = escape(piece, 0, piece.size, out, begin)
    return end, syntax


@kernel
def _split(
    octets: Octets, position: Ints, body: Ints, command: Ints, versions: npt.NDArray[np.int8], syntax: Ints, keep: bool,
    first: Offsets, names: Octets, name_at: Offsets, values: Octets, value_at: Offsets, has_value: Bools, effective: Ints,
    promoted: Ints, content_length: Ints, slots: Ints, stamps: Ints,
) -> tuple[int, bool]:
    entry = 0
    name_end = value_end = 0
    plain = True
    mask = slots.size - 1
    for frame in range(position.size):
        first[frame] = entry
        version = versions[frame]
        code = command[frame]
        handshake = code == g.CONNECT or code == g.STOMP or code == g.CONNECTED
        escapes = -1 if handshake else (2 if version < 0 else version)
        keep_cr = not handshake and (version == 0 or version == 1)
        bits = syntax[frame]
        i = position[frame]
        while octets[i] != g.LF:
            i += 1
        i += 1
        while True:
            if octets[i] == g.LF or (octets[i] == g.CR and octets[i + 1] == g.LF):
                break
            # the name, up to the colon or, where there is none, the line's end
            begin = name_end
            kinds = 0
            digest = 0
            octet = octets[i]
            while octet != g.COLON and octet != g.LF:
                names[name_end] = octet
                kinds |= _CLASS[octet]
                digest = (digest ^ octet) * _PRIME & 0xFFFFFFFF
                name_end += 1
                i += 1
                octet = octets[i]
            colon = octet == g.COLON
            if not colon and octets[i - 1] == g.CR:
                name_end -= 1
            if kinds:
                name_end, more = _finish(names, begin, name_end, kinds, escapes)
                bits |= more
            if kinds or not colon:
                digest = _hash(names, begin, name_end)
            else:
                digest ^= digest >> 15
            name_at[entry] = begin
            value_at[entry] = value_end
            has_value[entry] = colon
            effective[entry, 0] = effective[entry, 1] = -1
            if not colon:
                bits |= NO_COLON
                plain = False
                entry += 1
                i += 1
                continue
            # the value, up to the line's end
            i += 1
            start = value_end
            kinds = 0
            octet = octets[i]
            while octet != g.LF:
                values[value_end] = octet
                kinds |= _CLASS[octet]
                value_end += 1
                i += 1
                octet = octets[i]
            crlf = value_end > start and octets[i - 1] == g.CR
            i += 1
            if crlf:
                value_end -= 1
            secret = name_end - begin >= 8 and _is_secret(names, begin, name_end)
            if name_end == begin:
                bits |= EMPTY_NAME
            if value_end == start:
                bits |= EMPTY_VALUE
            if secret:
                bits |= PASSCODE
            if secret and not keep:
                # nothing of it shows, not even which octets it had
                value_end = start + _MASK.size
                for k in range(_MASK.size):
                    values[start + k] = _MASK[k]
            elif kinds:
                if kinds & _COLON_BIT:
                    bits |= RAW_COLON
                value_end, more = _finish(values, start, value_end, kinds, escapes)
                bits |= more
            value_begin, value_stop = start, value_end
            known = _name_id(names, begin, name_end)
            word = known
            padded = False
            if name_end > begin and (names[begin] <= g.SPACE or names[name_end - 1] <= g.SPACE):
                inner = skip_blanks(names, begin, name_end)
                word = _name_id(names, inner, trim_blanks(names, inner, name_end))
                padded = True
            if value_end > start and (values[start] <= g.SPACE or values[value_end - 1] <= g.SPACE):
                trimmed = skip_blanks(values, start, value_end)
                trimmed_end = trim_blanks(values, trimmed, value_end)
                padded = padded or trimmed_end - trimmed != value_end - start
                if version == 0:
                    value_begin, value_stop = trimmed, trimmed_end
            if padded and word >= 0 and _MAY_NOT_PAD[word]:
                bits |= PADDED
            if crlf and keep_cr:
                values[value_end] = g.CR
                value_end += 1
            # the first entry of a name wins
            slot = digest & mask
            winner = -1
            while stamps[slot] == frame + 1:
                other = slots[slot]
                if _same(names, begin, name_end, name_at[other], name_at[other + 1]):
                    winner = other
                    break
                slot = (slot + 1) & mask
            if winner < 0:
                stamps[slot] = frame + 1
                slots[slot] = entry
                effective[entry, 0], effective[entry, 1] = value_begin, value_stop
                plain = plain and value_begin == start and value_stop == value_end
                if known >= 0 and _COLUMN[known] >= 0:
                    promoted[_COLUMN[known], 0, frame] = value_begin
                    promoted[_COLUMN[known], 1, frame] = value_stop - value_begin
                    if _COLUMN[known] == _CONTENT_LENGTH_COLUMN:
                        content_length[frame] = max(-1, declared_length(values, value_begin, value_stop))
            else:
                plain = False
                bits |= REPEATED
                if known >= 0 and not _same(values, value_begin, value_stop, effective[winner, 0], effective[winner, 1]):
                    bits |= CONFLICTING
            entry += 1
            name_at[entry] = name_end
        syntax[frame] = bits
    first[position.size] = entry
    name_at[entry] = name_end
    value_at[entry] = value_end
    return entry, plain


def split_heads(octets: Octets, frames: Rows, versions: npt.NDArray[np.int8], keep_credentials: bool) -> Heads:
    """Header entries of frames.

    Args:
        octets: the buffer that the frames lie in.
        frames: rows of kind frame.
        versions: per frame: 0 = 1.0, 1 = 1.1, 2 = 1.2, -1 = unknown, which is read as 1.2.
        keep_credentials: leave passcodes readable.

    Raises:
        OverflowError: where the names or the values exceed 2 GiB.
    """
    count, entries = len(frames), int(frames.lines.sum())
    high = (frames.syntax & NON_ASCII) != 0
    room = int(frames.body.sum()) + (ESCAPED - 1) * int(frames.body[high].sum()) + (_MASK.size + 1) * entries
    if room > (1 << 31) - 1:
        raise OverflowError("more than 2 GiB of headers in one batch: decode fewer frames at once")
    table = 64
    while table < 2 * int(frames.lines.max(initial=0)):
        table *= 2
    first = np.zeros(count + 1, np.int32)
    names, values = np.empty(room, np.uint8), np.empty(room, np.uint8)
    name_at, value_at = np.zeros(entries + 1, np.int32), np.zeros(entries + 1, np.int32)
    has_value = np.zeros(entries, np.bool_)
    effective = np.empty((entries, 2), np.int64)
    promoted = np.full((len(g.PROMOTED), 2, count), -1, np.int64)
    content_length = np.full(count, -1, np.int64)
    syntax = frames.syntax.copy()
    _, plain = _split(
        octets, frames.position, frames.body, frames.command, versions, syntax, keep_credentials, first, names, name_at, values,
        value_at, has_value, effective, promoted, content_length, np.empty(table, np.int64), np.zeros(table, np.int64),
    )
    return Heads(
        first, names[: name_at[-1]], name_at, values[: value_at[-1]], value_at, has_value, effective, plain, promoted, content_length,
        syntax,
    )
