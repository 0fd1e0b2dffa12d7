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
from tests.examples import slow_behind
from tests.mangler.packagings import Packaging
from tests.mangler.segmentations import smaller

CUTS = [0.02, 0.05, 0.3, 0.45, 0.8, 0.97]


@pytest.mark.parametrize("most", slow_behind(1, [0, FEW_PACKETS]), ids=["states of all", "states of long ones"])
@pytest.mark.parametrize("over", OVER)
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
