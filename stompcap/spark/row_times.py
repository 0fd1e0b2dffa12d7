"""Rows of Spark with its times as they are: a TIMESTAMP is a moment, a TIMESTAMP_NTZ the face of a clock.

Spark gives Python both as datetimes without a zone, the moments in the zone of this machine.
"""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType


def rows(frame: DataFrame) -> Iterator[list[Any]]:
    """The rows, one by one; the moments among their values have a zone."""
    conversions = [_conversion(field.dataType) for field in frame.schema.fields]
    for row in frame.toLocalIterator():
        yield [value if convert is None or value is None else convert(value) for value, convert in zip(row, conversions, strict=True)]


def _conversion(kind: DataType) -> Callable[[Any], Any] | None:
    """What makes a value of a type, not null, one in which moments have a zone; None where there are none."""
    from pyspark.sql.types import ArrayType, MapType, StructType, TimestampType

    if isinstance(kind, TimestampType):
        return lambda value: value.astimezone(UTC)
    if isinstance(kind, ArrayType):
        return _each(_conversion(kind.elementType))
    if isinstance(kind, MapType):
        names, values = _conversion(kind.keyType), _conversion(kind.valueType)
        if names is None and values is None:
            return None
        return lambda value: {_one(names, name): _one(values, item) for name, item in value.items()}
    if isinstance(kind, StructType):
        parts = {field.name: _conversion(field.dataType) for field in kind.fields}
        if any(parts.values()):
            return lambda value: {name: _one(convert, value[name]) for name, convert in parts.items()}
    return None


def _each(convert: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    return None if convert is None else lambda value: [_one(convert, item) for item in value]


def _one(convert: Callable[[Any], Any] | None, value: Any) -> Any:
    return value if convert is None or value is None else convert(value)
