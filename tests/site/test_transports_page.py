"""docs/transports.md: the tests and recordings that it names are there, and it has every layer and every status."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stompcap.tables import words

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "transports.md").read_text("utf-8")
CASES = PAGE[PAGE.index("## What is read, case by case") : PAGE.index("## Secrets")]
TESTS = "".join(path.read_text("utf-8") for path in (ROOT / "tests" / "transport").glob("test_*.py"))
RECORDINGS = {path.name.split(".")[0] for path in (ROOT / "data" / "transports").glob("*.pcap*")}
NAMED = re.findall(r"`((?:test|rabbitmq|artemis|activemq|spring)_\w+)`", CASES)


@pytest.mark.parametrize("name", sorted(set(NAMED)))
def test_what_a_case_is_shown_by_is_there(name: str) -> None:
    assert f"def {name}(" in TESTS if name.startswith("test_") else name in RECORDINGS


@pytest.mark.parametrize("word", [*words.TRANSPORTS, *words.ORIGIN_SOURCES[1:2], "not_decrypted", "refused", "unreadable"])
def test_words_of_transports_are_explained(word: str) -> None:
    assert f"`{word}`" in PAGE
