"""The questions of docs/sql.md, asked of the bundled recordings in DuckDB and Spark."""
