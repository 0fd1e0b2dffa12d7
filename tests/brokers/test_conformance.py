"""What docs/conformance.md says of a broker and of a client library holds of those on this machine."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from data.recorder.conformance import __main__ as conformance
from data.recorder.conformance.results import RESULTS
from data.recorder.needs import MissingNeedError

pytestmark = [pytest.mark.brokers, pytest.mark.slow]


@pytest.mark.parametrize(("name", "play"), [("activemq", conformance.broker), ("stompest", conformance.client)])
def test_the_cases_have_the_recorded_outcomes(name: str, play: object, tmp_path: Path) -> None:
    assert callable(play)
    try:
        found = play(name, Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "stompcap")
    except MissingNeedError as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))
    recorded = json.loads(RESULTS.read_text("utf-8"))[name]
    assert {row["case"]: row["outcome"] for row in found["cases"]} == {row["case"]: row["outcome"] for row in recorded["cases"]}
