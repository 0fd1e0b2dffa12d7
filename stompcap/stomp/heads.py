"""Heads of frames to header entries: split, unescape, decode, find the effective ones. One kernel for all frames of a batch.

STOMP 1.2, Value Encoding and Repeated Header Entries. In sessions of 1.0 the effective values are read as its peers read them: blanks
and CRs at a value's ends are no part of it, and a name that the specifications define matches in any case, where no line
of the frame has it in lower case.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from stompcap.columns import I8, I32, I64, Bools, Octets
from stompcap.kernel import callee, inline, kernel
from stompcap.stomp import grammar as g
from stompcap.stomp.delimiter_io import Rows
from stompcap.stomp.header_lines import line_end, shorten, take_name, take_value, without_blanks
from stompcap.stomp.names import NAMES, PROMOTED_IDS, STRUCTURAL, any_case_id, name_id, same
from stompcap.stomp.opening import declared_length
from stompcap.stomp.secret_names import SECRET_NAMES, SecretNames, is_secret
from stompcap.stomp.syntax import Syntax
from stompcap.stomp.texts import NON_ASCII
from stompcap.stomp.utf8 import ESCAPED

NO_COLON, EMPTY_NAME = int(Syntax.NO_COLON), int(Syntax.EMPTY_NAME)
REPEATED, CONFLICTING, PASSCODE = int(Syntax.REPEATED), int(Syntax.CONFLICTING), int(Syntax.PASSCODE)
_CONTENT_LENGTH_COLUMN = g.PROMOTED.index("content-length")


@dataclass(frozen=True)
class Heads:
    """Header entries of a batch of frames. Entry e of frame f: first[f] <= e < first[f + 1]."""

    first: I32
    names: Octets
    name_at: I32
    values: Octets
    value_at: I32
    has_value: Bools
    meant: I8
    """Per entry: index of the name that one in another case matches, else -1; its lower case is the effective name."""
    effective: I64
    """Per entry: where the effective value begins and ends in `values`; begin is -1 where an earlier entry wins or there is no colon."""
    plain: bool
    """All entries are effective, unchanged."""
    promoted: I64
    """Per promoted header and frame: begin and length of the effective value in `values`; length -1 where there is none."""
    content_length: I64
    """Per frame; -1 where absent or not a number of 63 bits."""
    syntax: I64
    """Per frame: the delimiter's bits and those of the head."""


class Frames(NamedTuple):
    """Frames as the kernels take them: where each begins, the offset of its body, its command and version, its syntax bits."""

    position: I64
    body: I64
    command: I64
    version: I8
    syntax: I64
    masked: Bools
    """Something in the frame's octets is masked."""


class Entries(NamedTuple):
    """Columns for header entries, as in Heads; those of names and values have one row more, the begin of the next entry."""

    names: Octets
    name_at: I32
    values: Octets
    value_at: I32
    has_value: Bools
    effective: I64
    meant: I8


class Seen(NamedTuple):
    """The entries of a frame by name, hashed and stamped with the frame's number; and the entry of each of NAMES, stamped alike."""

    slots: I64
    stamps: I64
    holders: I64


@inline
def _first_of_name(
    names: Octets, begin: int, end: int, name_at: I32, slots: I64, stamps: I64, stamp: int, entry: int, digest: int
) -> int:
    """The frame's earlier entry with the name [begin, end); -1 where there is none, and this one is remembered."""
    mask = slots.size - 1
    slot = digest & mask
    while stamps[slot] == stamp:
        other: int = slots[slot]
        if same(names, begin, end, name_at[other], name_at[other + 1]):
            return other
        slot = (slot + 1) & mask
    stamps[slot] = stamp
    slots[slot] = entry
    return -1


@callee
def _choose_cases(meant: I8, effective: I64, holders: I64, stamp: int, first: int, end: int) -> None:
    """Let entries of [first, end) whose name is in another case stand for it, where none has it in lower case."""
    for entry in range(first, end):
        word = meant[entry]
        if word >= 0 and effective[entry, 0] >= 0:
            if holders[word, 0] == stamp:
                effective[entry, 0] = -1
            else:
                holders[word, 0], holders[word, 1] = stamp, entry


@inline
def _promote(values: Octets, effective: I64, holders: I64, frame: int, promoted: I64, content_length: I64) -> None:
    """Note where the values of a frame's promoted headers are."""
    for column in range(PROMOTED_IDS.size):
        if holders[PROMOTED_IDS[column], 0] == frame + 1:
            entry = holders[PROMOTED_IDS[column], 1]
            begin, end = effective[entry, 0], effective[entry, 1]
            promoted[column, 0, frame], promoted[column, 1, frame] = begin, end - begin
            if column == _CONTENT_LENGTH_COLUMN:
                content_length[frame] = max(-1, declared_length(values, begin, end))


@kernel
def _split(
    octets: Octets, frames: Frames, keep: bool, secrets: SecretNames, first: I32, entries: Entries, promoted: I64,
    content_length: I64, seen: Seen,
) -> bool:
    """Fill the columns, and the frames' syntax bits; whether all entries are effective, unchanged."""
    names, name_at, values, value_at, has_value, effective, meant = entries
    position, body, command, versions, syntax, masked = frames
    slots, stamps, holders = seen
    entry = name_end = value_end = 0
    plain = True
    for frame in range(position.size):
        first[frame] = entry
        version, code, bits = versions[frame], command[frame], syntax[frame]
        handshake = code == g.CONNECT or code == g.STOMP or code == g.CONNECTED
        escapes = -1 if handshake else (2 if version < 0 else version)
        keep_cr = not handshake and (version == 0 or version == 1)
        i, last = position[frame], position[frame] + body[frame] - 1
        while octets[i] != g.LF:
            i += 1
        i += 1
        otherwise = False
        while octets[i] > g.SPACE or line_end(octets, i) != last:
            begin, start = name_end, value_end
            i, name_end, digest, more = take_name(octets, i, names, begin, escapes)
            bits |= more
            name_at[entry], name_at[entry + 1], value_at[entry] = begin, name_end, start
            has_value[entry] = octets[i] == g.COLON
            effective[entry, 0] = effective[entry, 1] = -1
            i += 1
            if not has_value[entry]:
                bits |= NO_COLON
                plain = False
                entry += 1
                continue
            # the delimiter has marked the frames that have one
            secret = bits & PASSCODE != 0 and is_secret(names, begin, name_end, secrets)
            i, value_end, more = take_value(octets, i, values, start, escapes, secret and not keep)
            if masked[frame] and not secret:
                value_end = shorten(values, start, value_end)
            bits |= more | (EMPTY_NAME if name_end == begin else 0)
            known = name_id(names, begin, name_end)
            if version == 0 and known < 0:
                meant[entry] = any_case_id(names, begin, name_end)
                otherwise = otherwise or meant[entry] >= 0
            value_begin, value_stop, more = without_blanks(names, begin, name_end, values, start, value_end, version, known)
            bits |= more
            if keep_cr and octets[i - 1] == g.CR:
                values[value_end] = g.CR
                value_end += 1
            i += 1
            winner = _first_of_name(names, begin, name_end, name_at, slots, stamps, frame + 1, entry, digest)
            if winner < 0:
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
        if otherwise:
            plain = False
            _choose_cases(meant, effective, holders, frame + 1, first[frame], entry)
        _promote(values, effective, holders, frame, promoted, content_length)
        syntax[frame] = bits
    first[position.size] = entry
    value_at[entry] = value_end
    return plain


def split_heads(
    octets: Octets, frames: Rows, versions: I8, keep_credentials: bool, masked: Bools, secrets: SecretNames = SECRET_NAMES
) -> Heads:
    """Header entries of frames.

    Args:
        octets: the buffer that contains the frames.
        frames: rows of kind frame.
        versions: per frame: 0 = 1.0, 1 = 1.1, 2 = 1.2, -1 = unknown, which is read as 1.2.
        keep_credentials: leave secrets readable.
        masked: per frame: something in its octets is masked.
        secrets: headers whose values are secret, as the delimiter was given them.

    Raises:
        OverflowError: where the names or the values exceed 2 GiB.
    """
    count, lines = len(frames), int(frames.lines.sum())
    high = (frames.syntax & NON_ASCII) != 0
    room = int(frames.body.sum()) + (ESCAPED - 1) * int(frames.body[high].sum()) + (len(g.MASK.encode()) + 1) * lines
    if room > (1 << 31) - 1:
        raise OverflowError("more than 2 GiB of headers in one batch: decode fewer frames at once")
    table = 64
    while table < 2 * int(frames.lines.max(initial=0)):
        table *= 2
    seen = Seen(np.empty(table, np.int64), np.zeros(table, np.int64), np.zeros((len(NAMES), 2), np.int64))
    entries = Entries(
        np.empty(room, np.uint8), np.zeros(lines + 1, np.int32), np.empty(room, np.uint8), np.zeros(lines + 1, np.int32),
        np.zeros(lines, np.bool_), np.empty((lines, 2), np.int64), np.full(lines, -1, np.int8),
    )  # fmt: skip
    first, content_length = np.zeros(count + 1, np.int32), np.full(count, -1, np.int64)
    promoted = np.full((len(g.PROMOTED), 2, count), -1, np.int64)
    rows = Frames(frames.position, frames.body, frames.command, versions, frames.syntax.copy(), masked)
    plain = _split(octets, rows, keep_credentials, secrets, first, entries, promoted, content_length, seen)
    names, values = entries.names[: entries.name_at[-1]], entries.values[: entries.value_at[-1]]
    return Heads(
        first, names, entries.name_at, values, entries.value_at, entries.has_value, entries.meant, entries.effective, plain, promoted,
        content_length, rows.syntax,
    )  # fmt: skip
