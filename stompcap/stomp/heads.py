"""Heads of frames to header entries: split, unescape, make text, find the effective ones. One kernel over all frames of a batch.

STOMP 1.2, Value Encoding and Repeated Header Entries. In sessions of 1.0 the effective values are read as its peers read them: blanks
and CRs at a value's ends are no part of it, and a name that the specifications define counts in any case of its letters, where no line
of the frame spells it in lower case.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stompcap.kernel import kernel
from stompcap.stomp import grammar as g
from stompcap.stomp.names import MAY_NOT_PAD, NAMES, PLACES, PRIME, STRUCTURAL, any_case_id, digest_of, is_secret, name_id, same
from stompcap.stomp.octets import Octets, skip_blanks, trim_blanks
from stompcap.stomp.opening import declared_length
from stompcap.stomp.rows import Bools, Ints, Rows
from stompcap.stomp.strings import Offsets
from stompcap.stomp.syntax import Syntax
from stompcap.stomp.texts import CLASS, COLON_BIT, NON_ASCII, finish
from stompcap.stomp.utf8 import ESCAPED

NO_COLON, EMPTY_NAME, EMPTY_VALUE = int(Syntax.NO_COLON), int(Syntax.EMPTY_NAME), int(Syntax.EMPTY_VALUE)
RAW_COLON, PADDED = int(Syntax.RAW_COLON), int(Syntax.PADDED)
REPEATED, CONFLICTING, PASSCODE = int(Syntax.REPEATED), int(Syntax.CONFLICTING), int(Syntax.PASSCODE)

_MASK = np.frombuffer(g.MASK.encode(), np.uint8).copy()
_CONTENT_LENGTH_COLUMN = g.PROMOTED.index("content-length")


@dataclass(frozen=True)
class Heads:
    """Header entries of a batch of frames. Entry e of frame f: first[f] <= e < first[f + 1]."""

    first: Offsets
    names: Octets
    name_at: Offsets
    values: Octets
    value_at: Offsets
    has_value: Bools
    meant: npt.NDArray[np.int8]
    """Per entry: index of the name meant by one spelled in another case, else -1; its lower case is the effective name."""
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
def _line_end(octets: Octets, i: int) -> int:
    """Where blanks and CRs from i on end."""
    while octets[i] == g.SPACE or octets[i] == g.TAB or octets[i] == g.CR:
        i += 1
    return i


@kernel
def trim_line(octets: Octets, begin: int, end: int) -> int:
    """End of [begin, end) without blanks and CRs at its end."""
    while end > begin and (octets[end - 1] == g.SPACE or octets[end - 1] == g.TAB or octets[end - 1] == g.CR):
        end -= 1
    return end


@kernel
def _split(
    octets: Octets, position: Ints, body: Ints, command: Ints, versions: npt.NDArray[np.int8], syntax: Ints, keep: bool,
    first: Offsets, names: Octets, name_at: Offsets, values: Octets, value_at: Offsets, has_value: Bools, effective: Ints,
    meant: npt.NDArray[np.int8], promoted: Ints, content_length: Ints, slots: Ints, stamps: Ints, holders: Ints,
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
        last = position[frame] + body[frame] - 1
        otherwise = False
        while True:
            if octets[i] <= g.SPACE and _line_end(octets, i) == last:
                break
            # the name, up to the colon or, where there is none, the line's end
            begin = name_end
            kinds = 0
            digest = 0
            octet = octets[i]
            while octet != g.COLON and octet != g.LF:
                names[name_end] = octet
                kinds |= CLASS[octet]
                digest = (digest ^ octet) * PRIME & 0xFFFFFFFF
                name_end += 1
                i += 1
                octet = octets[i]
            colon = octet == g.COLON
            if not colon and octets[i - 1] == g.CR:
                name_end -= 1
            if kinds:
                name_end, more = finish(names, begin, name_end, kinds, escapes)
                bits |= more
            if kinds or not colon:
                digest = digest_of(names, begin, name_end)
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
                kinds |= CLASS[octet]
                value_end += 1
                i += 1
                octet = octets[i]
            crlf = value_end > start and octets[i - 1] == g.CR
            i += 1
            if crlf:
                value_end -= 1
            secret = name_end - begin >= 8 and is_secret(names, begin, name_end)
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
                if kinds & COLON_BIT:
                    bits |= RAW_COLON
                value_end, more = finish(values, start, value_end, kinds, escapes)
                bits |= more
            value_begin, value_stop = start, value_end
            known = name_id(names, begin, name_end)
            if version == 0 and known < 0:
                meant[entry] = any_case_id(names, begin, name_end)
                otherwise = otherwise or meant[entry] >= 0
            word = known
            padded = False
            if name_end > begin and (names[begin] <= g.SPACE or names[name_end - 1] <= g.SPACE):
                inner = skip_blanks(names, begin, name_end)
                word = name_id(names, inner, trim_blanks(names, inner, name_end))
                padded = True
            if value_end > start and (values[start] <= g.SPACE or values[value_end - 1] <= g.SPACE):
                trimmed = skip_blanks(values, start, value_end)
                trimmed_end = trim_blanks(values, trimmed, value_end)
                padded = padded or trimmed_end - trimmed != value_end - start
                if version == 0:
                    value_begin, value_stop = trimmed, max(trimmed, trim_line(values, trimmed, value_end))
            if padded and word >= 0 and MAY_NOT_PAD[word]:
                bits |= PADDED
            if crlf and keep_cr:
                values[value_end] = g.CR
                value_end += 1
            # the first entry of a name wins
            slot = digest & mask
            winner = -1
            while stamps[slot] == frame + 1:
                other = slots[slot]
                if same(names, begin, name_end, name_at[other], name_at[other + 1]):
                    winner = other
                    break
                slot = (slot + 1) & mask
            if winner < 0:
                stamps[slot] = frame + 1
                slots[slot] = entry
                effective[entry, 0], effective[entry, 1] = value_begin, value_stop
                plain = plain and value_begin == start and value_stop == value_end
                if known >= 0:
                    holders[known, 0], holders[known, 1] = frame + 1, entry
            else:
                plain = False
                bits |= REPEATED
                won, won_end = effective[winner, 0], effective[winner, 1]
                if known >= 0 and STRUCTURAL[known] and not same(values, value_begin, value_stop, won, won_end):
                    bits |= CONFLICTING
            entry += 1
            name_at[entry] = name_end
        if otherwise:
            plain = False
            for e in range(first[frame], entry):
                if meant[e] >= 0 and effective[e, 0] >= 0:
                    if holders[meant[e], 0] == frame + 1:
                        effective[e, 0] = -1
                    else:
                        holders[meant[e], 0], holders[meant[e], 1] = frame + 1, e
        for column in range(PLACES.size):
            if holders[PLACES[column], 0] == frame + 1:
                e = holders[PLACES[column], 1]
                promoted[column, 0, frame] = effective[e, 0]
                promoted[column, 1, frame] = effective[e, 1] - effective[e, 0]
                if column == _CONTENT_LENGTH_COLUMN:
                    content_length[frame] = max(-1, declared_length(values, effective[e, 0], effective[e, 1]))
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
    meant = np.full(entries, -1, np.int8)
    effective = np.empty((entries, 2), np.int64)
    promoted = np.full((len(g.PROMOTED), 2, count), -1, np.int64)
    content_length = np.full(count, -1, np.int64)
    syntax = frames.syntax.copy()
    _, plain = _split(
        octets, frames.position, frames.body, frames.command, versions, syntax, keep_credentials, first, names, name_at, values,
        value_at, has_value, effective, meant, promoted, content_length, np.empty(table, np.int64), np.zeros(table, np.int64),
        np.zeros((len(NAMES), 2), np.int64),
    )
    return Heads(
        first, names[: name_at[-1]], name_at, values[: value_at[-1]], value_at, has_value, meant, effective, plain, promoted,
        content_length, syntax,
    )
