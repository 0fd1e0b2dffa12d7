"""Sessions in pieces, taken together and apart: the same rows and the same states."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from stompcap.assembly import Part, SessionAnalyser, Sessions
from stompcap.assembly.parts import by_stream
from stompcap.options import Options
from tests.examples import every
from tests.session.pieces import cut, differences
from tests.session.test_kept import STEADY
from tests.session.transcript import made

OPENING = """
> CONNECT accept-version:1.2 host:/ heart-beat:5,5
< CONNECTED version:1.2 heart-beat:5,5
> SUBSCRIBE id:1 destination:/queue/a ack:client-individual
> BEGIN transaction:long
"""
TEXTS = [OPENING + "".join(said.replace("{n}", str(n)) for n in range(9 + number % 5)) for number, said in enumerate(STEADY.values())]

CUTS = every(2, [(6, 9, 15), (5, 6, 7, 8, 9, 10, 20)])


def pieces(packets: Sequence[int]) -> list[Sessions]:
    """The sessions in pieces, each of all of them."""
    return [
        Sessions(one.streams, one.rows, one.frames, one.segments, one.stalls, one.upto) for one in cut(made(*TEXTS), packets)
    ]  # fmt: skip


def analysed(given: Sequence[Sessions]) -> tuple[dict[str, pa.Table], SessionAnalyser]:
    analyser = SessionAnalyser({"cap": 0}, Options(), lambda _: True)
    found: dict[str, list[pa.Table]] = {}
    for part in analyser.analysed(Part({}, one) for one in given):
        for name, table in part.tables.items():
            found.setdefault(name, []).append(table)
    return {name: pa.concat_tables(tables) for name, tables in found.items()}, analyser


@pytest.mark.slow
@pytest.mark.parametrize("packets", CUTS)
def test_together_is_as_apart(packets: Sequence[int]) -> None:
    together = pieces(packets)
    apart = [one for piece in together for one in by_stream(piece)]
    assert len(apart) == len(together) * len(TEXTS)
    assert differences(analysed(together)[0], analysed(apart)[0]) == []


@pytest.mark.slow
@pytest.mark.parametrize("packets", CUTS)
def test_states_of_sessions_taken_together_are_those_of_each(packets: Sequence[int]) -> None:
    together = pieces(packets)[:-1]
    apart = [one for piece in together for one in by_stream(piece)]
    ids = together[0].streams.column("stream_id").to_pylist()
    found, each = (analysed(given)[1].paused(ids) for given in (together, apart))
    assert found.keys() == each.keys()
    for stream, one in found.items():
        for name, table in one.state.session.tables.items():
            assert table.equals(each[stream].state.session[name]), (stream, name)
        assert (one.waiting is None) == (each[stream].waiting is None)
    assert len(found) > len(ids) // 2


@pytest.mark.slow
def test_some_of_sessions_taken_together_go_on_apart() -> None:
    first, *rest = pieces((8, 12))
    odd = np.arange(len(TEXTS)) % 2 == 1
    mixed = [first]
    for piece in rest:
        each = list(by_stream(piece))
        mixed += [one for one, alone in zip(each, odd, strict=True) if alone]
        mixed += [one for one, alone in zip(each, odd, strict=True) if not alone]
    assert differences(analysed([first, *rest])[0], analysed(mixed)[0]) == []
