"""Where the octets of segments lie: the captures' files, and the spilled payload."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from stompcap import capture
from stompcap.capture.files import Mapped, Source
from stompcap.capture.segment_columns import SPILLED


class Sources(Mapping[int, Source]):
    """The captures' octets by rank, each file opened when first asked for, not too many at a time; and the spilled payload."""

    MOST_OPEN = 256

    def __init__(self, paths: Sequence[str], spilled: Callable[[], Source] | None) -> None:
        self.paths = paths
        self.spilled = spilled
        self.open: dict[int, capture.Window] = {}

    def __getitem__(self, rank: int) -> Source:
        if rank == SPILLED and self.spilled:
            return self.spilled()
        if rank not in self.open:
            if len(self.open) == self.MOST_OPEN:
                self.open.pop(next(iter(self.open)))
            self.open[rank] = capture.open_capture(self.paths[rank])
        window = self.open[rank]
        return window if isinstance(window, Mapped) else window.raw

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.paths)))

    def __len__(self) -> int:
        return len(self.paths)
