"""Cuts a capture into parts that are read independently: between records, where a reader of the whole file passes.

The pass that computes a file's digest sees every record, so it knows exactly where each part begins and the state its reader needs
there: the walk's checkpoint, and the fragments of incomplete packets. No cut is guessed, and no octet read twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from stompcap.capture.checkpoint import NO_END, Checkpoint
from stompcap.capture.fragments import Defragmenter

SMALLEST_OCTETS = 1 << 16
PENDING_OCTETS = 1 << 18  # of fragments that a part starts with; where there are more, the cut comes later
LATER_OCTETS = 1 << 20


@dataclass(frozen=True)
class Split:
    """A part of a capture file, or all of it where only the path is given.

    `size`: how many octets of the file count, for it may be growing. `pending` as `segments.Decoder` takes it. `limit` as for
    `files.open_capture`. `packets`: how many packets there are, where no `end` says it; what lies behind the last is not unpacked again.
    """

    path: str
    size: int | None = None
    begin: Checkpoint | None = None
    end: Checkpoint | None = None
    pending: bytes = b""
    limit: int | None = None
    packets: int = NO_END

    @property
    def octets(self) -> int:
        """How many octets of the file are to be read, at least one."""
        begin, end = self.begin.offset if self.begin else 0, self.end.offset if self.end else self.size or 0
        return max(1, end - begin)


class Cuts:
    """Cuts a capture while another pass reads it: `offer` it every position, end batches at `next`, then take `splits`."""

    def __init__(self, path: str, size: int, every: int) -> None:
        self.path, self.size, self.every = path, size, every
        self.next = every
        self._begin: Checkpoint | None = None
        self._pending = b""
        self._splits: list[Split] = []

    def offer(self, here: Checkpoint, fragments: Defragmenter) -> None:
        """Cut behind the batch that was read, if the part is large enough."""
        if here.offset < self.next:
            return
        pending = fragments.saved(PENDING_OCTETS)
        if pending is None:
            self.next = here.offset + min(self.every, LATER_OCTETS)
        else:
            self._splits.append(self._until(here))
            self._from(here, pending)

    def restart(self, here: Checkpoint, fragments: Defragmenter) -> None:
        """Discard earlier parts and begin here."""
        self._splits.clear()
        self._from(here, fragments.saved(NO_END) or b"")

    def splits(self, end: Checkpoint | None) -> tuple[Split, ...]:
        """The parts up to `end`, the state behind the last packet; none if nothing is left."""
        if end is None or (self._begin and self._begin.packets == end.packets):
            return tuple(self._splits)
        return (*self._splits, self._until(end))

    def _from(self, here: Checkpoint, pending: bytes) -> None:
        self._begin, self._pending, self.next = here, pending, here.offset + self.every

    def _until(self, end: Checkpoint) -> Split:
        return Split(self.path, self.size, self._begin, end, self._pending)
