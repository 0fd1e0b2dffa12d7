"""Byte streams to rows: every octet of every direction in exactly one row, frames among them (STOMP 1.2, Augmented BNF).

The rows of a direction meet end to start from 0 to its length, gaps included (the tiling invariant). The rows do not depend on how
the octets were cut into calls. Time is linear in the octets, for any octets.
"""

from __future__ import annotations

import numpy as np

from stompcap import codes
from stompcap.columns import I64, Bools, Octets
from stompcap.kernel import callee, kernel
from stompcap.stomp import closing, opening, resync
from stompcap.stomp import delimiter_io as r
from stompcap.stomp import phases as p
from stompcap.stomp.delimiter_io import Rows, Runs, State
from stompcap.stomp.lookahead import open_nul
from stompcap.stomp.marks import mark
from stompcap.stomp.octets import readonly
from stompcap.stomp.secret_names import SECRET_NAMES, SecretNames

SPARE = 4
"""Rows that must fit before a step is taken: a step writes at most one, a gap another."""


@callee
def _move(s: I64, shift: int) -> None:
    """Shift the positions in a state; negative ones mean none, and so does 0 for LOOK."""
    s[r.DONE] += shift
    s[r.SEARCH] += shift
    s[r.LINE] += shift
    if s[r.LOOK] > 0:
        s[r.LOOK] += shift
    if s[r.BODY] >= 0:
        s[r.BODY] += shift
    if s[r.EXPECTED] >= 0:
        s[r.EXPECTED] += shift


@callee
def _cut(octets: Octets, s: I64, end: int, declared: int, out: I64, count: int) -> None:
    """The row just written ends at a limit, before its true end: what follows goes on as behind a gap of no octets.

    Junk is cut before a NUL that a frame may follow, as far as the available octets show.
    """
    kind = out[p.KIND, count - 1]
    if s[r.DONE] != end or (kind != codes.PARTIAL and (kind != codes.JUNK or out[p.ROW_SYNTAX, count - 1] & p.STRAY_NUL)):
        return
    out[p.ROW_SYNTAX, count - 1] |= p.TOO_LARGE
    if kind == codes.PARTIAL and declared >= end and s[r.LENGTH] <= p.BELIEVED:
        s[r.EXPECTED] = declared
    if kind == codes.JUNK and s[r.EXPECTED] < 0:
        nul = open_nul(octets, out[p.POSITION, count - 1], end, p.sender(s))
        if nul > out[p.POSITION, count - 1]:
            out[p.OCTETS, count - 1] = nul - out[p.POSITION, count - 1]
            s[r.DONE] = nul
    p.lose(s)


@callee
def _stretch(
    octets: Octets, s: I64, stretch_end: int, done: bool, final: bool, limits: I64, names: SecretNames, out: I64, count: int
) -> int:
    """Walk one contiguous stretch from the state's position to `stretch_end`; stops early where `out` is full.

    A phase sees no more than a limit allows, as if the stretch were closed there: what is undecided by then is cut off.
    """
    on = True
    while on and s[r.DONE] < stretch_end and count + SPARE <= out.shape[1]:
        phase = s[r.PHASE]
        in_body = phase == p.BODY_TO_NUL or phase == p.BODY_BY_LENGTH or phase == p.TOO_LONG or phase == p.TOO_SHORT
        end = s[r.DONE] + (limits[1] if in_body else limits[0])
        large = end < stretch_end
        end = min(end, stretch_end)
        closed, last = done or large, final and not large
        declared = closing.declared_end(s) if phase == p.BODY_BY_LENGTH or phase == p.TOO_LONG else -1
        before = count
        if phase == p.BETWEEN:
            on = opening.between(octets, s, end, closed)
        elif phase == p.COMMAND:
            on, count = opening.command(octets, s, end, closed, out, count)
        elif phase == p.HEAD:
            on, count = opening.head(octets, s, end, closed, names, out, count)
        elif phase == p.BODY_TO_NUL:
            on, count = closing.body_to_nul(octets, s, end, closed, out, count)
        elif phase == p.BODY_BY_LENGTH:
            # a length beyond the limit is disbelieved where frames begin before it, as at the stream's end
            on, count = closing.body_by_length(octets, s, end, closed, last or large, out, count)
        elif phase == p.EOLS:
            on, count = opening.eols(octets, s, end, closed, out, count)
        elif phase == p.NULS:
            on, count = opening.nuls(octets, s, end, closed, out, count)
        elif phase == p.TOO_LONG:
            on, count = closing.too_long(octets, s, end, closed, out, count)
        elif phase == p.TOO_SHORT:
            on, count = closing.too_short(octets, s, end, closed, last, out, count)
        elif phase == p.RESYNC:
            on, count = resync.resync(octets, s, end, closed, out, count)
        elif phase == p.BOUNDARY:
            on = resync.at_boundary(octets, s, end, closed)
        else:
            on, count = resync.tail(octets, s, end, closed, last, out, count)
        if large and count > before:
            _cut(octets, s, end, declared, out, count)
    return count


@callee
def _gap(s: I64, direction: int, end: int, unsure: bool, out: I64, count: int) -> int:
    """Write the gap [DONE, end) and prepare to resynchronise behind it; positions are stream offsets here.

    Where its length is `unsure`, no end of a body is expected behind it.
    """
    out[:, count] = 0
    out[p.DIRECTION, count] = direction
    out[p.OFFSET, count] = s[r.DONE]
    out[p.POSITION, count] = -1
    out[p.OCTETS, count] = end - s[r.DONE]
    out[p.KIND, count] = codes.GAP
    out[p.DELIMITED, count] = -1
    out[p.ROW_BODY, count] = -1
    out[p.ROW_COMMAND, count] = -1
    s[r.DONE] = end
    if unsure:
        out[p.ROW_SYNTAX, count] = p.LENGTH_UNKNOWN
        s[r.EXPECTED] = -1
    p.lose(s)
    return count + 1


@kernel
def _walk(
    octets: Octets, direction: I64, position: I64, length: I64, offset: I64, unsure: Bools, final: Bools, total: I64,
    limits: I64, names: SecretNames, state: I64, out: I64,
) -> tuple[int, int]:
    """Delimit runs: (rows written, next run). The next run is below their number where `out` is full."""
    count = 0
    run = 0
    while run < direction.size:
        d = direction[run]
        s = state[d]
        end = offset[run] + length[run]
        if count + SPARE > out.shape[1]:
            return count, run
        if offset[run] > s[r.DONE]:
            count = _gap(s, d, offset[run], unsure[run], out, count)
        if end > s[r.DONE]:
            more = run + 1 < direction.size and direction[run + 1] == d
            missing = more or (final[d] and total[d] > end)
            closed = missing or final[d]
            shift = position[run] - offset[run]
            before = count
            _move(s, shift)
            count = _stretch(octets, s, end + shift, closed, closed and not missing, limits, names, out, count)
            _move(s, -shift)
            for i in range(before, count):
                out[p.DIRECTION, i] = d
                out[p.OFFSET, i] = out[p.POSITION, i] - shift
            if s[r.DONE] < end and (closed or count + SPARE > out.shape[1]):
                return count, run
        if (run + 1 == direction.size or direction[run + 1] != d) and final[d] and total[d] > s[r.DONE]:
            if count + SPARE > out.shape[1]:
                return count, run
            count = _gap(s, d, total[d], False, out, count)
        run += 1
    return count, run


def beginning(synced: Bools, lenient: bool = False) -> State:
    """The state before the first octet, per direction: one whose beginning was not captured is resynchronised as behind a gap."""
    numbers = np.zeros((synced.size, r.STATE_FIELDS), np.int64)
    numbers[:, [r.LENGTH, r.BODY, r.COMMAND, r.EXPECTED]] = -1
    numbers[:, r.PHASE] = np.where(synced, p.BETWEEN, p.BOUNDARY)
    numbers[:, r.BEGUN] = ~synced
    numbers[:, r.FOOTING] = np.where(synced, r.FIRM, r.LOST)
    numbers[:, r.LENIENT] = lenient
    return State(numbers)


def _checked(runs: Runs, octets: Octets, state: State) -> Runs:
    """The runs without empty ones, and with one empty run for each direction that has none; ValueError for invalid runs."""
    direction = runs.direction.astype(np.int64)
    if (runs.length < 0).any() or (runs.position < 0).any() or (runs.position + runs.length > octets.size).any():
        raise ValueError("a run lies outside the buffer")
    same = direction[1:] == direction[:-1]
    if (np.diff(direction) < 0).any() or (same & (runs.offset[1:] <= runs.offset[:-1] + runs.length[:-1])).any():
        raise ValueError("runs must be grouped by direction and ascend by offset with a gap between any two")
    first = np.ones(direction.size, np.bool_)
    first[1:] = ~same
    within = ~np.isin(state.numbers[direction[first], r.PHASE], (p.BETWEEN, p.BOUNDARY, p.TAIL))
    if (within & (runs.offset[first] > state.pending[direction[first]])).any():
        raise ValueError("octets that were pending must be presented again")
    present = np.zeros(runs.synced.size, np.bool_)
    present[direction] = True
    absent = np.flatnonzero(~present)
    if absent.size == 0:
        return runs
    at = np.searchsorted(direction, absent)
    return Runs(
        np.insert(direction, at, absent).astype(np.int32), np.insert(runs.position, at, 0), np.insert(runs.length, at, 0),
        np.insert(runs.offset, at, state.pending[absent]), runs.synced, runs.final, runs.stream_octets,
        None if runs.unsure is None else np.insert(runs.unsure, at, False),
    )


def delimit(
    octets: Octets,
    runs: Runs,
    state: State | None = None,
    lenient: bool = False,
    limits: tuple[int, int] = (r.HEAD_LIMIT, r.FRAME_LIMIT),
    names: SecretNames = SECRET_NAMES,
) -> Rows:
    """Cut the octets of many stream directions into rows.

    Args:
        octets: one buffer that contains all runs.
        runs: the stretches captured, by direction. With a `state`, each direction's first run begins at its `pending` offset
            (or beyond, where nothing was pending and octets are missing).
        state: the `state` of an earlier call's rows; None at the beginning of all directions. It is not changed.
        lenient: without a `state`: read heads as peers of 1.0 do, until a handshake shows the version (see `opening`).
        limits: most octets of a row that is no frame or of a frame's head, and most of a frame; gap rows have none. A larger row
            is cut there, with `Syntax.TOO_LARGE`: into a partial row and junk, or junk and more junk. At least two octets; the same
            in every call.
        names: headers whose values are secret.

    Returns:
        Rows by direction and offset. Octets from `Rows.pending` on are in no row yet: their row is undecided until more octets come,
        or `final` marks the end.

    Raises:
        ValueError: where runs overlap, are out of order, lie outside the buffer, or leave out octets that were pending.
    """
    state = beginning(runs.synced, lenient) if state is None else State(state.numbers.copy())
    runs = _checked(runs, octets, state)
    octets = readonly(octets)
    direction = runs.direction.astype(np.int64)
    parts: list[I64] = []
    unsure = np.zeros(direction.size, np.bool_) if runs.unsure is None else runs.unsure
    position, length, offset = runs.position, runs.length, runs.offset
    capacity = int(runs.length.sum()) // 96 + 4 * direction.size + 64
    while direction.size:
        out = np.empty((r.ROW_FIELDS, capacity), np.int64)
        count, done = _walk(
            octets, direction, position, length, offset, unsure, runs.final, runs.stream_octets, np.array(limits, np.int64), names,
            state.numbers, out,
        )
        direction, position, length, offset = (values[done:] for values in (direction, position, length, offset))
        unsure = unsure[done:]
        parts.append(out[:, :count])
    table = parts[0] if len(parts) == 1 else np.concatenate([np.empty((r.ROW_FIELDS, 0), np.int64), *parts], axis=1)
    direction, offset, position, length, kind, delimited_by, syntax, body, command, lines = table
    rows = Rows(direction, offset, position, length, kind, delimited_by, syntax, body, command, lines, state)
    mark(octets, rows, names)
    return rows
