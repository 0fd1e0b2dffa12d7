"""Connections without packets in a run are left where they are: their rows and their state are neither computed nor written again."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from pipelines.job import Job
from pipelines.result import Result
from pipelines.run import STAGES, execute
from stompcap.generate.wire import Packet, Wire
from stompcap.lake import data_files, open_rows
from stompcap.lake import tables as lakes
from stompcap.lake.paths import OPEN
from stompcap.options import Options
from stompcap.tables import TABLES
from tests.capture.packaging import Frame, pcap
from tests.examples import THOROUGH
from tests.killed import Killed, killed_at, killed_between
from tests.spark.test_rotated_runs import rows_of
from tests.tcp.wire import START_NS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
SECOND = 10**9
WHOLE = STAGES[:-1]
Start = Callable[..., Result]


@pytest.fixture(scope="module")
def run(spark: SparkSession) -> Start:
    """Some stages of a run over captures into a lake."""

    def start(lake: Path, *captures: str, stages: tuple[str, ...] = WHOLE, options: Options | None = None) -> Result:
        return execute(Job(lambda: spark, str(lake), options or Options()), stages, captures)

    return start


class Talk:
    """A connection: its packets since they were taken last."""

    def __init__(self, number: int) -> None:
        self.wire, self.said, self.taken, self.closed = Wire(40_000 + number, (1_000 * number, 9_000 * number)), 0, 0, False

    def says(self, at_ns: int) -> None:
        """A message that is delivered, acknowledged and answered; the first time a connection before it."""
        wire, number = self.wire, self.said
        wire.wait_until(at_ns)
        if not number:
            wire.open()
            wire.send(True, b"CONNECT\naccept-version:1.2\nhost:/\nlogin:me\npasscode:secret-0\nheart-beat:0,0\n\n\0")
            wire.send(False, b"CONNECTED\nversion:1.2\nheart-beat:0,0\n\n\0")
            wire.send(True, b"SUBSCRIBE\nid:0\ndestination:/queue/a\nack:client-individual\n\n\0")
        wire.send(False, b"MESSAGE\nsubscription:0\ndestination:/queue/a\nmessage-id:m-%d\nack:m-%d\n\nhello\0" % (number, number))
        if number:
            wire.send(True, b"ACK\nid:m-%d\n\n\0" % (number - 1))
        wire.send(True, b"SEND\ndestination:/queue/b\nreceipt:r-%d\n\nworld\0" % number)
        self.said += 1

    def ends(self, at_ns: int) -> None:
        """The connection closes."""
        self.wire.wait_until(at_ns)
        self.wire.close()
        self.closed = True

    def take(self) -> list[Packet]:
        """The packets that are new."""
        found, self.taken = self.wire.packets[self.taken :], len(self.wire.packets)
        return found


def capture(path: Path, talks: list[Talk]) -> str:
    """What is new of connections, as a capture."""
    packets = sorted((packet for talk in talks for packet in talk.take()), key=lambda packet: packet.ns)
    return str(pcap(path, [Frame(packet.octets, START_NS + packet.ns) for packet in packets], nano=True))


def captures(folder: Path, seed: int, runs: int = 9 if THOROUGH else 6, connections: int = 12) -> list[str]:
    """A capture for each run: of some of the connections, which begin, close and fall silent."""
    chance, talks, now, found = random.Random(seed), [Talk(number) for number in range(connections)], SECOND, list[str]()
    for number in range(runs):
        for talk in chance.sample(talks, chance.randint(1, connections // 3) if number else connections):
            if not talk.closed:
                (talk.ends if talk.said and chance.random() < 0.2 else talk.says)(now)
                now += SECOND
        found.append(capture(folder / f"{number:02}.pcap", talks))
        now += chance.choice((SECOND, 60 * SECOND, 300 * SECOND, 3 * 3600 * SECOND))
    return found


def opened(lake: Path, table: str) -> set[str]:
    """The names of a table's files with rows of open connections."""
    return {file.name for file in data_files.of(DeltaTable(str(lake / table))) if file.name.startswith(OPEN)}


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 10 if THOROUGH else 2))])
def test_some_connections_a_run_come_to_the_tables_of_one_run(
    seed: int, run: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_rows, "MOST_SMALL", 3)
    parts, options = captures(tmp_path, seed), Options(idle_timeout=3600)
    for part in parts:
        run(tmp_path / "lake", part, options=options)
        assert max(len(opened(tmp_path / "lake", name)) for name in TABLES) <= 6
    run(tmp_path / "one", *parts, options=options)
    assert rows_of(tmp_path / "lake") == rows_of(tmp_path / "one")
    assert rows_of(tmp_path / "lake")["streams"]


def test_stages_behind_each_other_come_to_the_tables_of_one_run(run: Start, tmp_path: Path) -> None:
    chance, parts, options = random.Random(7), captures(tmp_path, 4), Options(idle_timeout=3600)
    for part in parts:
        run(tmp_path / "lake", part, stages=("extract",), options=options)
        for stage in WHOLE[1:]:
            if chance.random() < 0.5:
                run(tmp_path / "lake", stages=(stage,), options=options)
    for stage in WHOLE[1:]:
        run(tmp_path / "lake", stages=(stage,), options=options)
    run(tmp_path / "one", *parts, options=options)
    assert rows_of(tmp_path / "lake") == rows_of(tmp_path / "one")


def test_files_of_connections_without_packets_stay_until_they_are_over(run: Start, tmp_path: Path) -> None:
    lake, quiet, busy = tmp_path / "lake", Talk(1), Talk(2)
    quiet.says(SECOND)
    run(lake, capture(tmp_path / "0.pcap", [quiet]))
    before, rows = {name: opened(lake, name) for name in TABLES}, rows_of(lake)
    assert before["streams"]
    assert before["stream_state"]
    for number in range(1, 4):
        busy.says(number * 60 * SECOND)
        run(lake, capture(tmp_path / f"{number}.pcap", [busy]))
        assert all(before[name] <= opened(lake, name) for name in TABLES)
        assert len(opened(lake, "streams")) == 2
    busy.says(30 * 3600 * SECOND)
    run(lake, capture(tmp_path / "4.pcap", [busy]))
    assert not any(before[name] & opened(lake, name) for name in TABLES)
    assert sorted(lakes.small(str(lake), "streams", ["final"]).column("final").to_pylist()) == [False, True, True]
    final = {name: [row.replace("'final': False", "'final': True") for row in found] for name, found in rows.items()}
    now = rows_of(lake)
    assert all(set(final[name]) <= set(now[name]) for name in ("streams", "frames", "sessions", "deliveries", "compliance", "receipts"))


def test_a_killed_batch_is_finished_with_the_connections_that_it_had(run: Start, tmp_path: Path) -> None:
    """All rows of a connection without packets stay those of its batch, of which a stage may still have to take them."""
    lake, quiet, busy = tmp_path / "lake", Talk(1), Talk(2)
    quiet.says(SECOND)
    busy.says(2 * SECOND)
    parts = [capture(tmp_path / "0.pcap", [quiet, busy])]
    with killed_between("captures", "ack_latency"), suppress(Killed):
        run(lake, *parts)
    for number, (done, lacking) in enumerate([("raw_frames", "frames"), ("captures", "ack_latency")], 1):
        busy.says(number * 60 * SECOND)
        parts.append(capture(tmp_path / f"{number}.pcap", [busy]))
        with killed_between(done, lacking), suppress(Killed):
            run(lake, parts[-1])
    held = [lakes.small(str(lake), name, ["stream_id", "batch_id"]).to_pylist() for name in ("streams", "raw_frames", "frames", "segments")]
    assert {tuple(row.values()) for row in held[0]} == {tuple(row.values()) for rows in held for row in rows}
    assert len({row["batch_id"] for row in held[0]}) == 2
    run(lake, *parts)
    run(tmp_path / "one", *parts)
    assert rows_of(lake) == rows_of(tmp_path / "one")


@pytest.mark.slow
def test_runs_killed_at_any_commit_leave_the_others_where_they_were(run: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some connections are computed again, some end, and files are put together with what the next run finishes."""
    monkeypatch.setattr(open_rows, "MOST_SMALL", 2)
    parts, options, chance = captures(tmp_path, 5), Options(idle_timeout=3600), random.Random(5)
    for part in parts:
        with killed_at(chance.randint(1, 24)), suppress(Killed):
            run(tmp_path / "lake", part, options=options)
    run(tmp_path / "lake", *parts, options=options)
    run(tmp_path / "one", *parts, options=options)
    assert rows_of(tmp_path / "lake") == rows_of(tmp_path / "one")
