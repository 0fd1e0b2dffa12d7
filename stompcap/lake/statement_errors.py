"""What is wrong with an SQL statement, in a line, by what the engine said of it: Spark (also through py4j) or DuckDB."""

from __future__ import annotations

import re
from difflib import get_close_matches
from itertools import pairwise

from stompcap.tables import TABLES
from stompcap.views import VIEWS

OF_THE_STATEMENT = ("0A", "21", "22", "42", "P0")
"""Classes of SQLSTATE (ISO/IEC 9075-2) that the words of a statement, or the values it works on, bring about."""
OF_DUCKDB = ("Binder", "Catalog", "Conversion", "InvalidInput", "NotImplemented", "OutOfRange", "Parser", "Permission", "Syntax",
             "TypeMismatch")  # fmt: skip
"""The same as kinds of `duckdb.Error`."""

NO_COLUMN = re.compile(r"""(?:with name |column |column named )[`"](?P<name>.+?)[`"](?: cannot be resolved| not found|\n|$)""")
NO_TABLE = re.compile(r"""(?:table or view |Table with name )[`"]?(?P<name>[^\s]+?)[`"]?(?: cannot be found| does not exist)""")
NO_FUNCTION = re.compile(r"(?:resolve routine |Function with name )`?(?P<name>\w+)")
CANDIDATES = re.compile(r"(?:Did you mean one of the following\?|Candidate bindings:)(.*)")
STATE = re.compile(r"SQLSTATE: (\w{5})")
CONDITION = re.compile(r"\[[A-Z_]+(?:\.[A-Z_]+)?\] ")
OF_A_FILE = re.compile(r"No magic bytes|Invalid (?:Parquet|Input) Error.*\.parquet|too small to be a Parquet file", re.IGNORECASE)
"""What DuckDB says of a data file that is cut, as though the statement were at fault."""

NAMED = 5  # columns that are named where none is alike
LONGEST = 300


def describe(error: Exception) -> str | None:
    """What is wrong, and what may have been meant; None for an error that is not the statement's."""
    text = str(error)
    if not _of_the_statement(error, text):
        return None
    if found := NO_COLUMN.search(text):
        listed = CANDIDATES.search(text)
        names = [name.replace("`", "") for name in re.findall(r"""`[^,\]]+`|(?<=")\w+(?=")""", listed[1])] if listed else []
        return _unknown("column", found["name"].replace("`", ""), names, f"there are {', '.join(names[:NAMED])}" if names else "")
    if found := NO_TABLE.search(text):
        return _unknown("table", found["name"].replace("`", ""), [*TABLES, *VIEWS], "SHOW TABLES lists them")
    if found := NO_FUNCTION.search(text):
        return f"no function {found['name']}; SHOW FUNCTIONS lists them"
    if "file system operations are disabled" in text or "external extensions is disabled" in text:
        return "sql reads the tables of the lake and no other files"
    lines = text.strip().splitlines()
    return _plain(next((line for line in lines if CONDITION.search(line)), lines[0])) + _where(lines)


def _of_the_statement(error: Exception, text: str) -> bool:
    """Whether it is the statement that is wrong. Of an error while rows are computed only the text has the state."""
    if type(error).__module__.startswith(("duckdb", "_duckdb")):
        if OF_A_FILE.search(text):
            return False
        return type(error).__name__.startswith(OF_DUCKDB)
    state = getattr(error, "getSqlState", lambda: None)()
    found = STATE.search(text)
    return (state or (found[1] if found else "")).startswith(OF_THE_STATEMENT)


def _where(lines: list[str]) -> str:
    """Where in the statement DuckDB's mark points to, in Spark's words; nothing where it shows only a part of a long line."""
    for line, mark in pairwise(lines):
        if (found := re.match(r"LINE (\d+): (?!\.\.\.)", line)) and mark.strip() == "^":
            return f" (line {found[1]}, pos {mark.index('^') - found.end()})"
    return ""


def _plain(line: str) -> str:
    """A line of an engine without the names of its errors."""
    line = re.sub(rf"^(?:.*?{CONDITION.pattern}|[\w ]+ Error: )|;?\s*{STATE.pattern}", "", line)
    return re.sub(r"\.?; line (\d+) pos (\d+);?$", r" (line \1, pos \2)", line).strip(" ;")[:LONGEST]


def _unknown(kind: str, name: str, names: list[str], otherwise: str) -> str:
    """That there is none of this name, and which one comes next to it."""
    near = get_close_matches(name.rpartition(".")[2].lower(), names, 1)
    hint = f"did you mean {near[0]}?" if near else otherwise
    return f"no {kind} {name}; {hint}" if hint else f"no {kind} {name}"
