"""Blocks of reports: whatever they are cut, merged and taken apart into, they come to the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import write_deltalake
from hypothesis import given
from hypothesis import strategies as st

from stompcap.lake.paths import OPEN
from stompcap.quality import blocks, kept
from stompcap.quality.blocks import Block, merged, of_reports
from stompcap.quality.hashes import Wanted
from stompcap.quality.ledgers import Entries
from stompcap.quality.quantities import of_table
from stompcap.quality.report import Report
from tests.examples import slow_behind
from tests.quality import lakes
from tests.quality.faults import put, run

NUMBERS = st.integers(0, 9)


@st.composite
def reports(draw: st.DrawFn) -> list[Report]:
    """Reports on files of table stalls."""
    found = []
    for number in range(draw(st.integers(0, 7))):
        keys = np.array(sorted(draw(st.sets(NUMBERS, max_size=4))), np.uint64)
        facts = {
            "rows": draw(NUMBERS), "surplus": draw(NUMBERS), "values": {"kind": [[draw(st.sampled_from(["a", "b", None])), draw(NUMBERS)]]},
            "sums": {"one": [[draw(NUMBERS), 2**64 - 1], [1, 2]]}, "faults": {"f": [draw(NUMBERS), [{"place": draw(NUMBERS)}]]},
            "measures": {}, "lacks": draw(st.lists(st.sampled_from(["x", "y"]), max_size=1)),
        }  # fmt: skip
        values = np.array(draw(st.lists(NUMBERS, min_size=len(keys), max_size=len(keys))), np.int64)
        entries = {"streams": Entries(keys, np.tile(values, (len(of_table("streams", "stalls")), 1))).packed}
        name = f"{OPEN if draw(st.booleans()) else ''}{number}"
        found.append(Report("stalls", name, facts, keys, np.zeros((0, 2), np.uint64), entries))
    return found


def total(some: list[Block]) -> dict[str, Any]:
    """What blocks come to, whichever they are."""
    facts = blocks.added(one.facts for one in some)
    facts["values"] = {column: sorted(counts, key=str) for column, counts in facts["values"].items()}
    entries = sorted((name, *map(str, (one.keys, one.values))) for block in some for name, one in block.entered("streams"))
    return json.loads(json.dumps([facts, entries]))  # type: ignore[no-any-return]


@given(reports(), st.integers(1, 4), st.integers(1, 9), st.sets(NUMBERS))
def test_blocks_come_to_what_their_reports_do(made: list[Report], cut: int, files: int, some: set[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "FILES", cut)
        cuts = of_reports(made)
        patch.setattr(blocks, "FILES", files)
        together = list(merged(cuts))
    whole = [block for one in made for block in of_reports([one])]
    assert total(cuts) == total(together) == total(whole)
    assert all(len(set(map(str.startswith, one.names.to_pylist(), [OPEN] * one.rows.num_rows))) == 1 for one in together)
    firsts = [(one, pa.array([True] + [False] * (one.rows.num_rows - 1))) for one in together]
    apart = [part for one, first in firsts for part in (one.only(first), one.only(pc.invert(first))) if part.rows.num_rows]
    assert total(apart) == total(whole)
    wanted = Wanted(np.array(sorted(some), np.uint64))
    found = {name: one.keys.tolist() for block in together for name, one in block.entered("streams", wanted)}
    assert found == {one.file: mine for one in made if (mine := [key for key in one.groups.tolist() if key in some])}


NAMES = ["captures", "streams", "raw_frames", "segments", "receipts"]


@pytest.mark.parametrize("growth", slow_behind(1, [2, 0, 1000]))
def test_a_lake_is_judged_alike_however_its_reports_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, growth: int) -> None:
    monkeypatch.setattr(blocks, "FILES", 2)
    monkeypatch.setattr(kept, "GROWTH", growth)
    monkeypatch.setattr(kept, "PARTS", 4)
    made = lakes.tables()
    lake = lakes.write(tmp_path / "lake", made, NAMES)

    def rows(**options: Any) -> list[dict[str, Any]]:
        return [{key: value for key, value in row.items() if key != "checked_ts"} for row in run(lake, tables=NAMES, **options)]

    for number in range(5):
        write_deltalake(str(lake / "captures"), put("capture_id", 0, f"{number:064x}")(made["captures"]), mode="append")
        if number == 3:
            write_deltalake(str(lake / "captures"), made["captures"], mode="overwrite")
            write_deltalake(str(lake / "receipts"), put("latency_us", 0, -5)(made["receipts"]), mode="append")
        little = rows(new=True)
    assert little == rows()
