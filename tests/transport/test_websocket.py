"""The same octets give the same tables inside WebSocket, however messages and frames are cut, masked and compressed."""

from __future__ import annotations

import pyarrow.compute as pc
import pytest

from tests.assembly.test_flow import InBlocks, rows
from tests.e2e.cutting import cut
from tests.e2e.runs import Lake
from tests.e2e.truth import DATA
from tests.examples import combined, slow_behind
from tests.mangler.losses import lost
from tests.mangler.packagings import Packaging
from tests.mangler.segmentations import as_they_are, cut_and_reordered, sent_again, smaller, without_handshake
from tests.transport.in_websocket import inside
from tests.transport.made_up import Ended
from tests.transport.test_layers import inner, wire

CAPTURE = "rabbitmq_heartbeats.pcap"
DEFLATE = "permessage-deflate"
NO_TAKEOVER = f"{DEFLATE}; server_no_context_takeover; client_no_context_takeover"
INSIDE = {
    "a message a segment": {},
    "messages, fragments and pings": {"messages": 4, "fragments": 3, "pings": True},
    "deflate": {"extensions": DEFLATE, "messages": 3, "fragments": 2, "pings": True},
    "deflate without takeover": {"extensions": NO_TAKEOVER, "messages": 3, "fragments": 3},
    "deflate, one side without takeover": {"extensions": f"{DEFLATE}; client_no_context_takeover", "messages": 2},
    "deflate, small windows": {"extensions": f"{DEFLATE}; client_max_window_bits=9; server_max_window_bits=10"},
    "deflate, small messages as they are": {"extensions": DEFLATE, "least": 60, "messages": 2},
    "deflate, each block the last": {"extensions": DEFLATE, "last_blocks": True},
    "SockJS": {"text": True, "messages": 3},
    "SockJS and deflate": {"text": True, "extensions": DEFLATE, "fragments": 2},
}
WITHOUT_HANDSHAKE = {"plain": {"messages": 2}, "deflate": {"extensions": DEFLATE}}
LAYERED = ("transport", "origin_ip", "origin_port", "origin_source", "inner_gap_octets_c2s", "inner_gap_octets_s2c")


PINGS_COUNT = ("heartbeats", "heartbeat_violations", "compliance", "compliance_findings")
"""Tables with verdicts on silences: pings are signs of life in them."""


def of_stomp(tables):
    """What tables say of STOMP; pings are silences' excuses."""
    found = inner(tables)
    found["stalls"] = found["stalls"].filter(pc.field("kind") != "control_frame")
    return rows({
        name: table.drop_columns([one for one in LAYERED if one in table.column_names])
        for name, table in found.items() if not name.startswith("transport")
    })  # fmt: skip


def tables(folder, *changes, name=CAPTURE):
    folder.mkdir()
    return wire(name, folder, *changes).tables()


@pytest.mark.parametrize("how", slow_behind(5, list(INSIDE.values())), ids=INSIDE)
def test_the_same_octets_give_the_same_tables(how, tmp_path):
    expected, found = tables(tmp_path / "a"), tables(tmp_path / "b", inside(**how))
    same, plain = of_stomp(found), of_stomp(expected)
    for name in plain:
        assert same[name] == plain[name] or ("pings" in how and name in PINGS_COUNT), name
    assert {row["transport"] for row in found["streams"].to_pylist()} == {"sockjs" if "text" in how else "websocket"}
    assert [row["status"] for row in found["transports"].to_pylist()] == ["read"] * found["transports"].num_rows


@pytest.mark.parametrize("how", WITHOUT_HANDSHAKE.values(), ids=WITHOUT_HANDSHAKE)
def test_without_the_handshake_frames_that_chain_are_enough(how, tmp_path):
    expected = tables(tmp_path / "a", without_handshake)
    found = tables(tmp_path / "b", inside(handshake=False, **how), without_handshake)
    same, plain = of_stomp(found), of_stomp(expected)
    for name in plain:
        assert same[name] == plain[name], name


CHANGES = {
    "lost": lost(0.05, 2), "as they are": as_they_are, "small segments": smaller(50), "out of order": cut_and_reordered,
    "sent again": sent_again, "more lost": lost(0.1, 5),
}  # fmt: skip


SOME = dict(list(INSIDE.items())[1:4]) | {"no handshake": {"handshake": False}, "SockJS": {"text": True, "fragments": 2}}


@pytest.mark.slow
@pytest.mark.parametrize(("how", "change"), combined([*SOME], [*CHANGES]))
def test_blocks_change_nothing(how, change, tmp_path):
    found = wire(CAPTURE, tmp_path, inside(**SOME[how]), CHANGES[change])
    whole, in_blocks = rows(found.tables(block=20, assembly=Ended)), rows(found.tables(block=20, assembly=InBlocks))
    for name in whole:
        same = set if name == "stalls" else dict  # of control frames at one time
        assert same(in_blocks[name]) == same(whole[name]), name


@pytest.mark.slow
@pytest.mark.parametrize(("how", "most"), combined([*SOME], [0, 512]))
def test_runs_change_nothing(how, most, tmp_path):
    """In several runs with one file each, all that is in one run; by the machines' states, and by segments."""
    files = Packaging(inside(**SOME[how])).files(DATA / CAPTURE, tmp_path)
    parts = cut(files[0], tmp_path, [0.2, 0.5, 0.8])
    one, several = Lake(), Lake(most=most)
    one.run([str(files[0])])
    for part in parts:
        several.run([str(part)])
        assert not several.lost
    expected, found = one.rows(), several.rows()
    for name in ("streams", "raw_frames", "frames", "sessions", "deliveries", "compliance"):
        assert found.get(name) == expected.get(name), name
