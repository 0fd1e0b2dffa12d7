"""Which options a stage was given is kept, and a capture that was taken in with others is never silently known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.ingest import ledger
from pipelines.ingest.recorded_options import BY_STAGE, differing, given_options
from pipelines.run import STAGES
from stompcap.lake import tables as lakes
from stompcap.options import STOMP_PORTS, Options
from stompcap.settings import RuleSetting, Settings, Thresholds

SETTINGS = Settings((("CN-05", RuleSetting(level="I")), ("FR-20", RuleSetting(enabled=False))), Thresholds(receipt_wait_s=30))
OTHER = {
    "ports": (frozenset(STOMP_PORTS | {7777}), "--ports 7777"),
    "all_ports": (True, "--all-ports"),
    "body_preview": (16, "--body-preview 16"),
    "keep_credentials": (True, "--keep-credentials"),
    "ack_scope": ("connection", "--ack-scope connection"),
    "overlap": ("last", "--overlap last"),
    "idle_timeout": (3600, "--idle-timeout 3600s"),
    "settings": (SETTINGS, "--settings with CN-05.level=I, FR-20.enabled=false, receipt_wait_s=30"),
    "vlan": (True, "--vlan"),
    "tunnels": (False, "--no-tunnels"),
}
WITHOUT_EFFECT = {"source", "split_octets", "max_decompressed", "keylog", "hash_key"}
"""The capture point is part of every row's key, a key log grows, and the key of hashes is secret; the others change how a capture is read.

None of those changes what is found.
"""


def test_every_option_has_a_stage() -> None:
    assert {name for names in BY_STAGE.values() for name in names} == set(OTHER) == set(Options.__dataclass_fields__) - WITHOUT_EFFECT


@pytest.mark.parametrize("name", OTHER)
def test_an_option_is_told_as_it_is_given(name: str) -> None:
    value, words = OTHER[name]
    given = Options(**{name: value})  # type: ignore[arg-type]
    for stage in BY_STAGE:
        assert given_options(given, [stage]) == ({name: words} if name in BY_STAGE[stage] else {})
    assert given_options(Options(), STAGES) == {}


@pytest.fixture
def lake(tmp_path: Path) -> str:
    where = str(tmp_path / "lake")
    lakes.create(where)
    return where


def record(lake: str, stage: str, inputs: list[str], options: Options, *within: str, error: str | None = None) -> None:
    ledger.record(lake, f"run {stage} {inputs} {error}", stage, ledger.now(), inputs, {}, given_options(options, (stage, *within)), error)


def row(name: str) -> dict[str, Any]:
    return {"path": f"{name}.pcap", "capture_id": name, "batch_id": "batch"}


def told(lake: str, options: Options, *stages: str, names: str = "a") -> list[str]:
    return differing(given_options(options, stages or STAGES), stages or STAGES, [row(name) for name in names], lake)


LAST, CONNECTION = Options(overlap="last"), Options(ack_scope="connection")


def test_captures_taken_in_with_the_same_options_are_no_news(lake: str) -> None:
    record(lake, "extract", ["a"], LAST, "decode", "correlate", "metrics")
    assert told(lake, LAST) == []


def test_what_was_chosen_and_what_is_asked_for_is_told_once_for_all_captures(lake: str) -> None:
    record(lake, "extract", ["a", "b"], LAST, "decode", "correlate", "metrics")
    assert told(lake, CONNECTION, names="ab") == [
        "a.pcap and 1 more are in the lake already, taken in with --overlap last: their rows stay as they are; "
        "to have --ack-scope connection, add --reprocess to stompcap run"
    ]
    assert told(lake, Options()) == [
        "a.pcap is in the lake already, taken in with --overlap last: its rows stay as they are; "
        "to have the defaults, add --reprocess to stompcap run"
    ]


def test_stages_on_their_own_count_too(lake: str) -> None:
    record(lake, "extract", ["a"], Options())
    record(lake, "correlate", ["batch"], CONNECTION)
    assert told(lake, CONNECTION) == []
    assert told(lake, Options(), "extract") == []
    assert len(told(lake, Options())) == 1


def test_a_stage_that_failed_chose_nothing(lake: str) -> None:
    record(lake, "extract", ["a"], LAST, error="disk full")
    record(lake, "extract", ["a"], Options())
    assert told(lake, Options()) == []


def test_options_that_were_not_recorded_are_not_taken_for_the_defaults(lake: str) -> None:
    assert told(lake, Options()) == []
    assert "taken in with options that were not recorded" in told(lake, LAST)[0]
