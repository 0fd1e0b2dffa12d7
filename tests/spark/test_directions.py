"""A file of one direction whose partner came a run earlier: the connections are computed again, and the tables are those of one run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.rotation import rotated
from pipelines.job import Job
from pipelines.result import Result
from pipelines.run import execute
from stompcap.lake import tables as lakes
from stompcap.options import Options
from stompcap.tcp.finality import BLOCK
from tests.examples import combined, every
from tests.mangler.shapes import recorded, to_server, written
from tests.spark.test_reprocess import CAPTURE, LATER, WITHOUT_VALIDATION, parts, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
Start = Callable[..., Result]
ORDERS = [(0, 1), (1, 0)]
"""What goes to the server first, or what comes from it."""


@pytest.fixture(scope="module")
def run(spark: SparkSession) -> Start:
    def start(lake: Path, *captures: str) -> Result:
        return execute(Job(lambda: spark, str(lake), Options(idle_timeout=120)), WITHOUT_VALIDATION, captures)

    return start


def sides(capture: str) -> list[str]:
    """What goes to the server and what comes from it, as files beside a capture."""
    path, frames = Path(capture), recorded(Path(capture))
    return [
        str(written(path.parent, f"{name}_{path.stem}.pcap", [one for one in frames if to_server(one) == mine]))
        for name, mine in (("client", True), ("server", False))
    ]


@pytest.mark.parametrize(("order", "later"), combined(ORDERS, [False, True]), ids=str)
def test_the_other_direction_a_run_later(order: tuple[int, ...], later: bool, run: Start, tmp_path: Path) -> None:
    """Connections are open at the end of the first half; `later`: over by a capture of hours later, and final in the lake."""
    first, rest = parts(tmp_path / "files", CAPTURE, (0.5,))
    one, other = (sides(first)[number] for number in order)
    between = [str(LATER)] if later else []
    for captures in ([one], between, [other], [rest]):
        if captures:
            assert run(tmp_path / "lake", *captures).warnings == []
    run(tmp_path / "together", one, other, rest, *between)
    assert rows_of(tmp_path / "lake") == rows_of(tmp_path / "together")


@pytest.mark.parametrize("order", every(2, ORDERS[::-1]), ids=str)
def test_of_a_connection_of_many_packets(order: tuple[int, ...], run: Start, tmp_path: Path) -> None:
    _, (first, rest) = rotated(tmp_path, 1, 12_000, 2)
    one, other = (sides(str(first))[number] for number in order)
    run(tmp_path / "lake", one)
    assert lakes.small(str(tmp_path / "lake"), "stream_state", ["pieces"]).column("pieces").null_count < BLOCK
    for captures in ([other], [str(rest)]):
        assert run(tmp_path / "lake", *captures).warnings == []
    run(tmp_path / "together", one, other, str(rest))
    in_runs, at_once = rows_of(tmp_path / "lake"), rows_of(tmp_path / "together")
    assert in_runs | {"stream_state": []} == at_once | {"stream_state": []}  # where the runs end is in states
