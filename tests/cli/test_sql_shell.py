"""What the shell of `stompcap sql` completes, and how what is typed becomes statements."""

from __future__ import annotations

import builtins
from collections.abc import Iterator

import pytest

from stompcap.cli.sql_shell import candidates, spoken, typed
from stompcap.lake.statement import explained, split, statements, zone
from stompcap.tables import TABLES


def columns(name: str) -> list[str]:
    return TABLES[name].arrow.names


@pytest.mark.parametrize(("before", "word", "among", "without"), [
    ("SELECT * FROM ", "deliv", {"deliveries", "delivery_details"}, {"delivered"}),
    ("SELECT x FROM deliveries JOIN ", "sess", {"sessions", "session_details"}, {"session"}),
    ("SELECT count(*) FROM receipts WHERE ", "stat", {"status"}, set()),
    ("SELECT ", "receipts.lat", {"receipts.latency_us"}, set()),
    ("SELECT * FROM receipts r WHERE ", "r.ans", {"r.answer", "r.answered_ns"}, {"receipts.answer"}),
    ("", "sel", {"SELECT"}, set()),
])  # fmt: skip
def test_a_word_is_completed(before: str, word: str, among: set[str], without: set[str]) -> None:
    found = set(candidates(before, word, columns))
    assert among <= found
    assert not without & found


@pytest.mark.parametrize(("text", "found"), [
    ("SELECT 1; SELECT 2", ["SELECT 1", "SELECT 2"]),
    ("SELECT ';' || \"a;b\" -- not; here\n; /* nor; here */ SELECT `c;d`;", ["SELECT ';' || \"a;b\" -- not; here",
                                                                        "/* nor; here */ SELECT `c;d`"]),
    ("SELECT 'it''s; fine';", ["SELECT 'it''s; fine'"]),
    (";; -- nothing\n ; /* at all */", []),
    ("SELECT 1 - 2 / 3", ["SELECT 1 - 2 / 3"]),
    ("SELECT $$a;'b$$; SELECT 2", ["SELECT $$a;'b$$", "SELECT 2"]),
    ("SELECT $t$ ; $$ ; $t$; SELECT $1; SELECT a$$; b", ["SELECT $t$ ; $$ ; $t$", "SELECT $1", "SELECT a$$", "b"]),
    (r"SELECT E'\';'; SELECT 'a\'; SELECT 2", [r"SELECT E'\';'", r"SELECT 'a\'", "SELECT 2"]),
    ("SELECT $$open; SELECT 2", ["SELECT $$open; SELECT 2"]),
    ("SELECT 'open", ["SELECT 'open"]),
])  # fmt: skip
def test_semicolons_end_statements(text: str, found: list[str]) -> None:
    assert statements(text) == found


def test_a_statement_is_kept_until_its_end() -> None:
    assert split("SELECT 1; SELECT\n2") == (["SELECT 1"], "SELECT\n2")
    assert explained("/* a */ EXPLAIN ANALYZE SELECT 1").strip() == "SELECT 1"
    assert explained("SELECT 1") == "SELECT 1"


def test_lines_become_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    def lines() -> Iterator[str]:
        yield from ("SELECT 1,", "2; SELECT 3;", "half a", "^C", "-- a remark", ";", "SELECT 4;", "exit", "SELECT 5;")

    left = lines()

    def read(_prompt: str) -> str:
        if (line := next(left)) == "^C":
            raise KeyboardInterrupt
        return line

    monkeypatch.setattr(builtins, "input", read)
    assert list(typed()) == ["SELECT 1,\n2", "SELECT 3", "SELECT 4"]


@pytest.mark.parametrize(("word", "says"), [
    ("help", "SET TimeZone"),
    (".tables", "  incidents "),
    (".schema deliveries", "ack_latency_us"),
    (".schema finding_details", "rule_id"),
    (".schema delivry", "no table or view delivry: deliveries"),
    (".schema \x1b[2J", r"no table or view \x1b[2j: .tables lists them"),
    (".exit", ".exit: unknown; help lists what there is"),
])  # fmt: skip
def test_the_shell_answers_without_a_semicolon(word: str, says: str) -> None:
    assert says in (spoken(word, lambda _: ["rule_id", "title"]) or "")


@pytest.mark.parametrize("word", ["SELECT 1", "", "FROM sessions", "SHOW TABLES", "-- help"])
def test_sql_is_left_to_the_engine(word: str) -> None:
    assert spoken(word, columns) is None


@pytest.mark.parametrize(("text", "found"), [
    ("SET TimeZone = 'Europe/Berlin'", "Europe/Berlin"), ("set time zone 'Asia/Tokyo';", "Asia/Tokyo"), ("SET TIMEZONE TO UTC", "UTC"),
    ("-- a\nSET SESSION TimeZone='Etc/GMT+2'", "Etc/GMT+2"), ("SET memory_limit = '1GB'", None), ("SELECT 'SET TimeZone = UTC'", None),
    ("SET TimeZone = 'x'; DROP TABLE t", None), ("SET TimeZone = \"x'", None),
])  # fmt: skip
def test_a_time_zone_is_set_and_nothing_else(text: str, found: str | None) -> None:
    assert zone(text) == found
