"""SQL that reads: a query, or a question about tables. The rest is refused before an engine sees it: Spark does commands at once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stompcap.errors import UsageError
from stompcap.tables import TABLES
from stompcap.views import VIEWS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

BEFORE = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*", re.DOTALL)
PIECE = re.compile(
    r"""--[^\n]*|/\*.*?(?:\*/|\Z)|(?<=\b[eE])'(?:[^'\\]|''|\\.)*(?:'|\Z)|'(?:[^']|'')*(?:'|\Z)|"(?:[^"]|"")*(?:"|\Z)|`[^`]*(?:`|\Z)|"""
    r"""(?<![\w$])\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?(?:\$(?P=tag)\$|\Z)|(?P<end>;)|[^-/'"`;$]+|.""",
    re.DOTALL,
)
"""A comment, a text or name in quotes (DuckDB's E'..' and $tag$..$tag$ too), a semicolon, or what lies between such."""
EXPLAINED = re.compile(r"EXPLAIN\b\s*(?:ANALYZE\b|\([^()]*\))?", re.IGNORECASE)
QUERIES = ("SELECT", "VALUES", "TABLE", "PIVOT", "PIVOT_WIDER", "UNPIVOT", "PIVOT_LONGER")
MIXED = ("WITH", "FROM")
"""A query, or an INSERT, UPDATE or DELETE behind it: by the parser."""
QUESTIONS = ("SHOW", "DESCRIBE", "DESC", "SUMMARIZE", "EXPLAIN")
REFUSED = "sql reads a lake and never writes: say SELECT, WITH, VALUES, PIVOT, UNPIVOT, SHOW, DESCRIBE, SUMMARIZE or EXPLAIN"
SETS = "sql keeps no settings; times are shown in the zone that --time-zone names, or SET TimeZone = 'Europe/Berlin'"
ZONE = re.compile(
    r"""SET\s+(?:SESSION\s+|LOCAL\s+|GLOBAL\s+)?TIME\s?ZONE(?:\s*=\s*|\s+TO\s+|\s+)(?P<quote>['"]?)(?P<zone>[\w/+-]+)(?P=quote)""",
    re.IGNORECASE,
)
OUTSIDE = ("reflect", "try_reflect", "java_method", "identifier")
"""Functions of Spark that call any method of Java, and the clause that hides a function's name."""

SCRIPT = "ScriptTransformation"
"""Spark's plan of SELECT TRANSFORM ... USING, which runs a program."""

RUNS = "sql runs no programs and calls no Java"


def split(text: str) -> tuple[list[str], str]:
    """The statements of a text, each ended by a semicolon, and what comes behind the last semicolon."""
    ended: list[str] = []
    begun = ""
    for piece in PIECE.finditer(text):
        if piece["end"] is None:
            begun += piece.group()
        else:
            ended.append(begun.strip())
            begun = ""
    return [statement for statement in ended if statement], begun.lstrip()


def statements(text: str) -> list[str]:
    """The statements of a text; the last one needs no semicolon, and one of comments alone is none."""
    ended, rest = split(text)
    return [statement for statement in (*ended, rest.rstrip()) if not is_blank(statement)]


def is_blank(statement: str) -> bool:
    """Whether there is nothing but comments."""
    return re.fullmatch(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*", statement, re.DOTALL) is not None


def explained(statement: str) -> str:
    """What an EXPLAIN explains; any other statement as it is."""
    passed = BEFORE.match(statement)
    begin = passed.end() if passed else 0
    found = EXPLAINED.match(statement, begin)
    return statement[found.end() :] if found else statement


def first_word(statement: str) -> str:
    """The word a statement begins with, in capitals, comments and brackets passed over."""
    passed = BEFORE.match(statement)
    word = re.match(r"\w*", statement[passed.end() if passed else 0 :])
    return word.group().upper() if word else ""


def names(statement: str) -> set[str]:
    """The tables and views that a statement may name, by its words; all of them where it asks which there are."""
    known = {*TABLES, *VIEWS}
    return known if first_word(explained(statement)) == "SHOW" else known.intersection(re.findall(r"\w+", statement.lower()))


def zone(statement: str) -> str | None:
    """The time zone that a statement sets, None for any other statement."""
    passed = BEFORE.match(statement)
    found = ZONE.fullmatch(statement[passed.end() if passed else 0 :].strip().removesuffix(";").strip())
    return found["zone"] if found else None


def demand_reading(statement: str) -> None:
    """Raise UsageError for a statement that begins as none that reads."""
    word = first_word(statement)
    if word not in QUERIES + MIXED + QUESTIONS:
        raise UsageError(SETS if word in ("SET", "RESET") else REFUSED)


def calls(names: Iterable[str]) -> re.Pattern[str]:
    """What finds a call of one of these functions, whatever stands between its name and the bracket."""
    return re.compile(rf"""(?<!\w)({"|".join(map(re.escape, sorted(names)))})["`\s]*(?:\(|--|/\*)""", re.IGNORECASE)


def read(spark: SparkSession, statement: str) -> DataFrame:
    """The answer to a statement that reads.

    Raises UsageError for any other one, also for one that runs programs, and what Spark raises for one that makes no sense.
    """
    from pyspark.errors import ParseException

    statement = statement.strip().removesuffix(";")
    demand_reading(statement)
    if found := calls(OUTSIDE).search(statement):
        raise UsageError(f"{found[1]}(): {RUNS}")
    if first_word(statement) in MIXED:
        spark.sql(f"EXPLAIN {statement}")  # what is wrong with it by itself comes first
        try:
            spark.sql(f"EXPLAIN SELECT * FROM (\n{statement}\n)")  # noqa: S608 - it is the user's own, and asked for
        except ParseException as error:
            raise UsageError(REFUSED) from error
    answer = spark.sql(statement)  # a query is not run yet
    if SCRIPT in answer._jdf.queryExecution().logical().toString():  # noqa: SLF001 - a plan has no other way to Python
        raise UsageError(f"TRANSFORM: {RUNS}")
    return answer
