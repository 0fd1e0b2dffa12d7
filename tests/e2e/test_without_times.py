"""Captures without times: all that does not need them is as with times, and every time and duration is null, not 1970."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from stompcap import capture
from stompcap.capture.files import PCAP_HEADER_OCTETS
from stompcap.cli import entry
from stompcap.lake import tables as lakes
from stompcap.rules.catalogue import catalogue_table
from stompcap.tables import TABLES
from stompcap.tables.unknown_times import is_time, with_zero, without_zero
from tests.e2e.pure import tables_of
from tests.e2e.truth import DATA
from tests.mangler.files import UNTIMED
from tests.mangler.packagings import Packaging

RECORDING = "rabbitmq_library.pcap"
NEGOTIATED = {"interval_ms", *(f"{who}_{what}_ms" for who in ("client", "server") for what in ("can_send", "wants")),
              "heartbeat_c2s_ms", "heartbeat_s2c_ms"}  # fmt: skip
BRONZE = ("streams", "raw_frames", "segments", "stalls", "frames")
Tables = Mapping[str, pa.Table]
Said = pytest.CaptureFixture[str]


def zeroed(folder: Path) -> Path:
    """A classic pcap with the time 0 in all its records."""
    octets, at = bytearray((DATA / RECORDING).read_bytes()), PCAP_HEADER_OCTETS
    while at < len(octets):
        size = struct.unpack_from("<I", octets, at + 8)[0]
        octets[at : at + 8] = bytes(8)
        at += 16 + size
    (path := folder / "zero.pcap").write_bytes(octets)
    return path


def simple_blocks(folder: Path) -> Path:
    """The packets in simple packet blocks."""
    [path] = Packaging(write=UNTIMED["pcapng, simple packet blocks"]).files(DATA / RECORDING, folder)
    return path


@pytest.fixture(scope="module", params=[zeroed, simple_blocks], ids=lambda make: make.__name__)
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = request.param(tmp_path_factory.mktemp("captures"))
    return made


@pytest.fixture(scope="module")
def made(path: Path) -> Tables:
    return tables_of([str(path)])


@pytest.fixture(scope="module")
def lake(path: Path, made: Tables, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A lake of it, made without Spark."""
    lakes.create(where := str(tmp_path_factory.mktemp("lake")))
    row = capture.survey(str(path), "default")
    assert row is not None
    row |= {"batch_id": "b", "run_id": "r", "skipped": list(row["skipped"].items())}
    rows = {"captures": pa.Table.from_pylist([row], TABLES["captures"].arrow), "rules": catalogue_table(), **made}
    for name, table in rows.items():
        lakes.append(where, name, table, ["b"], "r")
    return where


@pytest.fixture(scope="module")
def timed() -> Tables:
    return tables_of([str(DATA / RECORDING)])


def statuses(tables: Tables, table: str, *columns: str) -> list[tuple[object, ...]]:
    ports = {row["stream_id"]: row["client_port"] for row in tables["streams"].to_pylist()}
    rows = tables[table].to_pylist()
    return sorted((ports[row["stream_id"]], *(row[name] for name in columns)) for row in rows)


@pytest.mark.parametrize(("table", "columns"), [
    ("deliveries", ("stream_offset", "status")), ("receipts", ("request_offset", "status")), ("transactions", ("begin_offset", "outcome")),
    ("sessions", ("outcome", "end_kind")), ("streams", ("close_kind",)), ("compliance_findings", ("rule_id", "stream_offset")),
])  # fmt: skip
def test_what_became_of_it_is_as_with_times(made: Tables, timed: Tables, table: str, columns: tuple[str, ...]) -> None:
    assert statuses(made, table, *columns) == statuses(timed, table, *columns)


def test_every_time_and_duration_is_null(lake: str, made: Tables) -> None:
    found = 0
    for name in {"captures", *made}:
        rows = lakes.small(lake, name)
        for column in TABLES[name].columns:
            if is_time(column) or (column.name.endswith(("_us", "_ms")) and column.name not in NEGOTIATED):
                assert rows.column(column.name).null_count == rows.num_rows, (name, column.name)
                found += rows.num_rows
    assert found > 1000


def test_what_is_read_back_is_what_was_written(lake: str, made: Tables) -> None:
    back = with_zero({name: lakes.small(lake, name) for name in BRONZE})
    for name in BRONZE:
        order = [(one, "ascending") for one in TABLES[name].key]
        there, was = back[name].sort_by(order), made[name].sort_by(order)
        for column in (column.name for column in TABLES[name].columns if column.type == pa.int64()):
            assert there.column(column).to_pylist() == was.column(column).to_pylist(), (name, column)


def test_times_are_written_as_they_are(timed: Tables) -> None:
    for name, rows in timed.items():
        assert without_zero(TABLES[name], rows).equals(rows), name


@pytest.mark.parametrize("words", [
    ["peek", "CAPTURE"], ["peek", "CAPTURE", "--absolute"], ["peek", "CAPTURE", "--format", "json"], ["show", "--lake", "LAKE"],
    ["show", "SESSION", "--lake", "LAKE"], ["show", "SESSION", "--lake", "LAKE", "--format", "csv"],
    ["report", "--lake", "LAKE", "-o", "OUT"],
], ids=" ".join)  # fmt: skip
def test_nothing_shown_is_of_1970(
    words: list[str], path: Path, lake: str, made: Tables, tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "report.html"
    given = {"CAPTURE": str(path), "LAKE": lake, "OUT": str(out), "SESSION": made["sessions"].column("stream_id")[0].as_py()}
    monkeypatch.setattr("sys.argv", ["stompcap", *(given.get(word, word) for word in words)])
    assert entry.outcome() == 0
    shown = capsys.readouterr().out + (out.read_text("utf-8") if out.exists() else "")
    assert shown
    assert "1970-" not in shown
