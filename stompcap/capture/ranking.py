"""The order of captures by the rules of stompcap.capture.rotation, for hundreds of thousands of them.

In most rotations no clock stepped: their files are in order of time whether or not that is the order of their names, which a few sorts
show of all rotations at once. Only the files of others are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.capture.file_names import Names, ends_with, parsed, without_packing
from stompcap.capture.rotation import SAME_CLOCK, STEPS, SWAPPED_NS, File, Ranked, Row, in_rotation, in_turn, steps_of
from stompcap.columns import I64, Bools, integers

COLUMNS = ("capture_id", "path", "source", "first_ns", "last_ns")
EARLIEST, LATEST = (int(one) for one in (np.iinfo(np.int64).min, np.iinfo(np.int64).max))
_TYPES = (pa.string(), pa.string(), pa.string(), pa.int64(), pa.int64())


@dataclass(frozen=True)
class Order:
    """Rows of captures in order, by their numbers; by rank the clock that each has; and `now_ns`, as Ranked has them.

    `steady`: no clock stepped, whatever is left out: some of the captures have the same order without the others.
    """

    rows: I64
    clocks: I64
    now_ns: int
    steady: bool


def ranked(captures: Iterable[Row]) -> Ranked:
    """Captures in order: of time, and where a clock stepped between files of one rotation, of their names; then by name, then by id."""
    rows = list(captures)
    columns = [pa.array([row.get(name) for row in rows], kind) for name, kind in zip(COLUMNS, _TYPES, strict=True)]
    found = in_order(pa.table(columns, COLUMNS))
    return Ranked([rows[at] for at in found.rows.tolist()], found.clocks.tolist(), found.now_ns)


def in_order(captures: pa.Table) -> Order:
    """The order of captures, given their COLUMNS; a time is null where a capture has no packets."""
    timed = np.flatnonzero(captures.column("first_ns").is_valid().to_numpy())
    begins, clocks = np.zeros(captures.num_rows, np.int64), np.full(captures.num_rows, SAME_CLOCK, np.int64)
    now_ns, steady = 0, True
    if len(timed):
        files = _Files.of(captures if len(timed) == captures.num_rows else captures.take(pa.array(timed)), captures.column("path"))
        begins[timed], clocks[timed], now_ns, steady = files.placed()
    untimed = np.ones(captures.num_rows, np.bool_)
    untimed[timed] = False
    order = np.lexsort((begins, untimed))
    _by_name(order, np.flatnonzero((np.diff(begins[order]) == 0) & (np.diff(untimed[order]) == 0)), captures)
    return Order(order, clocks[order], now_ns, steady)


def _by_name(order: I64, equal: I64, captures: pa.Table) -> None:
    """Put rows that begin at the same time in order of their names and ids; `equal` are the places that equal the next one."""
    for run in np.split(equal, np.flatnonzero(np.diff(equal) > 1) + 1) if len(equal) else ():
        places = slice(run[0], run[-1] + 2)
        rows = captures.select(("path", "capture_id")).take(pa.array(order[places])).to_pylist()
        keys = [(in_rotation(row["path"] or ""), row["capture_id"]) for row in rows]
        order[places] = order[places][sorted(range(len(keys)), key=keys.__getitem__)]


@dataclass(frozen=True)
class _Files:
    """Captures with times: the number of each one's rotation, what else its name says, and its times."""

    captures: pa.Table
    names: Names
    rotation: I64
    first_ns: I64
    last_ns: I64
    numbered: bool
    """Whether a file's name goes on in another's by a number: then it may be of another rotation without that one."""

    @classmethod
    def of(cls, captures: pa.Table, every: pa.ChunkedArray) -> _Files:
        """Of these captures, among the paths of `every` one."""
        paths = without_packing(_flat(captures.column("path")))
        numbered = _numbered(paths, paths if len(paths) == len(every) else without_packing(_flat(every)))
        some = bool(pc.any(numbered).as_py())
        names = parsed(pc.if_else(numbered, pc.binary_join_element_wise(paths, "0", ""), paths) if some else paths)
        first_ns = integers(captures.column("first_ns"))
        last_ns = integers(pc.coalesce(captures.column("last_ns"), captures.column("first_ns")))
        source = _flat(captures.column("source"))
        return cls(captures, names, _numbers(source, names.before, names.behind), first_ns, last_ns, some)

    def placed(self) -> tuple[I64, I64, int, bool]:
        """When each begins, its clock, the latest time by clocks as they are now, and whether the order is steady (Order)."""
        begins, clocks = self.first_ns.copy(), np.full(len(self.first_ns), SAME_CLOCK, np.int64)
        may_step, steady = self._may_step()
        now_ns = int(self.last_ns[~may_step].max(initial=0))
        rows = np.flatnonzero(may_step)
        rows = rows[np.argsort(self.rotation[rows], kind="stable")]
        edges = np.flatnonzero(np.diff(self.rotation[rows], prepend=-1, append=-1)) if len(rows) else ()
        for begin, end in pairwise(edges):
            mine = rows[begin:end]
            files = in_turn(self._one_by_one(mine))
            at, steps = steps_of(files)
            now_ns = max(now_ns, *(file.last_ns for file, step in zip(files, steps, strict=True) if step == steps[-1]))
            own = np.array([file.row["at"] for file in files])
            begins[own] = [min(max(one, EARLIEST), LATEST) for one in at]  # what is put behind a time near the end of all may lie beyond
            if steps[-1]:
                clocks[own] = int(self.rotation[own[0]]) << STEPS | np.array(steps)
        return begins, clocks, now_ns, steady

    def _may_step(self) -> tuple[Bools, bool]:
        """Of which files' rotations sorting does not show that no clock stepped; and whether it does of all, and of any part of each.

        A part of a rotation that rises by name does so too; one of a rotation in which a number comes again may have it once.
        """
        times = integers(pc.rank(self.names.times, tiebreaker="dense"))
        number = integers(self.names.number)
        by_name, by_time = np.lexsort((times, number, self.rotation)), np.lexsort((self.first_ns, self.rotation))
        same = np.diff(self.rotation[by_name]) == 0
        again = same & (np.diff(number[by_name]) == 0) & ((number[by_name][1:] != 0) | (np.diff(times[by_name]) == 0))
        twice, unsteady, tied = (np.zeros(int(self.rotation.max()) + 1, np.bool_) for _ in range(3))
        twice[self.rotation[by_name[1:][again]]] = True
        falls = np.diff(self.first_ns[by_name]) < 0
        unsteady[self.rotation[by_name[1:][same & (falls | self._overlap(by_name))]]] = True
        same = np.diff(self.rotation[by_time]) == 0
        tied[self.rotation[by_time[1:][same & ((np.diff(self.first_ns[by_time]) == 0) | self._overlap(by_time))]]] = True
        steady = not (self.numbered or twice.any() or unsteady.any())
        return np.where(twice, tied, unsteady)[self.rotation], steady

    def _overlap(self, order: I64) -> Bools:
        """Whether a file begins before the one before it, by `order`, has ended."""
        return self.last_ns[order[:-1]] - self.first_ns[order[1:]] > SWAPPED_NS

    def _one_by_one(self, rows: I64) -> list[File]:
        """Some files, each as the row of its captures with its number as `at`."""
        some = self.captures.take(pa.array(rows)).append_column("at", pa.array(rows)).to_pylist()
        numbers, times = (column.take(pa.array(rows)).to_pylist() for column in (self.names.number, self.names.times))
        return [
            File(row, in_rotation(row["path"] or ""), number, tuple(text.split("\0")[:-1]))
            for row, number, text in zip(some, numbers, times, strict=True)
        ]


def _numbered(paths: pa.Array, every: pa.Array) -> pa.Array:
    """Whether another file has the same name with a number behind it."""
    digits = every.filter(pa.array(ends_with(every, "0123456789")))
    return pc.is_in(paths, value_set=pc.replace_substring_regex(digits, r"[0-9]+\z", "").unique())


def _numbers(*columns: pa.Array) -> I64:
    """A number for each row, the same where all columns are equal."""
    found = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        codes = column.dictionary_encode("encode")
        if len(codes.dictionary) == 1:
            continue
        found = found * len(codes.dictionary) + codes.indices.to_numpy()
        found = np.unique(found, return_inverse=True)[1]
    return found


def _flat(column: pa.ChunkedArray) -> pa.Array:
    return pc.fill_null(pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], pa.string()), "")
