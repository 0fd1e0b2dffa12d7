"""The data dictionary is up to date and complete; the names promised to users exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stompcap.tables import TABLES, words
from stompcap.tables.tables_page import LAYERS, document
from tests.shared import shared

DICTIONARY = Path(__file__).resolve().parents[2] / "docs" / "tables.md"


def test_the_dictionary_is_current() -> None:
    remedy = "run: python -m stompcap.tables.tables_page > docs/tables.md"
    assert DICTIONARY.read_text("utf-8") == document(), remedy


def test_the_dictionary_names_everything() -> None:
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", document(), re.MULTILINE | re.DOTALL))
    assert set(TABLES) <= set(sections)
    for table in TABLES.values():
        assert table.layer in LAYERS
        rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| (?:yes|no) \| .+ \|$", sections[table.name], re.MULTILINE)
        assert rows == [column.name for column in table.columns]


@pytest.mark.parametrize("name", TABLES)
def test_schemas_are_sound(name: str) -> None:
    table = TABLES[name]
    names = [column.name for column in table.columns]
    assert len(names) == len(set(names))
    assert set(table.key) <= set(names)
    assert set(table.statistics) <= set(names)
    assert table.comment
    assert not table.comment.endswith(".")
    for column in table.columns:
        assert column.comment, column.name
        assert not column.comment.endswith("."), column.name
        assert column.sql_type
        if column.name in table.statistics:
            assert column.sql_type in {"STRING", "BIGINT", "INT", "TIMESTAMP", "DATE", "DOUBLE", "BOOLEAN"}, column.name


# Columns of streams that the contract names once for both directions.
PER_DIRECTION = (
    "octets",
    "segments",
    "retransmitted_octets",
    "overlap_conflict_octets",
    "out_of_order_segments",
    "gap_octets",
    "truncated_octets",
    "outer_octets",
)


def contract() -> dict[str, set[str]]:
    """Per table of the contract, the names in backticks of its paragraph."""
    text = shared("design/tables.md").read_text("utf-8")
    found: dict[str, set[str]] = {}
    heads = list(re.finditer(rf"`({'|'.join(TABLES)})`(?=:)", text))
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        end = following.start() if following else len(text)
        paragraph = re.split(r"\n(?:##|\n)|\n- `frame`", text[head.end() : end])[0]
        found[head.group(1)] = set(re.findall(r"`([a-z][a-z0-9_]*)`", paragraph))
    return found


def test_every_promised_name_exists() -> None:
    promised = contract()
    assert len(promised) == 20, "the contract's tables; the lake may have more"
    enumerated = {word for name, group in vars(words).items() if name.isupper() for word in group}
    for name, columns in promised.items():
        if name == "streams":
            twins = {f"{counter}_{way}" for counter in PER_DIRECTION for way in words.DIRECTIONS}
            columns = columns - set(PER_DIRECTION) | twins
        missing = columns - {column.name for column in TABLES[name].columns}
        assert missing <= enumerated | set(TABLES), name  # a paragraph speaks of words and of other tables too
