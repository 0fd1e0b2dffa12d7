"""Connections of more packets than a block go on from the state of their machines: what that state needs, and what it never has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from scapy.layers.inet import TCP
from scapy.layers.l2 import Ether

from stompcap.assembly.resume import older_states, open_flows, state_layout
from stompcap.options import Options
from tests.capture.packaging import Frame, pcap
from tests.e2e.runs import Lake
from tests.e2e.test_open_connections import SECOND, Peers
from tests.tcp.wire import START_NS

BLOCK = 6
PASSCODE = b"sesame-open"


def talk(number: int, count: int) -> list[bytes]:
    """A connection that is open still, with as many messages, the last of which repeats its passcode."""
    peers = Peers(number)
    found = [*peers.does("open", 0), *peers.does("say", 0), *peers.does("answer", 0), *peers.does("say", 1)]
    for n in range(count):
        found += [*peers.does("answer", 1), *peers.does("say", 2 if n % 3 else 4)]
    told = b"SEND\ndestination:/q\n\nI said %s\0" % PASSCODE
    return [*found, peers.packet(0, peers.sent[0], told)]


def captures(folder: Path, name: str, packets: Sequence[bytes], parts: int, since: int = 0) -> list[str]:
    """A packet a second, in as many files."""
    frames = [Frame(octets, START_NS + (since + n) * SECOND) for n, octets in enumerate(packets)]
    size = -(-len(frames) // parts)
    return [str(pcap(folder / f"{name}{n}.pcap", frames[n * size : (n + 1) * size], nano=True)) for n in range(parts)]


def pieces(lake: Lake) -> pa.Table:
    """The rows of a lake's states."""
    state = pa.concat_tables(lake.open["stream_state"])
    return state.filter(pa.compute.is_valid(state.column("pieces")))


def run(lake: Lake, paths: Sequence[str]) -> Lake:
    for path in paths:
        lake.run([path])
    return lake


@pytest.mark.slow
@pytest.mark.parametrize("kept", [pytest.param(True, marks=pytest.mark.slow), False], ids=["captures stay", "captures go"])
def test_a_run_a_file_is_one_run_and_no_state_has_a_passcode(kept: bool, tmp_path: Path) -> None:
    """Repeated passcodes are masked while the CONNECT can be read again, in tables and in states."""
    packets = talk(0, 20)
    parts = captures(tmp_path, "part", packets, 5)
    lake = Lake(block=BLOCK, kept=kept)
    for path in parts:
        lake.run([path])
        assert lake.final["raw_frames"]
        octets = b"".join(pieces(lake).column("payload").to_pylist()) if path != parts[0] else b""
        assert not kept or PASSCODE not in octets
    assert pieces(lake).num_rows > 0
    whole = run(Lake(block=BLOCK), captures(tmp_path, "whole", packets, 1)).rows()
    found = lake.rows()
    told = {name for name in whole if whole[name] != found[name]}
    assert told == (set() if kept else {"raw_frames", "frames", "sends"})
    assert all(PASSCODE.decode() not in row for rows in (found if kept else whole).values() for row in rows)


def several(count: int) -> list[bytes]:
    """Connections that take turns; all they say is captured again, at times as other octets."""
    flows = [Peers(0), Peers(1)]
    found = [packet for one in flows for what in ("open", "say", "answer") for packet in one.does(what, 0)]
    for n in range(count):
        for number, one in enumerate(flows):
            found += [*one.does(("say", "answer", "split")[(n + number) % 3], 1 + n % 2), *one.does("again", 5 + (n + number) % 4)]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("overlap", ["first", "last"])
@pytest.mark.parametrize("parts", [2, *(pytest.param(parts, marks=pytest.mark.slow) for parts in (5, 9))])
def test_states_of_several_flows_give_the_same_rows_where_their_captures_are_gone(parts: int, overlap: str, tmp_path: Path) -> None:
    """Octets that were captured again as others are in no table: the state of each flow has its own."""
    packets, options = several(16), Options(overlap=overlap)
    gone, there = (Lake(options, block=BLOCK, most=0, kept=kept) for kept in (False, True))
    most = 0
    for path in captures(tmp_path, "part", packets, parts):
        for lake in (gone, there):
            lake.run([path])
        most = max(most, pieces(gone).group_by("flow").aggregate([]).num_rows)
    assert most == 2, "both flows have states"
    assert gone.rows() == there.rows()
    assert min(gone.table("streams").column("overlap_conflict_octets_c2s").to_pylist()) > 0


@pytest.mark.slow
def test_what_a_run_keeps_and_does_again_does_not_grow(tmp_path: Path) -> None:
    lake, open_rows = Lake(block=BLOCK), []
    for path in captures(tmp_path, "part", talk(0, 150), 30):
        lake.run([path])
        open_rows.append(sum(table.num_rows for table in lake.open["raw_frames"]))
    assert max(open_rows) <= 3 * BLOCK
    assert sum(table.num_rows for table in lake.final["raw_frames"]) > 250


@pytest.mark.slow
def test_captures_of_other_connections_may_come_in_before(tmp_path: Path) -> None:
    """They change the ranks of captures, and nothing else."""
    packets = talk(0, 20)
    before = captures(tmp_path, "before", Peers(1).does("open", 0), 1, since=-100)
    between = captures(tmp_path, "between", Peers(3).does("open", 0), 1, since=12)
    first, *rest = captures(tmp_path, "part", packets, 4)
    found = run(Lake(block=BLOCK), [first, rest[0], *before, rest[1], *between, rest[2]]).rows()
    assert found == run(Lake(block=BLOCK), [*before, first, *between, *rest]).rows()


@pytest.mark.slow
def test_what_is_deleted_of_a_state_makes_it_useless(tmp_path: Path) -> None:
    """The connection begins anew with what comes; nothing is made up for what was deleted."""
    first, second = captures(tmp_path, "part", talk(0, 20), 2)
    lake = run(Lake(block=BLOCK), [first])
    lake.open["stream_state"] = [pieces(lake).slice(1)]
    lake.run([second])
    alone = run(Lake(block=BLOCK), [second])
    (one,) = alone.table("streams").column("stream_id").to_pylist()
    assert lake.table("streams").column("stream_id").to_pylist().count(one) == 1
    assert lake.rows()["sessions"] == alone.rows()["sessions"]


def test_captures_in_another_order_than_when_the_state_was_kept_end_the_connection(tmp_path: Path) -> None:
    """It stands as it was, and what comes is another."""
    first, second = captures(tmp_path, "part", talk(0, 20), 2)
    lake = run(Lake(block=BLOCK), [first])
    as_it_stood = lake.table("raw_frames").num_rows
    lake.captures.insert(0, lake.captures[0] | {"capture_id": "of a batch that was never finished"})
    lake.run([second])
    ids = set(lake.table("streams").column("stream_id").to_pylist())
    assert len(ids) == 2
    frames = lake.table("raw_frames").column("stream_id").to_pylist()
    assert as_it_stood in (frames.count(one) for one in ids)


def test_a_state_that_lacks_what_cannot_be_known_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes of the flow is a connection of its own."""
    first, second = captures(tmp_path, "part", talk(0, 20), 2)
    lake = run(Lake(block=BLOCK), [first])
    monkeypatch.setattr(older_states, "MAPPED", ())
    present = state_layout.now()
    other = replace(present, words={**present.words, "protocol": ("other", "stomp")})
    monkeypatch.setattr(older_states, "now", lambda: other)
    lake.run([second])
    assert list(lake.lost.values()) == ["its codes of protocol stand for other words now"]
    alone = run(Lake(block=BLOCK), [second])
    assert lake.rows()["sessions"] == alone.rows()["sessions"]


@pytest.mark.parametrize(("most", "by_state"), [(-1, True), (0, False)], ids=["a packet more than a block", "as many"])
def test_whether_packets_or_states_are_kept_changes_no_row(most: int, by_state: bool, tmp_path: Path) -> None:
    packets = talk(0, 20)
    first, second = captures(tmp_path, "part", packets, 2)
    whole = run(Lake(), captures(tmp_path, "whole", packets, 1)).rows()
    lake = run(Lake(block=-(-len(packets) // 2) + most), [first])
    assert (pieces(lake).num_rows > 0) is by_state
    lake.run([second])
    assert lake.rows() == whole


@pytest.mark.parametrize(("less", "by_state"), [(0, False), (1, True)])
def test_of_an_open_flow_so_many_packets_are_kept_or_else_its_state(less: int, by_state: bool, tmp_path: Path) -> None:
    assert open_flows.FEW_PACKETS == 512
    packets = talk(0, 20)
    first, second = captures(tmp_path, "part", packets, 2)
    whole = run(Lake(), captures(tmp_path, "whole", packets, 1)).rows()
    lake = run(Lake(most=-(-len(packets) // 2) - less), [first])
    assert (pieces(lake).num_rows > 0) is by_state
    lake.run([second])
    assert lake.rows() == whole


@pytest.mark.parametrize(("limit", "less", "kept"), [
    ("MOST_PACKETS", 0, True), ("MOST_PACKETS", 1, False), ("MOST_OCTETS", 0, True), ("MOST_OCTETS", 1, False),
])  # fmt: skip
def test_where_no_state_can_be_so_many_packets_and_octets_are_kept(
    limit: str, less: int, kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connections of one that has more end with the run, and what comes is another."""
    assert (open_flows.MOST_PACKETS, open_flows.MOST_OCTETS) == (1 << 18, 1 << 27)
    packets = talk(0, 20)
    first, second = captures(tmp_path, "part", packets, 2)
    some = packets[: -(-len(packets) // 2)]
    has = {"MOST_PACKETS": len(some), "MOST_OCTETS": sum(len(Ether(octets)[TCP].payload) for octets in some)}
    monkeypatch.setattr(open_flows, limit, has[limit] - less)
    lake = run(Lake(most=0, states=False), [first])
    assert sum(table.num_rows for table in lake.open.get("stream_state", ())) == (len(some) if kept else 0)
    lake.run([second])
    assert lake.table("streams").num_rows == (1 if kept else 2)
