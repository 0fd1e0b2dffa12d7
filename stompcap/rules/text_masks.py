"""Arrow columns to numpy masks: null is false, and what few different values there are is decided once each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.columns import Bools, truth


def unicode(values: pa.Array) -> pa.Array:
    """An Arrow array as strings, null being empty."""
    return pc.fill_null(values.cast(pa.string()), "")


def matched(values: pa.Array, pattern: str) -> Bools:
    """Where values match a regular expression (RE2); null is no match."""
    return truth(pc.match_substring_regex(values, pattern))


def decided(values: pa.Array, decide: Callable[[str], bool]) -> Bools:
    """Where values satisfy `decide`, which sees each different value once; null never does."""
    coded = values.dictionary_encode()
    verdicts = np.array([decide(value) for value in coded.dictionary.to_pylist()] + [False], bool)
    mask: Bools = verdicts[np.asarray(pc.fill_null(coded.indices, len(coded.dictionary)))]
    return mask
