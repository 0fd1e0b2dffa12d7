"""The gates must and should of a run: by the findings of the connections that it wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.run_findings import GATES, findings
from stompcap.lake import tables as lakes
from tests.quality import lakes as made

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def no_spark() -> SparkSession:
    raise AssertionError("a small lake needs no Spark")


@pytest.mark.parametrize(("gate", "expected"), [("must", {"M": 2}), ("should", {"M": 2, "S": 1})])
def test_findings_are_those_of_the_connections_of_the_run(tmp_path: Path, gate: str, expected: dict[str, int]) -> None:
    lake, streams = str(tmp_path / "lake"), [f"{number:020x}" for number in (0, 0, 0, 0, 7)]
    rows = made.fill("compliance_findings", 5, {
        "rule_id": ["FR-20", "FR-01", "FR-07", "HB-01", "FR-01"], "stream_id": streams, "level": ["S", "M", "I", "M", "M"],
        "evidence": ["a\x1b[2J"] * 5,
    })  # fmt: skip
    lakes.create(lake)
    lakes.append(lake, "compliance_findings", rows, ["mine"], "now")
    lakes.append(lake, "streams", made.fill("streams", 2, {"stream_id": streams[3:], "batch_id": ["mine", "earlier"]}), ["mine"], "now")
    counts, listed = findings(lake, ["mine"], GATES[gate], no_spark)
    assert counts == expected
    assert [row["level"] for row in listed] == [level for level, number in expected.items() for _ in range(number)], "the gravest first"
    assert {row["stream_id"] for row in listed} == {streams[0]}, "a connection of another run is not this one's"
    assert not any("\x1b" in row["evidence"] for row in listed)
    assert findings(lake, [], GATES[gate], no_spark) == ({}, []), "a run that found nothing new wrote nothing"
