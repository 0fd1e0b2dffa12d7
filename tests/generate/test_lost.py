"""Where packets of a made capture are missing, nothing is invented in any transport: no frame, no finding; and rows meet end to start."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from stompcap.generate.profiles import Wanted
from stompcap.generate.write import Request, generate
from stompcap.options import Options
from tests.examples import every
from tests.generate.inside import EACH
from tests.mangler.compare import Tables, rows_of
from tests.mangler.losses import lost
from tests.mangler.packagings import Packaging

SHARES = (0.1, 0.01)
Counts = dict[tuple[Any, ...], Counter[Any]]


def counted(tables: Tables, table: str, by: tuple[str, ...], what: str) -> Counts:
    """How often each value of a column is there, by other columns."""
    found: Counts = defaultdict(Counter)
    for row in tables[table]:
        if table != "raw_frames" or row["kind"] == "frame":
            found[tuple(row[name] for name in by)][row[what]] += 1
    return found


@pytest.mark.parametrize("share", every(2, SHARES))
@pytest.mark.parametrize("over", EACH)
def test_loss_invents_nothing(over: str, share: float, tmp_path: Path) -> None:
    made = generate(tmp_path / "made.pcap", Request(over, 4, wanted=Wanted(connections=5, messages=40)))
    (tmp_path / "torn").mkdir()
    torn = Packaging(lost(share, 9)).files(made.paths[0], tmp_path / "torn")
    options = Options(keylog=(str(made.keys),)) if made.keys else Options()
    whole, found = rows_of(made.paths, options), rows_of(torn, options)
    for table, by, what in (("raw_frames", ("stream", "direction"), "raw"), ("compliance_findings", ("stream",), "rule_id")):
        known = counted(whole, table, by, what)
        for key, counts in counted(found, table, by, what).items():
            assert not counts - known[key], (table, key)
    assert 0 < len(found["frames"]) < len(whole["frames"])
    ends: dict[tuple[int, str], int] = defaultdict(int)
    for row in sorted(found["raw_frames"], key=lambda row: int(row["stream_offset"])):
        place = row["stream"], row["direction"]
        assert row["stream_offset"] == ends[place]
        ends[place] += row["length_octets"]
