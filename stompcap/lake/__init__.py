"""The lake on disk: its Delta tables as deltalake and DuckDB read, write and maintain them; Spark is handed what it asks for."""
