"""The declaration of a table: columns, their words, ranges and comments, and the constraint of each enumeration.

Every name, comment and constraint of the lake is declared once, in `bronze`, `silver`, `gold` and `operations`; the Arrow schema,
the Delta table and the data dictionary in docs/tables.md are derived from these objects.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import pyarrow as pa

from stompcap.units import LAST_S

TIMESTAMP = pa.timestamp("us", "UTC")
HEADERS = pa.list_(pa.struct([pa.field("name", pa.string()), pa.field("value", pa.string())]))
HEADER_MAP = pa.map_(pa.string(), pa.string())
COUNTS = pa.map_(pa.string(), pa.int64())
WORDS = pa.map_(pa.string(), pa.string())


@dataclass(frozen=True)
class Column:
    """One column: its Arrow type, its meaning, whether it may be null, the only words it may have, the range of its numbers.

    A value is between `least` and `most`, both included; None is no bound. Those of a TIMESTAMP are microseconds since the epoch.

    Of a column that older lakes lack, `before` is what it says in the rows of open connections that they keep
    (stompcap.assembly.resume.state_layout), and `formerly` the name that it had in them, if it had another.
    """

    name: str
    type: pa.DataType
    comment: str
    nullable: bool = True
    words: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    before: int | str | bool | None = None
    formerly: str = ""

    @property
    def sql_type(self) -> str:
        """The type as Spark SQL writes it."""
        return sql_type(self.type)

    @property
    def various(self) -> bool:
        """Whether hardly two rows have the same value, so that a dictionary of them would come on top of what it is to save.

        Numbers among these mostly are near those of the row before. Sizes and counts are not among them: a dictionary suits them best.
        """
        name = self.name
        named = name.endswith(("packet", "order")) or name in ("seq", "ack", "ip_id", "place", "stream_offset")
        return self.type == TIMESTAMP or named or (self.type == pa.int64() and "_ns" in name)

    @property
    def check(self) -> str | None:
        """The CHECK expression of an enumeration, or None. Delta requires it to be true, so it allows null explicitly."""
        if not self.words:
            return None
        listed = ", ".join(f"'{word}'" for word in self.words)
        among = f"{self.name} IN ({listed})"
        return f"{self.name} IS NULL OR {among}" if self.nullable else among


@dataclass(frozen=True)
class Table:
    """One Delta table of the lake.

    `key` names the columns that identify a row; `statistics` those that Delta keeps minima and maxima of
    (columns that people filter by, never octets); each of `ascending` names columns in order, none less than the one before it,
    where neither is null.
    """

    name: str
    layer: str
    comment: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    statistics: tuple[str, ...] = field(default=())
    ascending: tuple[tuple[str, ...], ...] = ()

    @cached_property
    def arrow(self) -> pa.Schema:
        """The Arrow schema, comments in the field metadata as Delta keeps them."""
        return pa.schema(
            [pa.field(c.name, c.type, c.nullable, metadata={"comment": c.comment}) for c in self.columns]
        )

    def column(self, name: str) -> Column:
        """The column of that name; KeyError if there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"{self.name} has no column {name}")

    def now(self, rows: pa.Table) -> pa.Table:
        """Rows of this table that any version wrote, with the columns of this one."""
        there = set(rows.column_names)
        if there == set(self.arrow.names):
            return rows
        columns = {}
        for one in self.columns:
            name = one.name if one.name in there else one.formerly
            found = rows.column(name) if name in there else pa.nulls(rows.num_rows) if one.before is None else None
            columns[one.name] = (pa.repeat(pa.scalar(one.before), rows.num_rows) if found is None else found).cast(one.type)
        return pa.table(columns)

    @property
    def enumerations(self) -> tuple[Column, ...]:
        """The columns restricted to fixed words."""
        return tuple(c for c in self.columns if c.words)

    @property
    def ranged(self) -> tuple[Column, ...]:
        """The columns whose numbers have a range."""
        return tuple(c for c in self.columns if c.least is not None or c.most is not None)

    @property
    def ordered(self) -> tuple[tuple[str, str], ...]:
        """The pairs of columns whose second is not less than the first."""
        return tuple(pair for columns in self.ascending for pair in pairwise(columns))


_SQL_SCALARS: dict[pa.DataType, str] = {
    pa.string(): "STRING",
    pa.int64(): "BIGINT",
    pa.int32(): "INT",
    pa.bool_(): "BOOLEAN",
    pa.float64(): "DOUBLE",
    pa.binary(): "BINARY",
    pa.date32(): "DATE",
    TIMESTAMP: "TIMESTAMP",
}


def sql_type(kind: pa.DataType) -> str:
    """Spark SQL's name of an Arrow type used in the lake; KeyError for any other."""
    if pa.types.is_map(kind):
        return f"MAP<{sql_type(kind.key_type)}, {sql_type(kind.item_type)}>"
    if pa.types.is_list(kind):
        return f"ARRAY<{sql_type(kind.value_type)}>"
    if pa.types.is_struct(kind):
        inner = ", ".join(f"{f.name}: {sql_type(f.type)}" for f in kind)
        return f"STRUCT<{inner}>"
    return _SQL_SCALARS[kind]


def text(name: str, comment: str, *words: str, nullable: bool = True) -> Column:
    """A STRING column; with words, an enumeration."""
    return Column(name, pa.string(), comment, nullable, tuple(words))


def big(name: str, comment: str, *, nullable: bool = True, least: int | None = 0) -> Column:
    """A BIGINT column: a time where its name ends in _ns, else a count, size, offset or duration, negative only where `least` is None."""
    return Column(name, pa.int64(), comment, nullable, least=least, most=LAST_S * 10**9 - 1 if name.endswith("_ns") else None)


def integer(name: str, comment: str, *, nullable: bool = True, most: int | None = None) -> Column:
    """An INT column, never negative."""
    return Column(name, pa.int32(), comment, nullable, least=0, most=most)


def flag(name: str, comment: str, *, nullable: bool = True) -> Column:
    """A BOOLEAN column."""
    return Column(name, pa.bool_(), comment, nullable)


def real(name: str, comment: str, *, most: int | None = None) -> Column:
    """A DOUBLE column, never negative."""
    return Column(name, pa.float64(), comment, least=0, most=most)


def date(name: str, comment: str) -> Column:
    """A DATE column, UTC."""
    return Column(name, pa.date32(), comment)


def moment(name: str, comment: str) -> Column:
    """A TIMESTAMP column: microseconds, UTC."""
    return Column(name, TIMESTAMP, comment, least=0, most=LAST_S * 10**6 - 1)
