"""The programme: every scenario of every capture, in one list."""
from __future__ import annotations

from data.recorder.libraries import play
from data.recorder.scenario import Scenario
from data.recorder.scenarios import (
    aftermath,
    bodies,
    dialogue,
    endings,
    habits,
    heartbeats,
    library,
    midstream,
    stalls,
    transactions,
    violations,
)

PROGRAMME: list[Scenario] = [
    *dialogue.SCENARIOS,
    *transactions.SCENARIOS,
    *endings.SCENARIOS,
    *library.SCENARIOS,
    *play.SCENARIOS,
    *bodies.SCENARIOS,
    *heartbeats.SCENARIOS,
    *stalls.SCENARIOS,
    *midstream.SCENARIOS,
    *violations.SCENARIOS,
    *aftermath.SCENARIOS,
    *habits.SCENARIOS,
]
