"""Connections forgotten: the lake is what it would be without them, nothing else is touched, and no octet of them stays."""

from __future__ import annotations

import datetime
import ipaddress
import shutil
from collections.abc import Callable, Iterable
from functools import cache
from itertools import count
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyarrow import parquet

from pipelines.forgetting import forget as forgetting
from pipelines.forgetting.criteria import Criteria, parts
from pipelines.forgetting.forget import FIRST
from pipelines.incidents import refresh as incidents
from pipelines.ingest import ledger, unfinished
from pipelines.ingest.baseline import Baseline
from pipelines.metrics import aggregates, gold
from stompcap.capture import examine
from stompcap.errors import EnvironmentProblem
from stompcap.lake import commits, damage, data_files, delta_log, maintenance
from stompcap.lake import tables as lakes
from stompcap.lake.paths import location
from stompcap.lake.table_writer import TableWriter
from stompcap.tables import TABLES
from tests.e2e.truth import DATA
from tests.examples import STRIDE
from tests.killed import Killed, killed_at
from tests.pipelines.forgetting.forgotten_lakes import KEYED, Connection, files_of, forgotten, holding, job, make, no_spark, rows_of
from tests.report.sample import START, table

A = Connection("0a" * 10, "10.1.2.3", "alice", 0)
B = Connection("0b" * 10, "10.1.2.4", "bob", 0)
C = Connection("0c" * 10, "fd00::3", "alice", 5)
D = Connection("0d" * 10, "192.168.7.7", None, 9, in_order=False)
E = Connection("0e" * 10, "192.168.7.8", "erin", 9)
ALL = ((A, B), (C,), (D, E))


def day(number: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(START / 10**9, datetime.UTC) + datetime.timedelta(days=number)


CASES = [
    (Criteria(before=day(1)), "ab"),
    (Criteria(before=day(6)), "abc"),
    (Criteria(before=day(-1)), ""),
    (Criteria(before=day(99)), "abcde"),
    (Criteria(client=ipaddress.ip_network("10.1.2.3")), "a"),
    (Criteria(client=ipaddress.ip_network("10.1.0.0/16")), "ab"),
    (Criteria(client=ipaddress.ip_network("fd00:0::3")), "c"),
    (Criteria(client=ipaddress.ip_network("fd00::/8")), "c"),
    (Criteria(client=ipaddress.ip_network("10.9.9.9")), ""),
    (Criteria(login="alice"), "ac"),
    (Criteria(login="alice", before=day(1)), "a"),
    (Criteria(login="alice", client=ipaddress.ip_network("10.1.2.4")), ""),
    (Criteria(login="'; DROP TABLE streams; --"), ""),
    (Criteria(streams=(B.name, D.name)), "bd"),
    (Criteria(streams=(B.name, D.name), before=day(1)), "b"),
]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of five connections in three files of each table, to copy."""
    return make(tmp_path_factory.mktemp("lakes") / "whole", ALL)


@pytest.fixture
def lake(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "lake [1] é"))


@pytest.fixture(scope="module")
def never(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, list[str]]]:
    """The rows of a lake that never had some connections."""

    @cache
    def rows(gone: str) -> dict[str, list[str]]:
        if not gone:
            return rows_of(template)
        groups = [[one for one in group if one.name[1] not in gone] for group in ALL]
        return rows_of(make(tmp_path_factory.mktemp("never"), [group for group in groups if group]))

    return rows


@pytest.mark.parametrize(("criteria", "gone"), CASES)
def test_criteria_mean_these_connections(criteria: Criteria, gone: str, template: Path) -> None:
    found = [name for streams in parts(str(template), criteria) for name in streams.ids.to_pylist()]
    assert [name[1] for name in found] == list(gone)


@pytest.mark.parametrize("last", ["streams", "sessions"])
@pytest.mark.parametrize("criteria", [Criteria(before=day(1)), Criteria(client=ipaddress.ip_network("10.1.2.0/24"))])
def test_connections_are_found_in_either_table(last: str, criteria: Criteria, lake: Path) -> None:
    """As a killed command leaves them."""
    delta = DeltaTable(location(str(lake), last))
    commits.replace_files(delta, [], data_files.of(delta), commits.CommitInfo("run"))
    (streams,) = parts(str(lake), criteria)
    assert streams.ids.to_pylist() == [A.name, B.name]


@pytest.mark.parametrize(
    ("criteria", "gone"),
    [
        (Criteria(before=day(6)), "abc"),
        pytest.param(Criteria(streams=(B.name, D.name)), "bd", marks=pytest.mark.slow),
        pytest.param(Criteria(client=ipaddress.ip_network("10.9.9.9")), "", marks=pytest.mark.slow),
        pytest.param(Criteria(before=day(99)), "abcde", marks=pytest.mark.slow),
    ],
)
def test_the_lake_is_that_of_the_others(criteria: Criteria, gone: str, lake: Path, never: Callable[[str], dict[str, list[str]]]) -> None:
    """Counted before, deleted, and again without effect."""
    expected = {} if not gone else dict.fromkeys(KEYED, len(gone))
    counted = forgetting.count(job(lake), criteria)
    done = forgotten(lake, criteria)
    assert (counted.connections, counted.rows) == (done.connections, done.rows) == (len(gone), expected)
    assert rows_of(lake) == never(gone)
    again = forgotten(lake, criteria)
    assert (again.connections, again.rows) == (0, {})


@pytest.mark.slow
def test_forgetting_in_small_parts_is_the_same(
    lake: Path, never: Callable[[str], dict[str, list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.forgetting.criteria.AT_ONCE", 2)
    assert [len(streams.ids) for streams in parts(str(lake), Criteria(before=day(99)))] == [2, 2, 1]
    assert forgotten(lake, Criteria(before=day(6))).connections == 3
    assert rows_of(lake) == never("abc")


def test_only_files_that_may_have_their_rows_are_opened(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies in the others does not matter, and they stay; incidents apart, which are made of all rows again."""
    monkeypatch.setattr(incidents, "refresh", lambda *_: 0)
    monkeypatch.setattr(damage, "demand_whole", lambda _: None)  # which would find the others cut
    others = {}
    for name in FIRST:
        files = data_files.of(DeltaTable(location(str(lake), name)), ["stream_id"])
        others[name] = {file.name for file in files if file.bounds["stream_id"].least > B.name}
        for file in files:
            if file.name in others[name]:
                Path(file.uri).write_bytes(b"no Parquet")
    done = forgotten(lake, Criteria(streams=(A.name,)))
    assert done.rows == dict.fromkeys(KEYED, 1)
    assert all(len(names) == 2 and names < files_of(lake, name) for name, names in others.items())


KILLS = [3, len(FIRST), len(FIRST) + 2, len(FIRST) + 3]


def killed_and_repeated(criteria: Criteria, template: Path, tmp_path: Path, kills: Iterable[int]) -> bool:
    """Whether all these kills were survived; false as soon as the command comes to its end before one."""
    forgotten(Path(shutil.copytree(template, tmp_path / "whole")), criteria)
    expected = rows_of(tmp_path / "whole")
    for commit in kills:
        lake = Path(shutil.copytree(template, tmp_path / str(commit)))
        with killed_at(commit):
            try:
                forgotten(lake, criteria)
            except Killed:
                pass
            else:
                return False
        forgotten(lake, criteria)
        assert rows_of(lake) == expected, f"killed at commit {commit}"
        shutil.rmtree(lake)
    return True


@pytest.mark.slow
def test_killed_between_commits_and_repeated(template: Path, tmp_path: Path) -> None:
    """Within the tables, before and behind the aggregates, between streams and sessions."""
    assert killed_and_repeated(Criteria(login="alice"), template, tmp_path, KILLS)


@pytest.mark.slow
@pytest.mark.parametrize("criteria", [Criteria(before=day(1)), Criteria(login="alice"), Criteria(client=ipaddress.ip_network("10.1.2.3"))])
def test_killed_between_any_two_commits_and_repeated(criteria: Criteria, template: Path, tmp_path: Path) -> None:
    assert not killed_and_repeated(criteria, template, tmp_path, count(step=STRIDE))


@pytest.mark.slow
def test_no_octet_stays_behind_maintain(lake: Path) -> None:
    """Neither in files nor in logs, while the others' are there; a later run continues from what the aggregates noted."""
    words = [A.name, "10.1.2.3", "alice", C.name, "fd00::3", f"body of {A.name}", f"/queue/{C.name}"]
    assert holding(lake, *words)
    forgotten(lake, Criteria(login="alice"))
    assert holding(lake, *words), "old versions have them"
    before = rows_of(lake)
    for name in TABLES:
        maintenance.maintain(no_spark, str(lake), name, 0)
    assert holding(lake, *words) == []
    assert holding(lake, B.name, "10.1.2.4")
    assert rows_of(lake) == before
    for one in gold.AGGREGATES:
        sources = {name: DeltaTable(location(str(lake), name)) for name in one.times}
        noted = delta_log.transactions(DeltaTable(location(str(lake), one.name)))
        periods = aggregates.changed(one, sources, {name: noted[commits.SOURCE + name] for name in sources})
        assert periods is not None
        assert len(periods.begins) == 0


@pytest.mark.slow
def test_what_is_kept_for_a_week_is_readable_for_a_week(lake: Path) -> None:
    before = rows_of(lake)
    versions = {name: DeltaTable(location(str(lake), name)).version() for name in KEYED}
    forgotten(lake, Criteria(login="alice"))
    for name in KEYED:
        maintenance.maintain(no_spark, str(lake), name, 168)
        old = DeltaTable(location(str(lake), name), version=versions[name]).to_pyarrow_table(columns=TABLES[name].arrow.names)
        assert sorted(map(repr, commits.ordered(name, old).to_pylist())) == before[name]


@pytest.mark.parametrize("prefix", ["open-", "open-7-"])
def test_a_rewritten_file_keeps_the_prefix_of_its_name(prefix: str, tmp_path: Path) -> None:
    lake = str(tmp_path)
    lakes.create(lake)
    for kind in ("", prefix):
        for group in ([A, B], [B]):
            writer = TableWriter(lake, "streams", kind)
            writer.write(table("streams", [one.row("streams") for one in group]))
            file = writer.close()
            assert file is not None
            lakes.commit(lake, "streams", [file], [f"{kind} {len(group)}"], "run")
    before = files_of(tmp_path, "streams")
    forgotten(tmp_path, Criteria(streams=(A.name,)))
    after = files_of(tmp_path, "streams")
    assert len(after & before) == 2
    assert sorted(name.partition("part-")[0] for name in after) == sorted(["", "", prefix, prefix])


@pytest.mark.slow
def test_a_table_older_than_a_column_is_rewritten(lake: Path) -> None:
    """Its file has no such column, which is null in the rows that stay."""
    delta = DeltaTable(location(str(lake), "sessions"))
    for file in data_files.of(delta):
        parquet.write_table(parquet.read_table(file.uri).drop_columns(["last_ns", "given_up"]), file.uri)
    forgotten(lake, Criteria(login="alice"))
    rows = commits.read("sessions", data_files.of(DeltaTable(location(str(lake), "sessions")))).to_pylist()
    assert {row["stream_id"]: row["last_ns"] for row in rows} == {B.name: None, D.name: None, E.name: None}


@pytest.mark.slow
def test_runs_say_which_kinds_of_criteria_and_how_many(lake: Path) -> None:
    forgotten(lake, Criteria(login="alice", client=ipaddress.ip_network("10.1.2.3")))
    (row,) = [row for row in lakes.small(str(lake), "runs").to_pylist() if row["stage"] == "forget"]
    assert row["inputs"] == ["client", "login"]
    assert dict(row["rows"]) == {"connections": 1} | dict.fromkeys(KEYED, 1)
    assert row["status"] == "done"
    assert not [word for word in ("alice", "10.1.2.3", A.name) if word in repr(row)]


@pytest.mark.slow
def test_a_run_that_was_killed_is_to_be_finished_first(lake: Path) -> None:
    found = examine(str(DATA / "rabbitmq_midstream.pcap"), "default")
    assert found is not None
    unfinished.begin(job(lake), "b", [found], Baseline(0))
    assert forgotten(lake, Criteria(streams=(A.name,))).connections == 1, "no table has rows of it"
    lakes.append(str(lake), "segments", table("segments", [B.row("segments")]), ["b"], "killed")
    with pytest.raises(EnvironmentProblem, match=r"run \w+ was killed while it committed .*rabbitmq_midstream\.pcap; finish it first"):
        forgotten(lake, Criteria(streams=(B.name,)))
    ledger.enter(str(lake), [found.row], "b", "killed")
    assert forgotten(lake, Criteria(streams=(B.name,))).connections == 1
