"""Reports on data files in blocks: each is added up once, so that what is known of old files costs little, however many these are.

A block whose files are all still there counts as its sum. Where some are gone, it is taken apart, and the others are added up again.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from stompcap.columns import U64
from stompcap.lake.paths import OPEN
from stompcap.quality import report
from stompcap.quality.hashes import NONE, Hashes, Wanted
from stompcap.quality.ledgers import Entries
from stompcap.quality.ledgers import added as entries_added
from stompcap.quality.measures import Measures
from stompcap.quality.quantities import has_streams, of_table
from stompcap.quality.ranges import Faults
from stompcap.quality.report import Report
from stompcap.quality.sums import MASK

FILES = 1024
"""Files of a block at most."""

Facts = Mapping[str, Any]
SCHEMA = pa.schema([f.with_type(pa.large_binary()) if pa.types.is_binary(f.type) else f for f in report.SCHEMA])


@dataclass(frozen=True)
class Block:
    """The reports on some files of a table: `facts` are those of all, added up; `rows` the reports, which lie in the file `path`."""

    table: str
    facts: Facts
    rows: pa.RecordBatch
    path: str = ""

    @property
    def names(self) -> pa.Array:
        """The names of its files."""
        return self.rows.column("file")

    @property
    def opens(self) -> bool:
        """Whether its files have rows of open streams: the next run replaces these."""
        return bool(self.names[0].as_py().startswith(OPEN))

    @cached_property
    def groups(self) -> Hashes:
        """The hashes of streams, or keys, of each file."""
        return _hashes(self.rows.column("streams_keys" if has_streams(self.table) else "groups"))

    @property
    def others(self) -> U64:
        """Those of streams that do not speak STOMP, each with what it adds to the tiling."""
        return _hashes(self.rows.column("others")).hashes.reshape(-1, 2)

    def entered(self, ledger: str, among: Wanted | None = None) -> Iterator[tuple[str, Entries]]:
        """By file the entries in a ledger: all, or those with the hashes among some."""
        keys, values = _hashes(self.rows.column(f"{ledger}_keys")), self.rows.column(f"{ledger}_values")
        places = np.arange(len(keys.hashes)) if among is None else among.at(keys.hashes)
        for file in keys.files(places):
            begin, end = keys.edges[file : file + 2]
            mine = places[np.searchsorted(places, begin) : np.searchsorted(places, end)]
            held = Entries.unpacked(keys.hashes[begin:end], values[file].as_buffer(), len(of_table(ledger, self.table)))
            yield self.names[file].as_py(), Entries(keys.hashes[mine], held.values[:, mine - begin])

    def added(self, ledger: str, among: Wanted | None = None) -> Entries:
        """The entries in a ledger, each key once: all, or those with the hashes among some."""
        return entries_added([entries for _, entries in self.entered(ledger, among)], of_table(ledger, self.table))

    def keys(self, ledger: str) -> U64:
        """The keys that it has entries of in a ledger."""
        return _hashes(self.rows.column(f"{ledger}_keys")).hashes

    def only(self, chosen: pa.Array) -> Block:
        """A block of some of its reports."""
        rows = self.rows.filter(chosen)
        return Block(self.table, added(json.loads(one) for one in rows.column("facts").to_pylist()), rows, self.path)


def of_reports(reports: Iterable[Report]) -> list[Block]:
    """Reports in blocks."""
    single = defaultdict[tuple[str, bool], list[Report]](list)
    for one in reports:
        single[one.table, one.file.startswith(OPEN)].append(one)
    return [
        Block(table, added(one.facts for one in some), pa.RecordBatch.from_pylist([one.row for one in some], schema=SCHEMA))
        for (table, _), mine in sorted(single.items())
        for some in (mine[begin : begin + FILES] for begin in range(0, len(mine), FILES))
    ]


def merged(blocks: Sequence[Block]) -> Iterator[Block]:
    """The same reports in as few blocks as they fit into in this order, those on files with rows of open streams by themselves."""
    alike = defaultdict[tuple[str, bool], list[Block]](list)
    for one in blocks:
        alike[one.table, one.opens].append(one)
    for _, mine in sorted(alike.items()):
        some: list[Block] = []
        for one in mine:
            if some and sum(block.rows.num_rows for block in some) + one.rows.num_rows > FILES:
                yield _one(some)
                some = []
            some.append(one)
        yield _one(some)


def _one(blocks: Sequence[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    rows = pa.Table.from_batches([one.rows for one in blocks]).combine_chunks().to_batches()
    return Block(blocks[0].table, added(one.facts for one in blocks), rows[0])


def _hashes(column: pa.Array) -> Hashes:
    """The hashes of a column of octets, eight each, where they lie."""
    _, offsets, octets = column.buffers()
    edges = np.frombuffer(offsets, "<i8")[column.offset : column.offset + len(column) + 1]
    begin, places = edges[0], (edges - edges[0]) // 8
    return Hashes(np.frombuffer(octets, "<u8", places[-1], begin) if places[-1] else NONE, places)


def added(facts: Iterable[Facts]) -> dict[str, Any]:
    """The facts of several reports, added up."""
    rows = surplus = 0
    values: dict[str, dict[str | None, int]] = {}
    sums: dict[str, list[list[int]]] = {}
    faults: dict[str, Faults] = {}
    measures, lacks = Measures(), set[str]()
    for one in facts:
        rows += one["rows"]
        surplus += one["surplus"]
        for column, counts in one["values"].items():
            mine = values.setdefault(column, {})
            for value, count in counts:
                mine[value] = mine.get(value, 0) + count
        for name, both in one["sums"].items():
            held = sums.get(name, [[0, 0], [0, 0]])
            sums[name] = [[count + more, (total + hashed) & MASK] for (count, total), (more, hashed) in zip(held, both, strict=True)]
        for label, (count, first) in one["faults"].items():
            faults.setdefault(label, Faults()).add(count, first)
        measures.add(one["measures"])
        lacks.update(one["lacks"])
    return {
        "rows": rows, "surplus": surplus, "values": {column: list(counts.items()) for column, counts in values.items()}, "sums": sums,
        "faults": {label: (found.rows, found.first) for label, found in faults.items()}, "measures": measures.facts, "lacks": sorted(lacks),
    }  # fmt: skip
