"""A damaged lake is told by table and file, whatever was asked of it, and its tables can be read again once they are mended."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable

from stompcap.cli import entry
from stompcap.lake import commits, damage, mending
from stompcap.lake import tables as lakes
from stompcap.lake.commits import CommitInfo
from stompcap.lake.damage import MADE, MARK
from tests.e2e.truth import DATA
from tests.lake.damages import DAMAGES, a_file
from tests.pipelines.forgetting.forgotten_lakes import Connection, make

COMMANDS = {
    "run": ("run", str(DATA / "rabbitmq_dialogue.pcap")), "show": ("show",), "sql": ("sql", "FROM sessions"),
    "report": ("report", "-o", "{}/report.html"),
    "validate": ("validate",), "maintain": ("maintain",), "forget": ("forget", "--login", "x", "--yes"),
    "reprocess": ("run", "--reprocess"),
}  # fmt: skip
"""Those that read table sessions, as given without --lake."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("whole") / "lake", [[Connection("0a" * 10, "10.1.2.3", "alice", 0)]])


@pytest.fixture
def lake(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "lake"))


def test_a_whole_lake_is_not_damaged(lake: Path) -> None:
    assert not damage.examined(str(lake))


@pytest.mark.parametrize(
    ("table", "name"),
    [
        pytest.param(table, name, marks=[] if (row + column) % 3 == 0 else [pytest.mark.slow])
        for row, table in enumerate(["sessions", "streams", "frames"])
        for column, name in enumerate(DAMAGES)
    ],
)
def test_damage_is_found_by_table_and_file_and_mended(lake: Path, table: str, name: str) -> None:
    done, says = DAMAGES[name]
    done(lake / table)
    [found] = damage.examined(str(lake))
    assert str(found).startswith(f"table {table}: ")
    assert says in str(found)
    [lost] = mending.mend(str(lake), [table], "run")
    assert not damage.examined(str(lake))
    assert lost.rows == (1 if name.startswith("file") else None)
    assert not DeltaTable(str(lake / table)).to_pyarrow_table().num_rows


@pytest.mark.parametrize(
    ("command", "name"),
    [
        pytest.param(command, name, marks=[] if (row + column) % 3 == 0 else [pytest.mark.slow])
        for row, command in enumerate(COMMANDS)
        for column, name in enumerate(DAMAGES)
    ],
)
def test_every_command_tells_table_file_and_remedy(
    lake: Path, command: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done, says = DAMAGES[name]
    done(lake / "sessions")
    words = [word.format(lake) for word in COMMANDS[command]]
    monkeypatch.setattr("sys.argv", ["stompcap", *words, "--lake", str(lake)])
    assert entry.outcome() == 3
    line = capsys.readouterr().err.strip().splitlines()[-1]
    assert says.replace("_delta_log ", "") in line
    assert line.startswith(f"stompcap: {lake}: table sessions: ")
    assert line.endswith(f"stompcap repair --lake {lake}")


@pytest.mark.parametrize("name", DAMAGES)
def test_doctor_tells_it_too(lake: Path, name: str) -> None:
    from stompcap.cli.commands import doctor

    done, says = DAMAGES[name]
    done(lake / "sessions")
    [check] = [one for one in doctor.checks(str(lake), start_spark=False) if one.name == "files of the lake"]
    assert not check.ok
    assert says in check.found
    assert "stompcap repair" in check.remedy


def test_a_table_whose_folder_is_gone_is_not_made_again(lake: Path) -> None:
    shutil.rmtree(lake / "sessions")
    with pytest.raises(damage.Damaged, match="table sessions: is gone"):
        lakes.create(str(lake))
    assert not (lake / "sessions").exists()


@pytest.mark.parametrize("others", [0, 1])
def test_so_with_the_table_that_says_which_there_are(lake: Path, others: int) -> None:
    for name in ("runs", "batches")[: 1 + others]:
        shutil.rmtree(lake / name)
    lakes.append(str(lake), "streams", lakes.small(str(lake), "streams"), ["more"], "run")
    with pytest.raises(damage.Damaged, match="table runs: is gone"):
        lakes.demand(str(lake))


def test_a_lake_that_was_half_made_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first run may be killed before all tables are there; then none has a row."""

    lake, make_one, made = str(tmp_path / "lake"), lakes._create_table, list[str]()

    def some(where: str, table: lakes.Table) -> None:
        if len(made) == 5:
            raise KeyboardInterrupt
        made.append(table.name)
        make_one(where, table)

    with monkeypatch.context() as patch:
        patch.setattr(lakes, "_create_table", some)
        with pytest.raises(KeyboardInterrupt):
            lakes.create(lake)
    lakes.create(lake)
    assert DeltaTable(f"{lake}/runs").metadata().configuration[MADE]


def test_a_lake_of_a_version_that_named_no_tables_has_those_made_that_it_lacks(lake: Path) -> None:
    shutil.rmtree(lake / "runs")
    shutil.rmtree(lake / "stalls")
    DeltaTable.create(str(lake / "runs"), schema=lakes.TABLES["runs"].arrow)
    lakes.create(str(lake))
    assert (lake / "stalls").exists()


def test_a_repair_that_has_not_ended_is_told(lake: Path) -> None:
    (lake / MARK).write_text("{}")
    with pytest.raises(damage.Damaged, match="a repair of it has not ended"):
        lakes.demand(str(lake))


def test_a_file_that_grew_and_can_be_read_is_not_damaged(lake: Path) -> None:
    """Another writer may have written it again; what counts is whether it can be read."""
    path = a_file(lake / "sessions")
    octets = path.read_bytes()
    path.write_bytes(octets[:4] + bytes(8) + octets[4:])
    assert not damage.examined(str(lake))
    os.truncate(path, 100)
    assert damage.examined(str(lake))


def test_a_checkpoint_that_cannot_be_read_is_passed_over_where_the_commits_are_there(lake: Path) -> None:
    delta = DeltaTable(str(lake / "sessions"))
    rows = delta.to_pyarrow_table().num_rows
    delta.create_checkpoint()
    [path] = (lake / "sessions" / "_delta_log").glob("*.checkpoint.parquet")
    path.write_bytes(b"PAR1")
    [found] = damage.examined(str(lake))
    assert "checkpoint.parquet cannot be read" in str(found)
    assert not mending.mend(str(lake), ["sessions"], "run")
    assert DeltaTable(str(lake / "sessions")).to_pyarrow_table().num_rows == rows


def test_no_file_of_a_version_that_is_gone_is_looked_at(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a run would cost more with each run before it: logs and folders keep what was, for days."""
    delta, sized = DeltaTable(str(lake / "runs")), list[str]()
    for _ in range(20):
        commits.replace_files(delta, [], [], CommitInfo("run"))
        delta.update_incremental()
    delta.create_checkpoint()
    commits.replace_files(delta, [], [], CommitInfo("run"))
    for number in range(20):
        (lake / "runs" / f"part-{number}.zstd.parquet").write_bytes(b"")
    size = os.path.getsize
    monkeypatch.setattr(os.path, "getsize", lambda path: (sized.append(str(path)), size(path))[1])
    monkeypatch.setattr(DeltaTable, "is_deltatable", lambda *_: pytest.fail("deltalake looks at each entry of a log"))
    damage.demand_whole(str(lake))
    assert damage.gone(str(lake)) == []
    looked_at = {path for path in sized if "/runs/" in path}
    assert len(looked_at) == 1 + len(delta.file_uris())
