"""Each incident that was recorded or planted is said, once, with its subject and begin, and nothing is said of traffic that is well."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pipelines.incidents.kinds import KINDS
from stompcap.generate.profiles import Wanted
from stompcap.generate.write import Request, generate
from tests.examples import every, slow_behind
from tests.pipelines.incidents.found import Planted, differences, incidents_in, lake_of

DATA = Path(__file__).resolve().parents[3] / "data"
RIGHT = {"consumer_stalled": {"consumer_stalled", "consumer_gone"}, "redelivery_loop": {"redelivery_loop", "poison_message"}}
"""Kinds by which an incident may be said as well."""

CLEAN = ("library", "stompjs", "gostomp", "vertx", "stompest", "bodies", "dialogue")
"""Recordings in which clients do what they should, or go wrong once: the others exist for violations, silences, stalls and cuts."""

SEEDS = every(10, range(20))


def planted(rows: Iterable[dict[str, Any]], kind: str) -> list[Planted]:
    """What must be said of a truth's rows, of the kinds that there are."""
    known = {one.name for one in KINDS}
    right = [(row, frozenset(RIGHT.get(row[kind], {row[kind]}))) for row in rows]
    return [Planted(kinds, row["subject"], row["begin_ns"]) for row, kinds in right if kinds & known]


@pytest.mark.parametrize("broker", slow_behind(1, ["artemis", "rabbitmq"]))
def test_recorded_incidents_are_said_once_and_nothing_else(broker: str, tmp_path: Path) -> None:
    capture = DATA / "incidents" / f"{broker}_incidents.pcapng"
    lines = capture.with_suffix(".truth.jsonl").read_text("utf-8").splitlines()
    truth = [row for row in map(json.loads, lines) if row["kind"] == "incident"]
    found = incidents_in(lake_of(tmp_path / "lake", [capture]))
    assert differences(found, planted(truth, "incident")) == []
    assert [row["sentence"] for row in found if not row["packets"]] == [], "each names packets that show it"


@pytest.mark.slow
def test_planted_incidents_are_said_once_and_nothing_else(tmp_path: Path) -> None:
    made = generate(tmp_path / "made.pcap", Request("incidents", seed=3, wanted=Wanted(duration_s=2_400, hourly=1_800)))
    truth = json.loads(made.truth.read_text("utf-8"))["incidents"]
    assert differences(incidents_in(lake_of(tmp_path / "lake", made.paths)), planted(truth, "kind")) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_said_of_a_normal_day(seed: int, tmp_path: Path) -> None:
    made = generate(tmp_path / "made.pcap", Request("day", seed, wanted=Wanted(hourly=150 + 20 * seed)))
    assert differences(incidents_in(lake_of(tmp_path / "lake", made.paths)), []) == []


def test_nothing_is_said_of_clean_recordings(tmp_path: Path) -> None:
    captures = [path for name in CLEAN for path in sorted(DATA.glob(f"*_{name}.pcap*"))]
    assert len(captures) == 3 * len(CLEAN)
    assert differences(incidents_in(lake_of(tmp_path / "lake", captures)), []) == []
