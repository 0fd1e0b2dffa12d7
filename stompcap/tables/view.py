"""What a view is, and what most of them add to a row: the columns of its session."""

from __future__ import annotations

from dataclasses import dataclass

SESSION_COLUMNS = (
    "client_ip", "client_port", "server_ip", "server_port", "host", "login", "client_product", "server_product", "version",
    "opened_ts",
)  # fmt: skip
"""What a view adds of a row's session."""


@dataclass(frozen=True)
class View:
    """A view: what it adds to which table, the tables it reads (that one first), its SQL with these in braces.

    `{session}` in the SQL becomes the columns of the session, which the view calls s.
    """

    name: str
    comment: str
    tables: tuple[str, ...]
    sql: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "sql", self.sql.replace("{session}", of_session()))

    def of(self, names: dict[str, str] | None = None) -> str:
        """The SQL over tables that are known by these names, by their own otherwise."""
        return self.sql.format(**{table: (names or {}).get(table, table) for table in self.tables})


def of_session(without: tuple[str, ...] = ()) -> str:
    """The columns of the session, which the view calls s."""
    return ", ".join(f"s.{name}" for name in SESSION_COLUMNS if name not in without)


def frame_is(name: str, of: str = "t") -> str:
    """The condition that a row of frames or raw_frames is that of another table."""
    return f"{name}.stream_id = {of}.stream_id AND {name}.direction = {of}.direction AND {name}.stream_offset = {of}.stream_offset"
