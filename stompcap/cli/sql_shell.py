"""The interactive shell of `stompcap sql`: history, completion of tables, columns and words, Ctrl-C cancels a statement or clears the line.

A statement ends with a semicolon and may have several lines; `exit` or Ctrl-D ends the shell.
"""

from __future__ import annotations

import os
import re
import readline
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from time import monotonic

from stompcap.cli.failures import explain
from stompcap.cli.signals import cancelling
from stompcap.cli.stderr import to_stderr
from stompcap.lake import statement
from stompcap.tables import TABLES
from stompcap.views import VIEWS

PROMPT, MORE = "stompcap> ", "     ...> "
KEPT = 2000
"""Lines of history that are kept."""

CANCELLED = "Query interrupted"
"""What DuckDB makes of Ctrl-C."""

ENDS = ("exit", "quit", r"\q")
WELCOME = "SQL on {lake}; a statement ends with ; and exit or Ctrl-D ends the shell. SHOW TABLES; lists tables and views."
WORDS = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "LIMIT", "JOIN", "LEFT JOIN", "USING", "HAVING", "WITH", "DISTINCT", "COUNT",
    "DESCRIBE", "SHOW TABLES", "EXPLAIN", "CASE", "WHEN", "THEN", "ELSE", "END", "BETWEEN", "IS NULL", "IS NOT NULL", "LIKE", "DESC",
)  # fmt: skip


def run(lake: str, answer: Callable[[str], None], columns: Callable[[str], list[str]]) -> None:
    """Read statements until the end of input; `answer` prints the answer of one, `columns` names those of a table or view."""
    print(WELCOME.format(lake=lake), file=sys.stderr)
    with cancelling(), _history(), _completion(cache(columns)):
        for one in typed():
            begun = monotonic()
            try:
                answer(one)
            except KeyboardInterrupt:
                to_stderr("cancelled")
            except Exception as error:  # noqa: BLE001 - the shell goes on, whatever a statement ends with
                to_stderr("cancelled" if CANCELLED in str(error) else explain(error)[0])
            else:
                to_stderr(f"{monotonic() - begun:.2f} s")


def typed() -> Iterator[str]:
    """The statements that are typed."""
    begun = ""
    while True:
        try:
            line = input(MORE if begun else PROMPT)
        except EOFError:
            print()
            return
        except KeyboardInterrupt:  # the line is given up
            print()
            begun = ""
            continue
        if not begun and line.strip().rstrip(";").lower() in ENDS:
            return
        ended, begun = statement.split(f"{begun}{line}\n")
        yield from (one for one in ended if not statement.is_blank(one))


def candidates(before: str, word: str, columns: Callable[[str], list[str]]) -> list[str]:
    """What a word may become, given the line before it: columns of a table behind `table.`, or of the tables that are named, or words."""
    table, dot, begin = word.rpartition(".")
    named = [name for name in re.findall(r"\w+", f"{before} {table}".lower()) if name in TABLES or name in VIEWS]
    if dot:
        held = columns(table.lower()) if table.lower() in (*TABLES, *VIEWS) else _columns(named, columns)
        return [f"{table}.{name}" for name in held if name.startswith(begin.lower())]
    if re.search(r"(?:from|join|describe|summarize)\s+$", before, re.IGNORECASE):
        return sorted(name for name in (*TABLES, *VIEWS) if name.startswith(word.lower()))
    names = [*TABLES, *VIEWS, *_columns(named, columns)]
    return sorted({name for name in names if name.startswith(word.lower())}) + [one for one in WORDS if one.startswith(word.upper())]


def _columns(tables: Iterable[str], columns: Callable[[str], list[str]]) -> list[str]:
    return list(dict.fromkeys(name for table in tables for name in columns(table)))


@contextmanager
def _completion(columns: Callable[[str], list[str]]) -> Iterator[None]:
    """The key Tab completes words."""
    found: list[str] = []

    def complete(word: str, number: int) -> str | None:
        if number == 0:
            found[:] = candidates(readline.get_line_buffer()[: readline.get_begidx()], word, columns)
        return found[number] if number < len(found) else None

    readline.set_completer_delims(" \t\n,()=<>+-*/;'\"")
    readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")
    readline.set_completer(complete)
    try:
        yield
    finally:
        readline.set_completer(None)


@contextmanager
def _history() -> Iterator[None]:
    """Lines of earlier shells, kept for the user alone; nothing is kept where that cannot be written."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "stompcap"
    file = state / "sql_history"
    with suppress(OSError):
        readline.read_history_file(file)
    readline.set_history_length(KEPT)
    try:
        yield
    finally:
        with suppress(OSError):
            state.mkdir(parents=True, exist_ok=True)
            file.touch(mode=0o600)
            readline.write_history_file(file)
