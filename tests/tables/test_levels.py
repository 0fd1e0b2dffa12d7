"""Levels in words."""

from __future__ import annotations

import pytest

from stompcap.rules import RULES
from stompcap.tables.levels import SPELLED, spelled
from stompcap.tables.words import LEVELS


@pytest.mark.parametrize(("text", "words"), [
    ("M", "MUST"), ("M/I", "MUST/INFO"), ("M in 1.2, S in 1.1", "MUST in 1.2, SHOULD in 1.1"), ("off", "off"), ("MUST", "MUST"),
])  # fmt: skip
def test_a_level_in_words(text: str, words: str) -> None:
    assert spelled(text) == spelled(words) == words


def test_every_level_has_its_word() -> None:
    assert tuple(SPELLED) == LEVELS
    assert not [rule.id for rule in RULES if not any(word in spelled(rule.level_text) for word in (*SPELLED.values(), "off"))]
