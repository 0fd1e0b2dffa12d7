"""The lake's tables: the one place every table and column name comes from."""

from stompcap.tables import bronze, gold, operations, silver
from stompcap.tables.schema import Column, Table

TABLES: dict[str, Table] = {t.name: t for layer in (bronze, silver, gold, operations) for t in layer.TABLES}

__all__ = ["TABLES", "Column", "Table"]
