"""Masks passcodes: every octet of a passcode becomes `*`; lengths and offsets do not change.

The delimiter has marked the rows to search: frames with a passcode in the head, or in the body of an ERROR, where brokers
quote frames. Junk and partial rows are searched as a whole, and a line torn off by a gap is masked as a whole.
"""

from __future__ import annotations

import numpy as np

from stompcap.kernel import kernel
from stompcap.stomp import rows as r
from stompcap.stomp.grammar import ERROR
from stompcap.stomp.marks import BLANK_PADDED, PASSCODE, TORN, torn_end
from stompcap.stomp.octets import Octets, readonly
from stompcap.stomp.passcodes import cover, mask_all, mask_lines
from stompcap.stomp.rows import Bools, Ints, Rows


@kernel
def _redact(
    octets: Octets, masked: Octets, position: Ints, length: Ints, kind: Ints, syntax: Ints, body: Ints, command: Ints, flags: Bools,
    apply: bool,
) -> bool:
    """Flag the rows that contain a passcode and mask it in `masked` if `apply`; True if there is any."""
    any_found = False
    for row in range(position.size):
        if not syntax[row] & (PASSCODE | TORN):
            continue
        begin, end = position[row], position[row] + length[row]
        found = False
        if syntax[row] & TORN:
            stop = torn_end(octets, begin, end)
            found = cover(octets, masked, begin, stop, apply)
            begin = stop
        if kind[row] == r.FRAME and command[row] != ERROR and not syntax[row] & BLANK_PADDED:
            more, _ = mask_lines(octets, masked, begin, begin + body[row], apply)
        else:
            more, _ = mask_all(octets, masked, begin, end, apply)
        flags[row] = found or more
        any_found = any_found or flags[row]
    return any_found


def redact(octets: Octets, rows: Rows) -> tuple[Octets, Bools]:
    """The octets with the passcodes of these rows masked.

    Args:
        octets: the buffer that contains the rows; it is not changed.
        rows: rows as `delimit` gives them, gaps among them.

    Returns:
        The buffer itself where there is nothing to mask, else a copy; and per row whether something in it was masked.
    """
    flags = np.zeros(len(rows), np.bool_)
    view = readonly(octets)
    columns = (rows.position, rows.length, rows.kind, rows.syntax, rows.body, rows.command, flags)
    if not _redact(view, np.empty(0, np.uint8), *columns, False):
        return octets, flags
    masked = octets.copy()
    _redact(view, masked, *columns, True)
    return masked, flags
