"""The heart-beat header and what two of them negotiate (STOMP 1.1 and 1.2, "Heart-beating")."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

I64 = npt.NDArray[np.int64]

PATTERN = r"^(?P<can>[0-9]{1,18}),(?P<wants>[0-9]{1,18})$"  # two non-negative integers and nothing else; 63 bits at most


def parse(headers: pa.Array) -> tuple[I64, I64]:
    """What each sender can do and what it wants, in milliseconds; 0 and 0 where the header is absent or malformed."""
    found = pc.extract_regex(headers.cast(pa.string()), PATTERN)

    def number(field: str) -> I64:
        digits = pc.struct_field(found, field)
        digits = pc.if_else(pc.fill_null(pc.not_equal(digits, ""), False), digits, "0")
        values: I64 = digits.cast(pa.int64()).to_numpy(zero_copy_only=False)
        return values

    return number("can"), number("wants")


def negotiate(can: I64, wants: I64) -> I64:
    """The interval from a side that can to a side that wants: the larger of the two, 0 if either is 0."""
    return np.where((can > 0) & (wants > 0), np.maximum(can, wants), 0)
