"""Shorthand for tests of the delimiter: runs out of chunks and gaps, rows as tuples."""

from __future__ import annotations

import numpy as np

from stompcap.stomp import Rows, Runs, State, Syntax, delimit
from stompcap.tables import words

Tuple = tuple[str, int, int, str | None, Syntax, int]


def tuples(rows: Rows) -> list[Tuple]:
    """Rows as (kind, offset, length, delimited_by, syntax, body)."""
    return [
        (
            words.RAW_KINDS[rows.kind[k]], int(rows.offset[k]), int(rows.length[k]),
            None if rows.delimited_by[k] < 0 else words.DELIMITERS[rows.delimited_by[k]], Syntax(int(rows.syntax[k])),
            int(rows.body[k]),
        )
        for k in range(len(rows))
    ]


def runs_of(parts: list[bytes | int], synced: bool = True, final: bool = True) -> tuple[np.ndarray, Runs]:
    """One direction out of octets and the lengths of gaps between them."""
    data = b"".join(p for p in parts if isinstance(p, bytes))
    position, length, offset = [], [], []
    at = place = 0
    for part in parts:
        size = part if isinstance(part, int) else len(part)
        if isinstance(part, bytes) and size and offset and offset[-1] + length[-1] == at:
            length[-1] += size
            place += size
        elif isinstance(part, bytes) and size:
            position.append(place)
            length.append(size)
            offset.append(at)
            place += size
        at += size
    count = len(position)
    runs = Runs(
        np.zeros(count, np.int32), np.array(position, np.int64), np.array(length, np.int64), np.array(offset, np.int64),
        np.array([synced]), np.array([final]), np.array([at], np.int64),
    )
    return np.frombuffer(data, np.uint8), runs


def rows_of(*parts: bytes | int, synced: bool = True) -> list[Tuple]:
    """All rows of one direction."""
    octets, runs = runs_of(list(parts), synced)
    return tuples(delimit(octets, runs))


def kinds(*parts: bytes | int, synced: bool = True) -> list[tuple[str, int]]:
    """Kind and length of all rows of one direction."""
    return [(row[0], row[2]) for row in rows_of(*parts, synced=synced)]


def chunked(data: bytes, chunks: list[int], synced: bool = True) -> list[Tuple]:
    """Rows of one direction whose octets come in chunks of these lengths (the rest as one), each call going on from the last."""
    bounds = [0]
    for chunk in chunks:
        bounds.append(min(len(data), bounds[-1] + chunk))
    bounds.append(len(data))
    state: State | None = None
    pending = 0
    result: list[Tuple] = []
    for end in bounds[1:]:
        final = end == len(data)
        octets = np.frombuffer(data[pending:end], np.uint8)
        runs = Runs(
            np.zeros(1, np.int32), np.zeros(1, np.int64), np.array([octets.size]), np.array([pending]), np.array([synced]),
            np.array([final]), np.array([len(data) if final else -1]),
        )
        rows = delimit(octets, runs, state)
        result += tuples(rows)
        state, pending = rows.state, int(rows.pending[0])
        if final:
            break
    return result
