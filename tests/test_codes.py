"""Codes are the indices of their words, and nothing but stompcap/codes.py numbers words; stompcap/columns.py has the types of arrays."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from stompcap import codes
from stompcap.tables import words

ROOT = Path(__file__).resolve().parents[1]
PREFIXES = {
    "": "RAW_KINDS CLOSERS SIDES",
    "ROLE_": "ROLES", "TRANSPORT_": "TRANSPORTS", "PROTOCOL_": "PROTOCOLS", "CLOSE_": "CLOSE_KINDS", "STALL_": "STALLS",
    "BY_": "DELIMITERS", "V": "VERSIONS", "VERSION_": "VERSION_SOURCES", "LINES_": "EOLS", "OUTCOME_": "OUTCOMES", "END_": "END_KINDS",
    "SUBSCRIPTION_": "SUBSCRIPTION_STATUSES", "MODE_": "ACK_MODES", "DELIVERY_": "DELIVERY_STATUSES",
    "TRANSACTION_": "TRANSACTION_OUTCOMES", "RECEIPT_": "RECEIPT_STATUSES", "HEARTBEAT_": "HEARTBEAT_VERDICTS",
    "ENDED_BY_": "GAP_ENDERS", "EXCUSE_": "EXCUSES",
}  # fmt: skip
SOURCES = [path for folder in ("stompcap", "pipelines") for path in (ROOT / folder).rglob("*.py")]
ABSENT = {"UNKNOWN_VERSION", "MODE_UNKNOWN", "NOBODY"}
OTHERS = {"LOW", "HIGH", "MODE_OTHER"} | ABSENT


@pytest.mark.parametrize(("prefix", "enumeration"), [(prefix, one) for prefix, those in PREFIXES.items() for one in those.split()])
def test_a_code_is_the_index_of_the_word_in_its_name(prefix: str, enumeration: str) -> None:
    of = getattr(words, enumeration)
    names = [prefix + re.sub(r"\W", "_", word).upper() for word in of]
    assert [getattr(codes, name) for name in names] == list(range(len(of)))


def test_every_code_has_a_word() -> None:
    named = {name for name in vars(codes) if name.isupper()} - OTHERS
    enumerations = [(prefix, one) for prefix, those in PREFIXES.items() for one in those.split()]
    of = {prefix + re.sub(r"\W", "_", word).upper() for prefix, one in enumerations for word in getattr(words, one)}
    assert named == of
    assert {getattr(codes, name) for name in ABSENT} == {-1}


@cache
def without(*names: str) -> dict[str, str]:
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in SOURCES if path.name not in names}


@pytest.mark.parametrize("enumeration", [name for name, of in vars(words).items() if isinstance(of, tuple)])
def test_words_are_numbered_in_one_place(enumeration: str) -> None:
    numbering = re.compile(rf'range\(len\((words\.)?{enumeration}\)|\b{enumeration}\.index\("|index in words\.{enumeration}\n')
    assert not [path for path, text in without("codes.py").items() if enumeration in text and numbering.search(text)]


def test_types_of_arrays_are_named_in_one_place() -> None:
    spelled = re.compile(r"NDArray\[np\.(int8|int32|int64|uint8|uint16|uint32|uint64|bool_)\]")
    assert not [path for path, text in without("columns.py").items() if spelled.search(text)]
