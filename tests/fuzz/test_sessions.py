"""Sessions made to exhaust go through everything in linear time, and through pieces as they go through whole."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest

from stompcap.assembly import Assembly, SessionAnalyser
from stompcap.assembly.windows import WINDOW
from stompcap.options import Options
from stompcap.session import Options as Choices
from tests.e2e.pure import wire_of
from tests.examples import slow_behind
from tests.fuzz.sessions import DELIVERED, SAID, written
from tests.timing import assert_linear

RETENTION = Choices().retention


def told(path: Path, window: int = WINDOW) -> tuple[float, Counter[object]]:
    """Seconds behind the reading of packets; rows by table, octets in raw rows, and what was judged by rule."""
    wire = wire_of([str(path)])
    name = wire.surveyed[0]["capture_id"]
    started = time.thread_time()
    assembly, analyser = Assembly([(str(path), name)], "batch", Options(), window), SessionAnalyser({name: 0}, Options(), lambda _: True)
    found: Counter[object] = Counter()
    for part in analyser.analysed(assembly.parts(wire.segments)):
        tables = part.tables
        found.update({name: table.num_rows for name, table in tables.items()})
        if "raw_frames" in tables:
            found["octets"] += sum(tables["raw_frames"].column("length_octets").to_pylist())
        for row in tables["compliance"].to_pylist() if "compliance" in tables else ():
            found[row["rule_id"], "judged"] += row["applicable"]
            found[row["rule_id"], "failed"] += row["failed"]
    return time.thread_time() - started, found


@pytest.mark.parametrize("name", slow_behind(5, [*DELIVERED, *SAID]))
def test_pieces_and_whole(name: str, tmp_path: Path) -> None:
    path = written(tmp_path / "session.pcap", name, 2_500)
    _, whole = told(path)
    assert whole["octets"] >= 2_500
    assert told(path, 25_000)[1] == whole


@pytest.mark.slow
@pytest.mark.parametrize(("name", "open_rows"), [
    ("ACKs of nothing", 0), ("CONNECTs", 0), ("SENDs in transactions never begun", Choices().open_limit),
])  # fmt: skip
def test_what_is_kept_between_pieces_does_not_grow(name: str, open_rows: int, tmp_path: Path) -> None:
    """Of a client that nobody answers, what is known by name and what rules wait for; SENDs wait for the end of what they name."""
    path = written(tmp_path / "session.pcap", name, 300_000)
    wire = wire_of([str(path)])
    capture = wire.surveyed[0]["capture_id"]
    assembly = Assembly([(str(path), capture)], "batch", Options(), 1 << 20)
    analyser = SessionAnalyser({capture: 0}, Options(), lambda _: True)
    kept = []
    for _ in analyser.analysed(assembly.parts(wire.segments)):
        kept += [held.state.session.size for held in analyser.states.values()]
    assert len(kept) > 1
    assert max(kept) <= 3 * RETENTION + 2_000 + open_rows, kept  # rows and frames that wait for the other side, and names


@pytest.mark.slow
@pytest.mark.parametrize("name", ["subscriptions", "transactions never ended", "receipts never given"])
def test_what_is_left_open_is_bounded(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SessionAnalyser, "_session_options", lambda _: Choices(retention=100, open_limit=10_000))
    path = written(tmp_path / "session.pcap", name, 100_000)
    wire = wire_of([str(path)])
    capture = wire.surveyed[0]["capture_id"]
    assembly = Assembly([(str(path), capture)], "batch", Options(), 1 << 18)
    analyser = SessionAnalyser({capture: 0}, Options(), lambda _: True)
    kept, told = [], Counter[str]()
    for part in analyser.analysed(assembly.parts(wire.segments)):
        told.update({name: table.num_rows for name, table in part.tables.items()})
        kept += [held.state.session.size for held in analyser.states.values()]
    assert max(kept) <= 25_000, kept  # a SEND is kept beside the receipt that it waits for
    assert told["subscriptions"] + told["transactions"] + told["receipts"] == 100_000


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SAID, *DELIVERED])
def test_time_is_linear(name: str, tmp_path: Path) -> None:
    told(written(tmp_path / "warm.pcap", name, 100))
    assert_linear(lambda count: told(written(tmp_path / f"{count}.pcap", name, count))[0], 10_000)
