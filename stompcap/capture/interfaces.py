"""The interfaces of a pcapng section: reads their blocks, and gives kernels what packets need of them, as rows."""

from __future__ import annotations

import numpy as np

from stompcap.capture.integers import u32
from stompcap.columns import I64, Octets

Row = tuple[int, int, int, int]  # link type, snaplen, if_tsresol, if_tsoffset in seconds
SMALLEST_OCTETS = 20  # of an interface block


class Interfaces:
    """A growing table of interfaces; `rows` is a view that stays valid as more are added."""

    def __init__(self, rows: I64 | None = None) -> None:
        self._held = np.empty((0, 4), np.int64) if rows is None else rows
        self._count = len(self._held)

    @property
    def rows(self) -> I64:
        """One row per interface, shape (interfaces, 4)."""
        return self._held[: self._count]

    def add(self, row: Row) -> None:
        """Append a row. A file may describe an interface before every packet, so the array grows by doubling."""
        if self._count == len(self._held):
            larger = np.empty((max(8, 2 * self._count), 4), np.int64)
            larger[: self._count] = self._held
            self._held = larger
        self._held[self._count] = row
        self._count += 1


def interface_at(octets: Octets, at: int, big: bool) -> Row:
    """The interface block at `at`; if_tsresol is 6 where absent, and fields behind the end of a short block are 0."""
    length = int(u32(octets, at + 4, big))
    order = "big" if big else "little"
    body = octets[at + 8 : at + length - 4].tobytes()
    link, snaplen = int.from_bytes(body[0:2], order), int.from_bytes(body[4:8], order)  # type: ignore[arg-type]
    resolution, offset, position = 6, 0, 8
    while position + 4 <= len(body):
        code, size = (int.from_bytes(body[position + i : position + i + 2], order) for i in (0, 2))  # type: ignore[arg-type]
        value = body[position + 4 : position + 4 + size]
        if code == 0:
            break
        if code == 9 and size == 1 and value:
            resolution = value[0]
        elif code == 14 and size == 8 and len(value) == 8:
            offset = int.from_bytes(value, order, signed=True)  # type: ignore[arg-type]
        position += 4 + (size + 3) // 4 * 4
    return link, snaplen, resolution, offset
