"""The interactive shell of `stompcap sql`: history, completion of tables, columns and words, Ctrl-C cancels a statement or clears the line.

A statement ends with a semicolon and may have several lines; `help`, `.tables` and `.schema NAME` need none; `exit` or Ctrl-D ends it.
"""

from __future__ import annotations

import os
import re
import readline
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from time import monotonic

from stompcap.cli.failures import explain
from stompcap.cli.signals import cancelling
from stompcap.cli.stderr import to_stderr
from stompcap.lake import statement
from stompcap.tables import TABLES
from stompcap.views import VIEWS
from stompcap.visible import visible

Names = Callable[[str], list[str]]

PROMPT, MORE = "stompcap> ", "     ...> "
KEPT = 2000
"""Lines of history that are kept."""

CANCELLED = "Query interrupted"
"""What DuckDB makes of Ctrl-C."""

LONGEST = max(map(len, (*TABLES, *VIEWS)))
ENDS = ("exit", "quit", r"\q")
WELCOME = "SQL on {lake}; a statement ends with ; and exit or Ctrl-D ends the shell. help explains, .tables lists tables and views."
HELP = """A statement ends with ; and may have several lines. It reads: SELECT, WITH, FROM,
VALUES, PIVOT, UNPIVOT, SHOW, DESCRIBE, SUMMARIZE or EXPLAIN.
  .tables         tables and views, each with what a row is
  .schema NAME    columns of a table or view, each with its type and meaning
  SET TimeZone = 'Europe/Berlin';    times in this zone
  exit            ends the shell, and so does Ctrl-D
Tab completes words; Ctrl-C cancels a statement or clears the line. Try:
  SELECT sentence FROM incidents ORDER BY begin_ns LIMIT 10;
  SELECT login, count(*) AS sessions FROM sessions GROUP BY login;
  SELECT destination, max(ack_latency_us) FROM deliveries GROUP BY destination;
More questions: docs/sql.md"""
WORDS = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "LIMIT", "JOIN", "LEFT JOIN", "USING", "HAVING", "WITH", "DISTINCT", "COUNT",
    "DESCRIBE", "SHOW TABLES", "EXPLAIN", "CASE", "WHEN", "THEN", "ELSE", "END", "BETWEEN", "IS NULL", "IS NOT NULL", "LIKE", "DESC",
)  # fmt: skip


def run(lake: str, answer: Callable[[str], None], columns: Callable[[str], list[str]]) -> None:
    """Read statements until the end of input; `answer` prints the answer of one, `columns` names those of a table or view."""
    print(WELCOME.format(lake=lake), file=sys.stderr)
    with cancelling(), _history(), _completion(cache(columns)):
        for one in typed(columns):
            begun = monotonic()
            try:
                answer(one)
            except KeyboardInterrupt:
                to_stderr("cancelled")
            except Exception as error:  # noqa: BLE001 - the shell goes on, whatever a statement ends with
                to_stderr("cancelled" if CANCELLED in str(error) else explain(error)[0])
            else:
                to_stderr(f"{monotonic() - begun:.2f} s")


def typed(columns: Names = lambda _: []) -> Iterator[str]:
    """The statements that are typed; what the shell itself is asked it answers."""
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
        word = line.strip().rstrip(";").strip()
        if not begun and word.lower() in ENDS:
            return
        if not begun and (said := spoken(word, columns)) is not None:
            print(said)
            continue
        ended, begun = statement.split(f"{begun}{line}\n")
        yield from (one for one in ended if not statement.is_blank(one))


def spoken(word: str, columns: Names) -> str | None:
    """What the shell itself answers to `help`, `.tables` and `.schema NAME`, None for what is SQL."""
    if word.lower() in ("help", ".help", r"\?", r"\h", "?"):
        return HELP
    command, _, name = word.partition(" ")
    if command.lower() in (".tables", r"\d", r"\dt") and not name:
        width = max(get_terminal_size().columns, 60)
        return "\n".join(visible(f"  {one:<{LONGEST}}  {meaning(one)}", width) for one in (*TABLES, *VIEWS))
    if command.lower() in (".schema", r"\d"):
        name = name.strip().lower()
        if name not in TABLES and name not in VIEWS:
            near = get_close_matches(name, (*TABLES, *VIEWS), 3)
            return f"no table or view {visible(name, 60)}: " + (f"{' or '.join(near)}?" if near else ".tables lists them")
        return "\n".join([f"{name}: {meaning(name)}", *_fitting(_schema(name, columns))])
    if command.startswith("."):
        return f"{visible(command, 40)}: unknown; help lists what there is"
    return None


def meaning(name: str) -> str:
    """What a row of a table or view is."""
    return str(TABLES[name].comment if name in TABLES else VIEWS[name].comment)


def _schema(name: str, columns: Names) -> list[tuple[str, str]]:
    """The columns of a table or view, and what each is; those of a view as the tables that it reads say."""
    if name in TABLES:
        return [(one.name, f"{one.sql_type}: {one.comment}") for one in TABLES[name].columns]
    says = {one.name: f"{one.sql_type}: {one.comment}" for table in reversed(VIEWS[name].tables) for one in TABLES[table].columns}
    return [(one, says.get(one, "")) for one in columns(name)]


def _fitting(rows: list[tuple[str, str]]) -> list[str]:
    """Names and meanings as lines that fit the terminal; all but the first of a name are indented."""
    longest = max(len(name) for name, _ in rows)
    width = max(get_terminal_size().columns, longest + 40)
    behind = " " * (longest + 4)
    found: list[str] = []
    for name, says in rows:
        found += wrap(says, width, initial_indent=f"  {name:<{longest}}  ", subsequent_indent=behind) or [f"  {name}"]
    return found


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
