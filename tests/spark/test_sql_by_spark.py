"""`stompcap sql --spark` and `stompcap register`, run as commands."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from stompcap.cli.commands.register_command import FORGOTTEN
from stompcap.lake import tables as lakes
from stompcap.spark.catalog import LONGEST_COMMENT
from stompcap.tables import TABLES
from stompcap.views import VIEWS
from tests.cli.commands import Ended, run
from tests.quality.lakes import fill

pytestmark = [pytest.mark.spark, pytest.mark.slow]

USAGE, ENVIRONMENT = 2, 3


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A lake of two sessions, in a folder whose name needs quotes."""
    where = str(tmp_path_factory.mktemp("by spark") / "l'ake")
    lakes.create(where)
    lakes.append(where, "sessions", fill("sessions", 2, {"stream_id": ["a" * 20, "b" * 20], "login": ["ann", "=bob"]}), ["1"], "run")
    return where


def done(ended: Ended, code: int = 0) -> str:
    """What a command printed; it ended with this code and left no process."""
    assert (ended.code, ended.left) == (code, []), ended.err
    return ended.out


def test_sql_asks_spark(small: str) -> None:
    asked = (
        "SELECT login FROM session_details ORDER BY login DESC; SELECT INTERVAL '1' SECOND + INTERVAL '0.5' SECOND AS took; "
        "SELECT max(login) AS most FROM sessions"
    )
    said = "login\nann\n'=bob\n\ntook\n00:00:01.5\n\nmost\nann\n"
    assert done(run("sql", asked, "--spark", "--lake", small, "--format", "csv")) == said


def test_what_sql_refuses_is_told_in_a_line(small: str) -> None:
    """Behind what it answers. What else is refused is in test_statement and test_statement_errors."""
    ended = run("sql", f"SELECT 1 AS n; SELECT * FROM csv.`{small}`", "--spark", "--lake", small, "--format", "csv")
    assert done(ended, USAGE) == "n\n1\n\n"
    assert ["csv" in line for line in ended.lines] == [True]


def metastore(folder: Path) -> list[str]:
    """The options of a Hive metastore in a folder."""
    url = f"jdbc:derby:;databaseName={folder}/metastore;create=true"
    return [
        "--conf", "spark.sql.catalogImplementation=hive", "--conf", f"spark.hadoop.javax.jdo.option.ConnectionURL={url}",
        "--conf", f"spark.sql.warehouse.dir={folder}/warehouse",
    ]  # fmt: skip


def test_register_fills_a_metastore_that_others_read(small: str, tmp_path: Path) -> None:
    options = metastore(tmp_path)
    first = json.loads(done(run("register", "--lake", small, "--schema", "wire", "--json", *options, folder=tmp_path)))
    assert (first["status"], first["schema"], first["new"], first["known"], first["views"]) == ("done", "wire", len(TABLES), 0, len(VIEWS))
    again = done(run("register", "--lake", small, "--schema", "wire", *options, folder=tmp_path))
    assert again == f"spark_catalog.wire: 0 tables are new, {len(TABLES)} were known; {len(VIEWS)} views\n"
    asked = "SELECT max(login) AS login FROM wire.session_details; DESCRIBE wire.session_details"
    said = done(run("sql", asked, "--lake", small, "--format", "json", *options, folder=tmp_path))
    found, columns = (json.loads(f"[{part}]") for part in said.strip().removeprefix("[").removesuffix("]").split("]\n["))
    assert found == [{"login": "ann"}]
    told = [row["comment"] for row in columns]
    assert max(map(len, told)) <= LONGEST_COMMENT, "a metastore takes none longer"
    assert [len(one) > LONGEST_COMMENT - 40 for one in told if one.endswith("...")] == [True]
    other = str(tmp_path / "other")
    lakes.create(other)
    refused = run("register", "--lake", other, "--schema", "wire", *options, folder=tmp_path)
    assert done(refused, USAGE) == ""
    assert "name another --schema" in refused.lines[-1]


def test_register_says_what_is_forgotten_and_what_is_wrong(small: str, tmp_path: Path) -> None:
    ended = run("register", "--lake", small, folder=tmp_path)
    assert done(ended) == f"spark_catalog.stompcap: {len(TABLES)} tables are new, 0 were known; {len(VIEWS)} views\n"
    assert [line.partition(";")[0] for line in ended.lines] == [f"stompcap: {FORGOTTEN.partition(';')[0]}"]
    ended = run("register", "--lake", small, "--catalog", "nowhere", "--quiet", folder=tmp_path)
    assert done(ended, ENVIRONMENT) == ""
    assert [line.startswith("stompcap: nowhere.stompcap: ") for line in ended.lines] == [True]
    assert done(run("register", "--lake", str(tmp_path / "no lake"), folder=tmp_path), ENVIRONMENT) == ""
    older = tmp_path / "older"
    lakes.create(str(older))
    shutil.rmtree(older / "incidents")
    DeltaTable.create(str(older / "incidents"), schema=pa.schema([("incident_id", pa.string())]))
    ended = run("register", "--lake", str(older), folder=tmp_path)
    assert done(ended, ENVIRONMENT) == ""
    assert ended.lines == [f"stompcap: {older}: made by an older version, without column begin_ns of table incidents; "
                           f"bring it up: stompcap maintain --lake {older}"]  # fmt: skip
