"""`stompcap sql --spark` and `stompcap register`, run as commands."""

from __future__ import annotations

import json
import re
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


def test_sql_asks_spark_and_tells_in_a_line_what_it_refuses(small: str) -> None:
    """Behind what it answers. What else is refused is in test_statement and test_statement_errors."""
    asked = (
        "SELECT login FROM session_details ORDER BY login DESC; SELECT INTERVAL '1' SECOND + INTERVAL '0.5' SECOND AS took; "
        f"SELECT max(login) AS most FROM sessions; SELECT * FROM csv.`{small}`"
    )
    said = "login\nann\n'=bob\n\ntook\n00:00:01.5\n\nmost\nann\n\n"
    ended = run("sql", asked, "--spark", "--lake", small, "--format", "csv")
    assert done(ended, USAGE) == said
    assert ["csv" in line for line in ended.lines] == [True]


def metastore(folder: Path) -> list[str]:
    """The options of a Hive metastore in a folder."""
    url = f"jdbc:derby:;databaseName={folder}/metastore;create=true"
    return [
        "--conf", "spark.sql.catalogImplementation=hive", "--conf", f"spark.hadoop.javax.jdo.option.ConnectionURL={url}",
        "--conf", f"spark.sql.warehouse.dir={folder}/warehouse",
    ]  # fmt: skip


# Commands one after the other in a process, to which Hive's start is most of each; behind what each says stands its code.
ONE_BY_ONE = """import json, sys
from stompcap.cli import entry
for sys.argv in json.loads(sys.argv[1]):
    code = entry.outcome()
    for stream in (sys.stdout, sys.stderr):
        print("== ", code, file=stream, flush=True)
"""


def one_by_one(*commands: list[str], folder: Path) -> list[tuple[str, str, int]]:
    """What each command said on standard output and error, and its code."""
    ended = run(json.dumps([["stompcap", *words] for words in commands]), program=("-c", ONE_BY_ONE), folder=folder)
    assert ended.code == 0, ended.err
    out, err = (re.split(r"^==  (\d+)\n", said, flags=re.MULTILINE) for said in (ended.out, ended.err))
    assert out[1::2] == err[1::2]
    return list(zip(out[:-1:2], err[:-1:2], map(int, out[1::2]), strict=True))


def test_register_fills_a_metastore_that_others_read(small: str, tmp_path: Path) -> None:
    """In another process."""
    options, other = metastore(tmp_path), str(tmp_path / "other")
    first = json.loads(done(run("register", "--lake", small, "--schema", "wire", "--json", *options, folder=tmp_path)))
    assert (first["status"], first["schema"], first["new"], first["known"], first["views"]) == ("done", "wire", len(TABLES), 0, len(VIEWS))
    asked = "SELECT max(login) AS login FROM wire.session_details; DESCRIBE wire.session_details"
    lakes.create(other)
    again, answered, refused = one_by_one(
        ["register", "--lake", small, "--schema", "wire", *options],
        ["sql", asked, "--lake", small, "--format", "json", *options],
        ["register", "--lake", other, "--schema", "wire", *options],
        folder=tmp_path,
    )
    assert (again[0], again[2]) == (f"spark_catalog.wire: 0 tables are new, {len(TABLES)} were known; {len(VIEWS)} views\n", 0)
    assert answered[2] == 0, answered[1]
    found, columns = (json.loads(f"[{part}]") for part in answered[0].strip().removeprefix("[").removesuffix("]").split("]\n["))
    assert found == [{"login": "ann"}]
    told = [row["comment"] for row in columns]
    assert max(map(len, told)) <= LONGEST_COMMENT, "a metastore takes none longer"
    assert [len(one) > LONGEST_COMMENT - 40 for one in told if one.endswith("...")] == [True]
    assert (refused[0], refused[2]) == ("", USAGE)
    assert "name another --schema" in refused[1].splitlines()[-1]


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
