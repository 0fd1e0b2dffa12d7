"""Numbers of the machine as columns of Arrow tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.session.dialogue import I8, I64
from stompcap.tables.schema import TIMESTAMP


def times(values: I64) -> pa.Array:
    """Nanoseconds as a BIGINT column, null for -1."""
    return pa.array(values, pa.int64(), mask=values < 0)


def timestamps(values: I64) -> pa.Array:
    """Nanoseconds as a TIMESTAMP column of microseconds, null for -1."""
    return pa.array(values // 1000, pa.int64(), mask=values < 0).cast(TIMESTAMP)


def listed(indices: I8, of: Sequence[str]) -> pa.Array:
    """The words of an enumeration by index, null for -1."""
    return pick(pa.array(of, pa.string()), indices.astype(np.int64))


def pick(values: pa.Array, at: I64) -> pa.Array:
    """`values` at the places `at`, null for -1."""
    return pc.take(values, pa.array(at, pa.int64(), mask=at < 0))


def chosen(values: I64, at: I64) -> I64:
    """`values` at the places `at`, -1 for -1."""
    if len(values) == 0:
        return np.full(len(at), -1, np.int64)
    return np.where(at < 0, -1, values[at])


def elapsed(begin: I64, end: I64) -> pa.Array:
    """Microseconds from `begin` to `end`, null where either is -1."""
    return pa.array((end - begin) // 1000, pa.int64(), mask=(begin < 0) | (end < 0))
