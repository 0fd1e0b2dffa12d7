"""Sessions in pieces: cut anywhere, with the state stored in between, they give the rows that they give whole."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stompcap.session import Options
from stompcap.tables import TABLES
from tests.session.pieces import differences, resumed, whole
from tests.session.test_analyse import DIALOGUES, SCOPES
from tests.session.transcript import Session, tables

CUTS = st.lists(st.integers(1, 30), max_size=4, unique=True).map(sorted)


def made(*texts: str) -> dict[str, pa.Table]:
    return tables([Session(text, f"{n:020d}") for n, text in enumerate(texts)]) | {"stalls": TABLES["stalls"].arrow.empty_table()}


def possible(text: str) -> str:
    """A dialogue in which no side speaks after its FIN, and none after a RST."""
    said, silent = [], set()
    for line in text.splitlines():
        side = line[0]
        if side not in silent:
            said.append(line)
        if line.endswith("RST"):
            break
        if line.endswith("FIN"):
            silent.add(side)
    return "\n".join(said)


@settings(max_examples=150, deadline=None)
@given(DIALOGUES, CUTS, SCOPES, st.sampled_from([2, 8, 65_536]))
def test_any_dialogue_cut_anywhere(text: str, cuts: list[int], scope: str, memory: int) -> None:
    session, options = made(possible(text)), Options(ack_scope=scope, memory=memory)
    assert differences(whole(session, options), resumed(session, cuts, options)) == []
