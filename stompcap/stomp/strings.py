"""Arrow string arrays from slices of a buffer, without an object per string."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stompcap.columns import I32, I64, Bools, Octets
from stompcap.kernel import kernel

LIMIT = (1 << 31) - 1
"""Most octets of one string column: Arrow's offsets have 32 bits."""


@kernel
def _copy(octets: Octets, begin: I64, offsets: I32, upper: bool, out: Octets) -> None:
    for row in range(begin.size):
        at = begin[row] - offsets[row]
        if upper:
            for k in range(offsets[row], offsets[row + 1]):
                octet = octets[at + k]
                out[k] = octet - 32 if 97 <= octet <= 122 else octet
        else:
            for k in range(offsets[row], offsets[row + 1]):
                out[k] = octets[at + k]


def bitmap(valid: Bools | None) -> pa.Buffer | None:
    """Arrow's validity bitmap; None where all are valid."""
    if valid is None or valid.all():
        return None
    return pa.py_buffer(np.packbits(valid, bitorder="little"))


def offsets_of(lengths: npt.NDArray[np.integer]) -> I32:
    """Arrow offsets of consecutive items; OverflowError beyond 31 bits."""
    offsets = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    if offsets[-1] > LIMIT:
        raise OverflowError("more than 2 GiB of text in one batch: decode fewer frames at once")
    return offsets.astype(np.int32)


def string_array(offsets: I32, data: Octets, valid: Bools | None = None) -> pa.StringArray:
    """A string array over these buffers; the octets must be UTF-8."""
    return pa.StringArray.from_buffers(offsets.size - 1, pa.py_buffer(offsets), pa.py_buffer(data), bitmap(valid))


def slices(octets: Octets, begin: I64, length: I64, valid: Bools | None = None, upper: bool = False) -> pa.StringArray:
    """The strings octets[begin : begin + length], copied together; ASCII letters in upper case if asked for."""
    offsets = offsets_of(length)
    out = np.empty(int(offsets[-1]), np.uint8)
    _copy(octets, begin, offsets, upper, out)
    return string_array(offsets, out, valid)
