"""Files that a capture program rotates: their names, their order, and where its clock stepped back between two of them.

tcpdump appends numbers to the name given (`-C`: capture.pcap, capture.pcap1, ...; `-W`: a ring of them) or makes it of the time (`-G`);
dumpcap puts a number and the time before the suffix (capture_00001_20260131120000.pcapng), or the other way round.

Captures are ordered by the times of their first packets. Files of one rotation have names that differ in the last number and the time
alone. If one of them begins before the previous one ended, the clock stepped back between the two; then they are ordered by name, and the
first packets of later files are taken to be later by as much. In a ring, whose names end in the number, the numbers start over once: there,
and where a number occurs twice, files are ordered by time, and only files that overlap show a step. If a flow's own sequence numbers
contradict a step, it does not count for that flow (stompcap.tcp.merging).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

NUMBER = re.compile(r"(\d+)")
STAMP = re.compile(r"\d{4,}")
NUMBERED = re.compile(r"\d+$")
COMPRESSED = re.compile(r"\.(gz|zst|lz4|xz|bz2)$", re.IGNORECASE)
Name = tuple[str | int, ...]
Row = Mapping[str, Any]

SWAPPED_NS = 100_000  # a program that captures at several interfaces writes packets in another order by as much
STEP_NS = 24 * 3600 * 10**9  # files that lie further before those that their names follow are no files of one rotation
SAME_CLOCK = -1
STEPS = 32  # bits of a clock


@dataclass(frozen=True)
class Ranked:
    """Captures, rows of table captures, in order; and by rank the clock that each has.

    A clock is the number of the rotation, and in its lowest `STEPS` bits how often the clock had stepped between files before: SAME_CLOCK
    where it never did. `now_ns` is the latest time by clocks as they are behind their last steps, 0 without any.
    """

    rows: Sequence[Row]
    clocks: Sequence[int]
    now_ns: int

    @property
    def order(self) -> dict[str, int]:
        """The rank of each capture, by id."""
        return {row["capture_id"]: rank for rank, row in enumerate(self.rows)}


def in_rotation(path: str) -> Name:
    """What orders files of one program: the name, in which numbers count as such."""
    name = COMPRESSED.sub("", path.rstrip("/").rsplit("/", 1)[-1])
    return tuple(int(part) if at % 2 else part for at, part in enumerate(NUMBER.split(name)))


def period(path: str) -> tuple[str, ...] | None:
    """What names of files of one period have in common: the folder, and all numbers of four digits or more; None where there are none."""
    folder, _, name = path.rstrip("/").rpartition("/")
    stamps = STAMP.findall(name)
    return (folder, *stamps) if stamps else None


@dataclass(frozen=True)
class File:
    """A file with times; and its name, with the number and the times in it."""

    row: Row
    name: Name
    number: int
    times: tuple[str, ...]

    @property
    def path(self) -> str:
        """Without what says that the file is compressed."""
        return without_packing(self.row["path"] or "")

    @property
    def first_ns(self) -> int:
        """When its first packet was captured."""
        first: int = self.row["first_ns"]
        return first

    @property
    def last_ns(self) -> int:
        """When its last packet was captured."""
        last: int | None = self.row["last_ns"]
        return self.first_ns if last is None else last


def without_packing(path: str) -> str:
    """A path without what says that the file is compressed."""
    return COMPRESSED.sub("", path.rstrip("/"))


def in_turn(files: Sequence[File]) -> Sequence[File]:
    """Files of one rotation in order: that of their names, if a program can have written them so while its clock stepped; else of time."""
    in_time = sorted(files, key=lambda file: (file.first_ns, file.name, file.row["capture_id"]))
    if len({(file.number, file.times if not file.number else ()) for file in files}) < len(files):
        return in_time
    by_name = sorted(files, key=lambda file: (file.number, file.times))
    back = [at for at, (one, two) in enumerate(pairwise(by_name), 1) if two.last_ns <= one.first_ns and two.first_ns < one.first_ns]
    ring = len(back) == 1 and by_name[-1].first_ns < by_name[0].first_ns and all(NUMBERED.search(file.path) for file in files)
    if ring:
        return [*by_name[back[0] :], *by_name[: back[0]]]
    steps = [(by_name[at - 1], by_name[at]) for at in back]
    apart = any(one.last_ns - two.first_ns > STEP_NS or two.number != one.number + 1 for one, two in steps)
    return in_time if apart else by_name


def steps_of(files: Sequence[File]) -> tuple[list[int], list[int]]:
    """Of each file, in order: when it begins by a clock that never steps back, and how often the clock had stepped before."""
    begins, steps, ahead = [files[0].first_ns], [0], 0
    for one, two in pairwise(files):
        overlap = one.last_ns - two.first_ns
        stepped = overlap > SWAPPED_NS and one.path != two.path
        ahead += overlap if stepped else 0
        begins.append(max(begins[-1], two.first_ns + ahead))
        steps.append(steps[-1] + stepped)
    return begins, steps
