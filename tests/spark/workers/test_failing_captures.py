"""A capture that a worker fails at, by whatever error, is reported by its rank, without its contents; the others go on. No Spark needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from stompcap import capture
from stompcap.assembly import Assembly
from stompcap.capture import segments
from stompcap.capture.by_rank import CapturesByRank
from stompcap.capture.segments import Decoder
from stompcap.errors import CaptureError, NoCapture, UsageError
from stompcap.options import Options
from stompcap.spark.sink import Sink
from stompcap.spark.workers.extract import Extract
from stompcap.spark.workers.read import Read
from stompcap.spark.workers.survey import examined
from stompcap.tables import TABLES
from stompcap.tasks.failures import FAILURES, Failures, ranks
from stompcap.tasks.packing import Packs
from stompcap.tcp import flows
from tests.e2e.truth import DATA

NAMES = ("activemq_dialogue.pcap", "rabbitmq_heartbeats.pcap", "artemis_heartbeats.pcapng", "rabbitmq_stalls.pcap")
CAPTURES = [DATA / name for name in NAMES]
SECRET = "hunter2"


def failing(function: Callable[..., Any], when: Callable[..., bool], error: Exception) -> Callable[..., Any]:
    """The function, but that it raises for some arguments."""

    def instead(*arguments: Any, **named: Any) -> Any:
        if when(*arguments):
            raise error
        return function(*arguments, **named)

    return instead


@pytest.mark.parametrize("error", [KeyError(SECRET), MemoryError(), RecursionError(), OverflowError(SECRET), pa.ArrowInvalid(SECRET)])
def test_whatever_a_look_ends_in_only_that_capture_is_unreadable(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    path = str(CAPTURES[0])
    whole = examined(path, Options(), [])
    assert isinstance(whole, capture.Survey)
    assert whole.readable
    monkeypatch.setattr(Decoder, "decode", failing(Decoder.decode, lambda *_: True, error))
    found = examined(path, Options(), [])
    assert isinstance(found, capture.Survey)
    assert not found.readable
    assert found.splits == ()
    same = ("capture_id", "path", "source", "format", "compression", "size_octets")
    assert {name: found.row[name] for name in same} == {name: whole.row[name] for name in same}
    assert type(error).__name__ in found.row["damage"]
    assert "in capture/survey.py, line " in found.row["damage"]
    assert SECRET not in str(found.row)
    pa.Table.from_pylist([{**found.row, "batch_id": "b", "run_id": "r"}], schema=TABLES["captures"].arrow)


def test_a_file_whose_octets_cannot_be_had_has_no_row(tmp_path: Path) -> None:
    text = tmp_path / "notes.pcap"
    text.write_text("not a capture")
    assert isinstance(examined(str(text), Options(), []), NoCapture)
    for path in (tmp_path, tmp_path / "gone.pcap"):
        assert isinstance(examined(str(path), Options(), []), CaptureError)
        assert capture.unreadable(str(path), "default", "why") is None
    assert capture.unreadable(str(text), "default", "why") is None


def test_options_that_make_no_sense_are_no_fault_of_a_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Decoder, "decode", failing(Decoder.decode, lambda *_: True, UsageError("no number")))
    with pytest.raises(UsageError):
        examined(str(CAPTURES[0]), Options(), [])


OUTPUTS = ("streams", "raw_frames", "segments", "stalls", "frames", "sessions", "deliveries")


@cache
def surveys() -> list[capture.Survey]:
    return [one for path in CAPTURES if (one := capture.examine(str(path), "default"))]


def manifest(lake: Path) -> tuple[list[dict[str, Any]], Failures]:
    """The files that tasks name after all captures went through them, and the captures that failed."""
    named = CapturesByRank.of((one.row["path"], one.row["capture_id"]) for one in surveys())
    packs = [[(rank, part)] for rank, one in enumerate(surveys()) for part in one.splits]
    read = Read(Packs(packs), 1, vlan=False, tunnels=True)
    for name in OUTPUTS:
        (lake / name).mkdir(parents=True, exist_ok=True)

    def numbers() -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"id": list(range(len(packs)))})

    (made,) = Extract(str(lake), named, "batch", Options(), OUTPUTS, now_ns=0)(read(numbers()))
    rows = made.to_pylist()
    failures = Failures()
    failures.add_json(row[FAILURES] for row in rows)
    return [row for row in rows if not row[FAILURES]], failures


def test_nothing_fails(tmp_path: Path) -> None:
    files, failures = manifest(tmp_path)
    assert not failures
    assert {row["table"] for row in files} >= {"streams", "raw_frames", "frames", "sessions"}


def test_a_capture_that_cannot_be_read_by_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = CAPTURES[2].name
    monkeypatch.setattr(segments, "read", failing(segments.read, lambda split, *_: name in split.path, ValueError(SECRET)))
    _, failures = manifest(tmp_path)
    assert set(failures) == {2}
    assert "ValueError" in failures[2]
    assert SECRET not in failures[2]


@pytest.mark.parametrize("large", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_captures_whose_segments_cannot_be_worked_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool) -> None:
    """However many stand together in a group; a large flow is one that does not stand in memory as a whole."""
    if large:
        monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
        monkeypatch.setattr(flows, "HELD_ROWS", 10)
        flow = Assembly.flow

        def fails(self: Assembly, segments: Iterator[pa.Table]) -> Iterator[Any]:
            for piece in segments:
                if {1, 3} & set(ranks(piece)):
                    raise KeyError(SECRET)
                yield from flow(self, iter([piece]))

        monkeypatch.setattr(Assembly, "flow", fails)
    parts = Assembly.parts
    monkeypatch.setattr(Assembly, "parts", failing(parts, lambda _, some: bool({1, 3} & set(ranks(some))), KeyError(SECRET)))
    _, failures = manifest(tmp_path)
    assert set(failures) == {1, 3}, failures
    assert SECRET not in failures.to_json()


def test_a_capture_whose_rows_do_not_fit_their_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A number too large for its column, an empty column that must not be: found when rows are written, and told by writing none."""
    parts = Assembly.parts

    def misfits(self: Assembly, some: pa.Table) -> Iterator[Any]:
        for part in parts(self, some):
            if 2 in ranks(some):
                ports = pa.array([1 << 40] * part.tables["streams"].num_rows, pa.int64())
                streams = part.tables["streams"]
                part.tables["streams"] = streams.set_column(streams.schema.get_field_index("client_port"), "client_port", ports)
            yield part

    monkeypatch.setattr(Assembly, "parts", misfits)
    _, failures = manifest(tmp_path)
    assert set(failures) == {2}
    assert "ArrowInvalid" in failures[2]


def test_a_full_disk_ends_the_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sink, "write", failing(Sink.write, lambda *_: True, OSError("No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        manifest(tmp_path)
