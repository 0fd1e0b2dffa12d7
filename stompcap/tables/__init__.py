"""The lake's tables: the one place that defines table and column names."""

from stompcap.tables import bronze, gold, operations, silver
from stompcap.tables.schema import Column, Table

TABLES: dict[str, Table] = {t.name: t for layer in (bronze, silver, gold, operations) for t in layer.TABLES}

__all__ = ["TABLES", "Column", "Table"]
