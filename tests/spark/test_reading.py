"""SQL on a lake by DuckDB: what it answers, and that nothing but the lake can be reached and nothing changed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable

from stompcap import zones
from stompcap.cli import cells
from stompcap.errors import EnvironmentProblem, UsageError
from stompcap.lake import tables as lakes
from stompcap.lake.reading import answered, named
from stompcap.lake.statement_errors import describe
from stompcap.tables import TABLES
from stompcap.tables.answers import ANSWERS
from stompcap.tables.consumers import CONSUMERS
from stompcap.views import VIEWS
from tests.quality.lakes import fill


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    return made(tmp_path_factory.mktemp("reading") / "lake")


def made(place: Path) -> str:
    where = str(place)
    lakes.create(where)
    ids = ["a" * 20, "b" * 20]
    lakes.append(where, "sessions", fill("sessions", 2, {"stream_id": ids, "login": ["ann", "bob"]}), ["1"], "run")
    for number, one in enumerate(ids):
        held = {"stream_id": [one] * 3, "stream_offset": [0, 1, 2], "destination": ["/q"] * 3, "ack_latency_us": [5 + number, None, 0]}
        lakes.append(where, "deliveries", fill("deliveries", 3, held), [one], "run")
    return where


def rows(lake: str, statement: str) -> list[list[Any]]:
    with answered(lake, statement) as (_, found):
        return list(found)


@pytest.mark.slow
def test_tables_and_views_answer(lake: str) -> None:
    assert rows(lake, "SELECT count(*) FROM deliveries") == [[6]]
    question = "SELECT login, max(ack_latency_us) FROM delivery_details GROUP BY login ORDER BY 2 DESC"
    assert rows(lake, question) == [["bob", 6], ["ann", 5]]
    assert {name for (name,) in rows(lake, "SHOW TABLES")} == {*TABLES, *VIEWS}
    for name, view in VIEWS.items():
        columns = [row[0] for row in rows(lake, f"DESCRIBE {name}")]
        assert not [column for column in columns if re.search(r'_\d$|:', column)], f"{name} has a column twice"
        if view not in (*ANSWERS, *CONSUMERS):
            assert columns[: len(TABLES[view.tables[0]].columns)] == TABLES[view.tables[0]].arrow.names


def test_a_folder_may_have_any_name(tmp_path: Path) -> None:
    where = made(tmp_path / "l'ake [1]* {x}")
    assert rows(where, "SELECT count(*), max(login) FROM delivery_details") == [[6, "bob"]]


def test_values_come_as_python_has_them(lake: str) -> None:
    (row,) = rows(lake, "SELECT map {'a': 1}, TIMESTAMPTZ '2026-01-01 00:00:00', CAST(NULL AS INT), sum(1), [1, 2]")
    assert row[0] == {"a": 1}
    assert row[1].isoformat() == "2026-01-01T00:00:00+00:00"
    assert row[2:4] == [None, 1]


@pytest.mark.parametrize("of", ["{}", "[{}]"], ids=["alone", "in a list"])
def test_a_timestamp_has_the_zone_that_it_has(lake: str, of: str) -> None:
    kinds = "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_NS", "TIMESTAMPTZ"
    (row,) = rows(lake, "SELECT " + ", ".join(of.format(f"CAST('2026-07-01 12:00:00' AS {kind})") for kind in kinds))
    found = [value[0] if isinstance(value, list) else value for value in row]
    assert [cells.plain(value) for value in found] == ["2026-07-01T12:00:00"] * 3 + ["2026-07-01T12:00:00Z"]
    with zones.showing(zones.find("Asia/Kolkata")):
        (row,) = rows(lake, f"SELECT {of.format('to_timestamp(1782907200)')}, date_trunc('day', to_timestamp(1782930600)) AS day")
        shown = cells.plain(row[0][0] if isinstance(row[0], list) else row[0]), cells.plain(row[1])
    assert shown == ("2026-07-01T17:30:00+05:30", "2026-07-02T00:00:00+05:30")


LOGINS = "(SELECT login, stream_id FROM sessions)"
PIVOTS = [
    ("PIVOT {0} ON login USING count(*)", [["a" * 20, 1, 0], ["b" * 20, 0, 1]]),
    ("(PIVOT_WIDER {0} ON login USING count(*)) -- all", [["a" * 20, 1, 0], ["b" * 20, 0, 1]]),
    ("PIVOT {0} ON login IN ('bob') USING count(*) GROUP BY stream_id", [["a" * 20, 0], ["b" * 20, 1]]),
    ("WITH p AS (PIVOT {0} ON login USING count(*)) SELECT sum(ann), sum(bob) FROM p", [[1, 1]]),
    ("PIVOT {0} ON login, stream_id USING count(*)", None),
    ("UNPIVOT (SELECT 1 AS a, 2 AS b) ON a, b", [["a", 1], ["b", 2]]),
    ("DESCRIBE PIVOT {0} ON login USING count(*)", None), ("SUMMARIZE {0}", None), ("SHOW sessions", None), ("DESC sessions", None),
    ("EXPLAIN PIVOT {0} ON login USING count(*)", None), ("EXPLAIN ANALYZE PIVOT {0} ON login USING count(*)", None),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "found"), PIVOTS)
def test_what_reads_is_answered(lake: str, statement: str, found: list[list[Any]] | None) -> None:
    answer = rows(lake, statement.replace("{0}", LOGINS))
    assert answer
    assert found is None or sorted(answer) == found


def test_what_the_process_does_with_duckdb_beside_it_changes_nothing(lake: str) -> None:
    duckdb.execute("BEGIN")
    try:
        assert rows(lake, f"EXPLAIN PIVOT {LOGINS} ON login USING count(*)")
    finally:
        duckdb.execute("ROLLBACK")


def test_the_tables_that_a_statement_names() -> None:
    assert named("SELECT * FROM Deliveries d JOIN session_details USING (stream_id)") == {"deliveries", "session_details"}
    assert named("SELECT 1") == set()
    assert named("show tables") == {*TABLES, *VIEWS}


# FILE is a data file of the lake, which DuckDB may read; OUT and OTHER are files beside it.
REFUSED = [
    "COPY (SELECT 1) TO 'OUT'", "COPY (SELECT 1) TO 'FILE'", "EXPLAIN ANALYZE COPY (SELECT 1) TO 'FILE'",
    "EXPLAIN (ANALYZE, FORMAT json) COPY (SELECT 1) TO 'FILE'", "EXPORT DATABASE 'OUT'", "ATTACH 'OUT'", "INSTALL httpfs", "LOAD httpfs",
    "SET enable_external_access = true", "RESET lock_configuration", "PRAGMA database_list", "CALL checkpoint()",
    "SELECT * FROM read_text('OTHER')", "FROM read_csv('OTHER')", "SELECT * FROM \"read_blob\" ('OTHER')",
    "SELECT * FROM read_text/**/('OTHER')", r"SELECT E'\'' AS a FROM read_text('OTHER') -- '", "SELECT $$'$$ FROM read_text('OTHER') -- '",
    "SELECT 'ä' FROM read_text('FILE')", "SELECT $\u00a0$ FROM read_text('FILE') -- $\u00a0$", "SELECT * FROM\u00a0read_text\u00a0('FILE')",
    "SELECT * FROM glob('/*')", "SELECT * FROM 'OTHER.csv'", "SELECT * FROM \"OTHER.parquet\"", "SELECT * FROM 'https://example.com/a.parquet'",
    "SELECT * FROM query('SELECT 1')", "SELECT * FROM enable_logging(storage = 'file', storage_path = 'OUT')",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM sqlite_scan('OTHER', 'a')", "SELECT getenv('HOME')", "SELECT * FROM python_variable", "SELECT 1; DROP VIEW deliveries",
    "PIVOT sessions ON login USING count(*); DROP VIEW sessions", "PIVOT sessions ON login USING count(*); SELECT 1",
    "PIVOT sessions ON login USING count(*); CREATE TABLE x AS PIVOT sessions ON login USING count(*)",
    "PIVOT (SELECT * FROM read_text('OTHER')) ON content USING count(*)", "CREATE TABLE x AS PIVOT sessions ON login USING count(*)",
    "PIVOT 'OTHER.csv' ON a USING count(*)", "SET TimeZone = 'Asia/Tokyo'", "SUMMARIZE 'OTHER.parquet'",
    "CREATE TABLE x AS SELECT 1", "DELETE FROM deliveries", "DROP VIEW deliveries", "WITH a AS (SELECT 1) DELETE FROM deliveries", "",
]  # fmt: skip


@pytest.mark.parametrize("statement", REFUSED)
def test_nothing_else_is_read_or_written(lake: str, tmp_path: Path, statement: str) -> None:
    python_variable = fill("deliveries", 1, {})
    assert python_variable.num_rows
    file = min(Path(lake, "deliveries").glob("*.parquet"))
    before, other = file.read_bytes(), tmp_path / "other"
    for name in ("other", "other.csv", "other.parquet"):
        (tmp_path / name).write_text("secret\n")
    for word, place in (("FILE", file), ("OUT", tmp_path / "out"), ("OTHER", other)):
        statement = statement.replace(word, str(place).replace("'", "''"))
    with pytest.raises((UsageError, duckdb.Error)) as raised:
        rows(lake, f"{statement} -- sessions deliveries")
    said = str(raised.value) if isinstance(raised.value, UsageError) else describe(raised.value)
    assert said
    assert "\n" not in said
    assert file.read_bytes() == before
    assert not (tmp_path / "out").exists()
    assert rows(lake, "SELECT count(*) FROM deliveries") == [[6]]


def test_a_function_named_in_a_text_is_not_called(lake: str) -> None:
    for text in ("'read_text ('", "E'\\'read_text ('", "$$read_text ($$", "$a$ glob( $a$", "'ä' || 'query('", "'it''s read_blob('"):
        ((said,),) = rows(lake, f"SELECT {text}")
        assert str(said).endswith("(") or "glob(" in str(said)


def test_what_only_spark_reads_is_refused(tmp_path: Path) -> None:
    lakes.create(str(tmp_path))
    log = tmp_path / "sessions" / "_delta_log" / f"{0:020d}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "protocol" in action:
            action["protocol"] = {
                "minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"],
            }  # fmt: skip
    log.write_text("\n".join(map(json.dumps, actions)))
    assert DeltaTable(str(tmp_path / "sessions")).protocol().min_reader_version == 3
    with pytest.raises(EnvironmentProblem, match=r"table sessions of .* was written with deletionVectors.*add --spark"):
        rows(str(tmp_path), "SELECT * FROM session_details")
    assert rows(str(tmp_path), "SELECT count(*) FROM frames") == [[0]]
