"""What a table is: columns, their words and comments, the constraint that each enumeration makes.

Every name, comment and constraint of the lake is declared once, in `bronze`, `silver`, `gold` and `operations`; the Arrow schema,
the Delta table and the data dictionary in docs/tables.md are derived from these objects.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

TIMESTAMP = pa.timestamp("us", "UTC")
HEADERS = pa.list_(pa.struct([pa.field("name", pa.string()), pa.field("value", pa.string())]))
HEADER_MAP = pa.map_(pa.string(), pa.string())
COUNTS = pa.map_(pa.string(), pa.int64())
WORDS = pa.map_(pa.string(), pa.string())


@dataclass(frozen=True)
class Column:
    """One column: its Arrow type, what it means, whether it may be null, and the only words it may hold."""

    name: str
    type: pa.DataType
    comment: str
    nullable: bool = True
    words: tuple[str, ...] = ()

    @property
    def sql_type(self) -> str:
        """The type as Spark SQL writes it."""
        return sql_type(self.type)

    @property
    def check(self) -> str | None:
        """The CHECK expression of an enumeration, or None. Delta wants it true: where null is allowed it must say so."""
        if not self.words:
            return None
        listed = ", ".join(f"'{word}'" for word in self.words)
        among = f"{self.name} IN ({listed})"
        return f"{self.name} IS NULL OR {among}" if self.nullable else among


@dataclass(frozen=True)
class Table:
    """One Delta table of the lake.

    `key` names the columns that identify a row; `statistics` the ones Delta keeps minima and maxima of
    (those people filter by, never octets).
    """

    name: str
    layer: str
    comment: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    statistics: tuple[str, ...] = field(default=())

    @property
    def arrow(self) -> pa.Schema:
        """The Arrow schema, comments in the field metadata as Delta keeps them."""
        return pa.schema(
            [pa.field(c.name, c.type, c.nullable, metadata={"comment": c.comment}) for c in self.columns]
        )

    def column(self, name: str) -> Column:
        """The column of that name; KeyError where there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"{self.name} has no column {name}")

    @property
    def enumerations(self) -> tuple[Column, ...]:
        """The columns restricted to fixed words."""
        return tuple(c for c in self.columns if c.words)


_SQL_SCALARS: dict[pa.DataType, str] = {
    pa.string(): "STRING",
    pa.int64(): "BIGINT",
    pa.int32(): "INT",
    pa.bool_(): "BOOLEAN",
    pa.float64(): "DOUBLE",
    pa.binary(): "BINARY",
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


def big(name: str, comment: str, *, nullable: bool = True) -> Column:
    """A BIGINT column."""
    return Column(name, pa.int64(), comment, nullable)


def integer(name: str, comment: str, *, nullable: bool = True) -> Column:
    """An INT column."""
    return Column(name, pa.int32(), comment, nullable)


def flag(name: str, comment: str, *, nullable: bool = True) -> Column:
    """A BOOLEAN column."""
    return Column(name, pa.bool_(), comment, nullable)


def real(name: str, comment: str) -> Column:
    """A DOUBLE column."""
    return Column(name, pa.float64(), comment)


def moment(name: str, comment: str) -> Column:
    """A TIMESTAMP column: microseconds, UTC."""
    return Column(name, TIMESTAMP, comment)
