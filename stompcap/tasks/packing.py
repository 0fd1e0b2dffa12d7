"""How work is put into tasks: by how much of it there is, so that neither one large capture nor thousands of small ones rule the time."""

from __future__ import annotations

import heapq
import pickle
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
FILE_OCTETS = 1 << 16  # what opening a file costs, in octets read meanwhile
LEAST_OCTETS = 1 << 20  # worth a task
TASK_OCTETS = 1 << 28  # a task reads as a stream: this bounds what is lost with it, not its memory
SHARE_OCTETS = 1 << 26  # of a task on a cluster, where executors come and go: what a capture is split into


def tasks_to_read(octets: int, cores: int) -> int:
    """How many tasks read so many octets: one a core, or some rounds of that, fewer where there is little; without cores by octets."""
    if not cores:
        return max(1, -(-octets // SHARE_OCTETS))
    rounds = -(-octets // (cores * TASK_OCTETS))
    return max(1, min(cores * rounds, -(-octets // LEAST_OCTETS)))


def packed(octets: Sequence[int], tasks: int) -> list[list[int]]:
    """Which of the pieces go into each task, by index: the largest first, each to the task that has least. No task is empty."""
    loads = [(0, task) for task in range(min(tasks, len(octets)))]
    found: list[list[int]] = [[] for _ in loads]
    for piece in sorted(range(len(octets)), key=lambda i: (-octets[i], i)):
        load, task = loads[0]
        found[task].append(piece)
        heapq.heapreplace(loads, (load + octets[piece] + FILE_OCTETS, task))
    return sorted(sorted(task) for task in found)


class Packs(Generic[T]):
    """What each task is given, by its number: octets until a task asks for its own, so that none makes objects of what others get."""

    def __init__(self, packs: Iterable[Sequence[T]]) -> None:
        self._octets = [pickle.dumps(pack) for pack in packs]

    def __getitem__(self, task: int) -> Sequence[T]:
        pack: Sequence[T] = pickle.loads(self._octets[task])  # noqa: S301  of this program's own
        return pack

    def __len__(self) -> int:
        return len(self._octets)
