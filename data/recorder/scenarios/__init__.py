"""The programme: every scenario of every capture, in one list."""
from __future__ import annotations

from data.recorder.scenario import Scenario
from data.recorder.scenarios import bodies, dialogue, endings, transactions

PROGRAMME: list[Scenario] = [*dialogue.SCENARIOS, *transactions.SCENARIOS, *endings.SCENARIOS, *bodies.SCENARIOS]
