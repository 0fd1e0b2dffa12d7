"""Octets of open connections that raw_frames has are not kept again, and are found there where their capture is gone."""

from __future__ import annotations

from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.assembly import segments_of
from stompcap.assembly.resume.raw_places import RawPlaces, octets_of
from stompcap.options import Options
from stompcap.tables import TABLES
from tests.capture.packaging import Frame, pcap
from tests.e2e.runs import Lake
from tests.e2e.test_open_connections import EVENTS, HELLO, WELCOME, Peers, wire
from tests.examples import one_in
from tests.tcp.wire import START_NS

Row = tuple[str, str, int, bytes]
RAW = pa.schema([TABLES["raw_frames"].arrow.field(name) for name in ("stream_id", "direction", "stream_offset", "raw")])


def raw_frames(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(RAW.names, row, strict=True)) for row in rows], schema=RAW)


@one_in(2)
@given(
    streams=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(("c2s", "s2c")), st.binary(max_size=60)), max_size=4,
                     unique_by=lambda one: one[:2]),
    cuts=st.lists(st.integers(1, 20), min_size=1), wanted=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 70), st.integers(1, 40))),
    tables=st.integers(1, 3), lost=st.integers(0, 30),
)  # fmt: skip
def test_segments_have_the_octets_of_the_rows_that_they_lie_across(
    streams: list[tuple[str, str, bytes]], cuts: list[int], wanted: list[tuple[int, int, int]], tables: int, lost: int
) -> None:
    rows = list[Row]()
    for name, way, octets in streams:
        bounds = [bound for bound in accumulate([0, *cuts * 60]) if bound < len(octets)]
        rows += [(name, way, begin, octets[begin:end]) for begin, end in pairwise([*bounds, len(octets)])]
    del rows[lost : lost + 1]
    segments = [(*streams[one % len(streams)], offset, length) for one, offset, length in wanted if streams]
    columns = {
        "stream_id": pa.array([one[0] for one in segments], pa.string()), "direction": pa.array([one[1] for one in segments], pa.string()),
        "stream_offset": pa.array([one[3] for one in segments], pa.int64()),
        "captured_octets": pa.array([one[4] for one in segments], pa.int64()),
    }  # fmt: skip
    there = {(name, way, offset + k): raw[k : k + 1] for name, way, offset, raw in rows for k in range(len(raw))}
    expected = []
    for name, way, _, offset, length in segments:
        found = [there[name, way, at] for at in range(offset, offset + length) if (name, way, at) in there]
        expected.append(b"".join(found) if len(found) == length else None)
    assert octets_of(pa.table(columns), [raw_frames(rows[part::tables]) for part in range(tables)]).to_pylist() == expected


def test_octets_that_are_apart_or_not_all_there_have_no_place() -> None:
    places = RawPlaces(np.array([10, 10, 10, 0]))
    places.add(np.array([0, 0, 1, 2, 2]), np.array([5, 5, 20, 7, 8]), np.array([4, 6, 9, 5, 5]))
    assert places.offsets().tolist() == [5, -1, -1, -1]


@pytest.mark.slow
@given(events=EVENTS, overlap=st.sampled_from(("first", "last")))
@one_in(2)
def test_octets_of_captures_that_are_gone_are_those_captured_but_for_passcodes(
    events: list[tuple[int, str, int, int]], overlap: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = pcap(tmp_path_factory.mktemp("wire") / "a.pcap", wire(events), nano=True)
    lake = Lake(Options(overlap=overlap))
    lake.run([str(path)])
    if "stream_state" not in lake.open:
        return
    state, raw = lake.table("stream_state").combine_chunks(), lake.table("raw_frames") if "raw_frames" in lake.open else raw_frames([])
    state = state.filter(state.column("stream_offset").is_valid())
    assert state.column("payload").null_count == state.num_rows
    found = segments_of(state, {row["capture_id"]: 0 for row in lake.captures}, [""], lambda _: [raw.filter(raw.column("raw").is_valid())])
    octets, lengths = path.read_bytes(), state.column("captured_octets").to_pylist()
    for begin, length, kept in zip(state.column("place").to_pylist(), lengths, found.column("payload").to_pylist(), strict=True):
        captured = octets[begin : begin + length]
        assert len(kept) == length
        assert all(one in (other, ord("*")) for one, other in zip(kept, captured, strict=True))


def test_only_octets_that_raw_frames_has_not_are_kept(tmp_path: Path) -> None:
    peers, lake = Peers(0), Lake()
    half, other = HELLO[:-9], bytes(octet ^ 1 for octet in WELCOME)
    packets = [
        *peers.does("open", 0), peers.packet(0, 0, half), peers.packet(0, 0, HELLO), peers.packet(0, len(HELLO), b"\n"),
        peers.packet(1, 0, WELCOME), peers.packet(1, 0, WELCOME), peers.packet(1, 0, other),
    ]  # fmt: skip
    lake.run([str(pcap(tmp_path / "a.pcap", [Frame(octets, START_NS + n * 10**9) for n, octets in enumerate(packets)], nano=True))])
    state = lake.table("stream_state").sort_by("packet").select(["direction", "stream_offset", "payload"]).to_pylist()[3:]
    shown = [("c2s", 0), ("c2s", 0), ("c2s", len(HELLO)), ("s2c", 0), ("s2c", 0), (None, None)]
    assert [(row["direction"], row["stream_offset"]) for row in state] == shown
    assert [row["payload"] is None for row in state] == [True] * 5 + [False]
