"""`stompcap sql --attach`: one's own files and other lakes beside a lake, all only read; `--views` for a DuckDB of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stompcap.errors import EnvironmentProblem, UsageError
from stompcap.lake import tables as lakes
from stompcap.lake.attached import attached, definitions
from stompcap.lake.reading import answered
from stompcap.tables import TABLES
from stompcap.views import VIEWS
from tests.quality.lakes import fill


def made(place: Path, *logins: str) -> str:
    where = str(place)
    lakes.create(where)
    ids = [f"{number:020d}" for number, _ in enumerate(logins)]
    lakes.append(where, "sessions", fill("sessions", len(ids), {"stream_id": ids, "login": list(logins)}), ["1"], "run")
    return where


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    return made(tmp_path_factory.mktemp("attached") / "lake", "ann", "bob")


@pytest.fixture
def beside(tmp_path: Path) -> list[str]:
    pq.write_table(pa.table({"login": ["ann"], "team": ["blue"]}), tmp_path / "teams.parquet")
    (tmp_path / "floors.csv").write_text("login,floor\nbob,7\n")
    made(tmp_path / "o'ther", "ann", "eve", "joe")
    return [f"teams={tmp_path}/teams.parquet", f"floors={tmp_path}/floors.csv", f"other={tmp_path}/o'ther"]


def rows(lake: str, statement: str, more: list[str]) -> list[list[Any]]:
    with answered(lake, statement, attached(more)) as (_, found):
        return list(found)


QUESTIONS = [
    ("SELECT s.login, t.team FROM sessions s JOIN teams t USING (login)", [["ann", "blue"]]),
    ("SELECT login, floor FROM floors", [["bob", 7]]),
    ("SELECT login FROM other.sessions EXCEPT SELECT login FROM sessions ORDER BY 1", [["eve"], ["joe"]]),
    ("SELECT count(*) FROM other.session_details", [[3]]),
    ("SELECT count(*) FROM sessions", [[2]]),
]


@pytest.mark.parametrize(("statement", "answer"), QUESTIONS)
def test_what_is_attached_answers_beside_the_lake(lake: str, beside: list[str], statement: str, answer: list[list[Any]]) -> None:
    assert rows(lake, statement, beside) == answer


REFUSED = [
    "SELECT * FROM read_csv('{0}/floors.csv')", "SELECT * FROM '{0}/secret.csv'",
    "COPY teams TO '{0}/out'", "INSERT INTO teams VALUES ('x', 'y')", "DROP VIEW teams", "ATTACH '{0}/x.db'", "SELECT * FROM glob('{0}/*')",
    "CREATE TABLE other.x AS SELECT 1",
]  # fmt: skip


@pytest.mark.parametrize("statement", REFUSED)
def test_nothing_else_is_read_or_written(lake: str, beside: list[str], tmp_path: Path, statement: str) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises((UsageError, duckdb.Error)):
        rows(lake, statement.replace("{0}", str(tmp_path)), beside)
    assert sorted(tmp_path.rglob("*")) == before


WRONG = [
    "x", "x=", "=y", "a b={0}/a.csv", "sessions={0}/a.csv", "main={0}/a.csv", "x={0}/none.csv", "x={0}/a.txt", "x={0}", "x={0}/[a].csv",
]


@pytest.mark.parametrize("text", WRONG)
def test_what_cannot_be_attached_is_said(tmp_path: Path, text: str) -> None:
    for name in ("a.csv", "a.txt", "[a].csv"):
        (tmp_path / name).write_text("a\n1\n")
    with pytest.raises((UsageError, EnvironmentProblem)):
        attached([text.replace("{0}", str(tmp_path))])


def test_a_name_stands_once(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    with pytest.raises(UsageError, match="twice"):
        attached([f"x={tmp_path}/a.csv", f"X={tmp_path}/a.csv"])


def test_the_statements_of_views_make_every_table_and_view(lake: str) -> None:
    statements = definitions(lake)
    assert len(statements) == 2 + len(TABLES) + len(VIEWS)
    with duckdb.connect() as database:
        for name, table in TABLES.items():
            database.register(f"held_{name}", table.arrow.empty_table())
        for statement in statements[2:]:
            name = statement.split()[4]
            scan = f"delta_scan('{lake}/{name}')"
            assert (scan in statement) == (name in TABLES)
            database.execute(statement.replace(scan, f"held_{name}"))
        assert database.sql("SELECT count(*) FROM session_ends").fetchall() == [(0,)]
