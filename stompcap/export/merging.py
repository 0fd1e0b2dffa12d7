"""Several capture files, one of each connection, merged into one by time; each keeps its own order."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from stompcap.capture.files import open_capture
from stompcap.capture.records import Records, Walk
from stompcap.capture.writing import Writer
from stompcap.columns import I64
from stompcap.export.writing import END_NS, writable

Between = tuple[int, int]
EVER: Between = (-(1 << 63), (1 << 63) - 1)


@dataclass
class _Part:
    """A file, read as far as the packet that comes next."""

    name: str
    batches: Iterator[Records]
    within: Between
    records: Records | None = None
    rows: I64 = field(default_factory=lambda: np.empty(0, np.int64))

    def ready(self) -> bool:
        """Whether there is a packet that comes next."""
        while not self.rows.size:
            self.records = next(self.batches, None)
            if self.records is None:
                return False
            times = self.records.ts_ns
            self.rows = np.flatnonzero((times >= self.within[0]) & (times <= self.within[1]))
        return True

    def next_ns(self) -> int:
        """The time of the packet that comes next."""
        assert self.records is not None
        return int(self.records.ts_ns[self.rows[0]])

    def until(self, ns: int) -> tuple[Records, I64]:
        """The packet that comes next, and those behind it until one is later; they are taken out."""
        assert self.records is not None
        later = np.flatnonzero(self.records.ts_ns[self.rows[1:]] > ns)
        count = 1 + (int(later[0]) if later.size else self.rows.size - 1)
        taken, self.rows = self.rows[:count], self.rows[count:]
        return self.records, taken


def merge(parts: Sequence[str], output: str, within: Between = EVER) -> tuple[str, int]:
    """Write the packets of these files whose times are within; gives the format and how many they are.

    Raises EnvironmentProblem where the file cannot be written.
    """
    links, times = set[int](), set[int]()
    for part in parts:
        for records in Walk(open_capture(part)):
            links.update(np.unique(records.links).tolist())
            times |= {int(records.ts_ns.min()), int(records.ts_ns.max())}
    fits = all(0 <= ns < END_NS for ns in times)
    pcap = fits and len(links) == 1 and not output.lower().endswith(".pcapng")
    draft, count = f"{output}.part", 0
    with writable(output, draft):
        with open(draft, "wb") as file:
            writer = Writer(file, min(links) if pcap else None)
            for name, records, rows in _in_order(parts, within):
                writer.write(records, rows, name)
                count += len(rows)
        os.replace(draft, output)
    return "pcap" if pcap else "pcapng", count


def _in_order(parts: Sequence[str], within: Between) -> Iterator[tuple[str, Records, I64]]:
    waiting = [_Part(os.path.basename(part), iter(Walk(open_capture(part))), within) for part in parts]
    while waiting := [part for part in waiting if part.ready()]:
        first = min(waiting, key=_Part.next_ns)
        others = [part.next_ns() for part in waiting if part is not first]
        yield first.name, *first.until(min(others, default=EVER[1]))
