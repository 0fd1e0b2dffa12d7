"""A made capture that comes in several runs, cut anywhere, also within a unit of its transport, gives the tables of one run."""

from __future__ import annotations

from pathlib import Path

import pytest

from stompcap.assembly.resume.open_flows import FEW_PACKETS
from stompcap.generate.profiles import Wanted
from stompcap.generate.transports import OVER
from stompcap.generate.write import Request, generate
from stompcap.options import Options
from tests.e2e.cutting import cut
from tests.e2e.runs import Lake
from tests.examples import combined
from tests.mangler.packagings import Packaging
from tests.mangler.segmentations import smaller

CUTS = [0.02, 0.05, 0.3, 0.45, 0.8, 0.97]


@pytest.mark.slow
@pytest.mark.parametrize(("over", "most"), combined([*OVER], [0, FEW_PACKETS]))
def test_runs_change_nothing(over: str, most: int, tmp_path: Path) -> None:
    made = generate(tmp_path / "made.pcap", Request(over, 5, wanted=Wanted(connections=2, messages=6)))
    (tmp_path / "small").mkdir()
    [capture] = Packaging(smaller(60)).files(made.paths[0], tmp_path / "small")
    rows = []
    for name, bounds in (("one", []), ("several", CUTS)):
        (tmp_path / name).mkdir()
        lake = Lake(Options(keylog=(str(made.keys),)) if made.keys else Options(), most=most)
        for path in cut(capture, tmp_path / name, bounds):
            lake.run([path])
        rows.append(lake.rows())
    assert rows[0].keys() == rows[1].keys()
    for name in rows[0]:
        assert rows[1][name] == rows[0][name], name


@pytest.mark.slow
def test_keys_that_come_when_captures_are_gone_show_no_octets_of_other_connections(tmp_path: Path) -> None:
    made = generate(tmp_path / "made.pcap", Request("tls13", 5, wanted=Wanted(connections=6, messages=20)))
    keys = Options(keylog=(str(made.keys),))
    whole, lake = Lake(keys), Lake(kept=False, most=0)
    whole.run([str(made.paths[0])])
    for number, path in enumerate(cut(made.paths[0], tmp_path, [0.02, 0.5, 0.7])):
        lake.options = keys if number == 2 else lake.options
        lake.run([path])
    frames = [
        {(row["stream_id"], row["direction"], row["raw"]) for row in one.table("raw_frames").to_pylist() if row["kind"] == "frame"}
        for one in (whole, lake)
    ]
    said = [{(way, raw) for _, way, raw in some} for some in frames]
    assert said[1] <= said[0]
    assert len(said[1]) > 30
