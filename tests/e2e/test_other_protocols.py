"""Connections that show no STOMP leave no octet, whatever their ports; those that do are kept from their first octet on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP

from stompcap.options import STOMP_PORTS, Options
from stompcap.stomp.grammar import NAMES
from stompcap.tcp.finality import BLOCK
from tests.capture.packaging import Frame, pcap
from tests.e2e.runs import Lake
from tests.e2e.spoken import CLIENT, SECRET, SERVER, SPOKEN, USUAL_PORT
from tests.examples import THOROUGH, one_in, slow_behind
from tests.tcp.wire import ETHER, START_NS

SECOND = 10**9
MSS = 1000
EPHEMERAL = 50123
Says = Sequence[tuple[int, bytes]]

OF_EACH_KIND = ["OpenWire", "MQTT 5", "TLS", "HTTP/1.1", "HTTP/2", "Redis"]
"""Of brokers in binary, as short, in a transport, of lines, of frames, and neither."""
NAMED = slow_behind(len(OF_EACH_KIND), [*OF_EACH_KIND, *(name for name in SPOKEN if name not in OF_EACH_KIND)])


def packets(says: Says, ports: tuple[int, int], *, handshake: bool = True, closes: bool = False) -> list[Frame]:
    """A dialogue on the wire, between a client's port and a server's, a packet every ten milliseconds."""
    sent, found = [0, 0], list[Frame]()

    def put(side: int, octets: bytes, flags: str = "A", back: int = 0) -> None:
        ends = ("10.0.0.9", "10.0.0.1")[:: 1 if side == CLIENT else -1]
        tcp = TCP(sport=ports[side], dport=ports[1 - side], seq=1001 + sent[side] - back, ack=1001 + sent[1 - side], flags=flags)
        found.append(Frame(bytes(ETHER / IP(src=ends[0], dst=ends[1]) / tcp / octets), START_NS + len(found) * SECOND // 100))
        sent[side] += len(octets)

    if handshake:
        put(CLIENT, b"", "S", 1)
        put(SERVER, b"", "SA", 1)
    for side, octets in says:
        for at in range(0, len(octets), MSS):
            put(side, octets[at : at + MSS])
    if closes:
        put(CLIENT, b"", "FA")
        put(SERVER, b"", "FA")
    return found


def taken(folder: Path, frames: Sequence[Frame], cuts: Sequence[int] = (), options: Options | None = None, block: int = BLOCK) -> Lake:
    """A lake with these packets in as many captures and runs."""
    lake = Lake(options, block=block)
    for number, (begin, end) in enumerate(pairwise([0, *cuts, len(frames)])):
        lake.run([str(pcap(folder / f"{number}.pcap", frames[begin:end], nano=True))])
    return lake


def octets_of(lake: Lake) -> Iterator[tuple[str, bytes]]:
    """All that the tables have in columns of texts and octets, with the table's name."""
    for name in lake.final.keys() | lake.open.keys():
        for column in lake.table(name).columns:
            for value in pc.unique(column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column).to_pylist():
                if isinstance(value, (str, bytes)):
                    yield name, value if isinstance(value, bytes) else value.encode()


def rows(lake: Lake, name: str) -> int:
    return sum(table.num_rows for tables in (lake.final, lake.open) for table in tables.get(name, []))


def has_nothing(lake: Lake) -> bool:
    """Whether the lake has nothing of what connections say."""
    assert not [name for name, octets in octets_of(lake) if SECRET.encode() in octets]
    state = lake.table("stream_state").sort_by("packet")
    pieces = pc.is_valid(state.column("pieces"))
    assert not state.filter(pc.invert(pieces)).column("payload").drop_null().to_pylist()
    machines = b"".join(state.filter(pieces).column("payload").to_pylist())
    assert SECRET.encode() not in machines
    return rows(lake, "raw_frames") == rows(lake, "segments") == 0


def ends(name: str) -> Iterator[tuple[int, int]]:
    """Ports of client and server: each listed one as the server's, and as the client's of the protocol's usual server."""
    for port in sorted(STOMP_PORTS):
        yield EPHEMERAL, port
        if USUAL_PORT[name] not in STOMP_PORTS:
            yield port, USUAL_PORT[name]


def of(lake: Lake, *columns: str) -> set[tuple[object, ...]]:
    """What table streams says of each connection."""
    return {tuple(row[name] for name in columns) for row in lake.table("streams").to_pylist()}


@pytest.mark.parametrize("closes", [pytest.param(True, marks=pytest.mark.slow), False])
@pytest.mark.parametrize("name", NAMED)
def test_connections_of_other_protocols_leave_no_octet_and_are_named(name: str, closes: bool, tmp_path: Path) -> None:
    one = SPOKEN[name]
    lake = taken(tmp_path, [frame for ports in ends(name) for frame in packets(one.says, ports, closes=closes)])
    assert has_nothing(lake)
    expected = {(*ports, one.protocol, one.transport) for ports in ends(name)}
    assert of(lake, "client_port", "server_port", "protocol", "transport") == expected


@pytest.mark.parametrize("name", NAMED)
def test_connections_of_other_protocols_joined_midway_leave_no_octet(name: str, tmp_path: Path) -> None:
    found = [packets(SPOKEN[name].says, ports, handshake=False) for ports in ends(name)]
    for begin in range(1, len(found[0]), 3 if THOROUGH else 7):
        lake = taken(tmp_path, [frame for frames in found for frame in frames[begin:]])
        assert has_nothing(lake), begin
        assert of(lake, "client_port", "server_port") == set(ends(name)), begin


@pytest.mark.parametrize(("block", "every"), [(4, 2), pytest.param(BLOCK, 5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("handshake", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NAMED)
def test_no_run_keeps_an_octet_of_what_it_leaves_open(name: str, handshake: bool, block: int, every: int, tmp_path: Path) -> None:
    frames = packets(SPOKEN[name].says, (EPHEMERAL, 61616), handshake=handshake)
    lake = Lake(block=block)
    for number, begin in enumerate(range(0, len(frames), every)):
        lake.run([str(pcap(tmp_path / f"{number}.pcap", frames[begin : begin + every], nano=True))])
        assert has_nothing(lake)


COMMANDS = [name.encode() for name in NAMES]
PIECES = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([b"\n", b"\0", b"\r\n", b"\0\n", b"a:b\n", b"\n\n", *COMMANDS, *(name + b"\n" for name in COMMANDS)]),
    st.sampled_from([octets[:200] for one in SPOKEN.values() for _, octets in one.says]),
)  # fmt: skip
DIRECTION = st.lists(PIECES, max_size=12).map(b"".join)


def shows_stomp(octets: bytes) -> bool:
    """Whether a command's line is where a frame may begin, or there is nothing but EOLs."""
    upper = octets.upper()
    lines = [name + end for name in COMMANDS for end in (b"\n", b"\r\n")]
    for at in range(len(upper)):
        if upper.startswith(tuple(lines), at):
            before = upper[:at].rstrip(b"\r\n")
            if not before.strip(b"\r\n\0") or before.endswith(b"\0"):
                return True
    return not octets.strip(b"\r\n")


@given(client=DIRECTION, server=DIRECTION, handshake=st.booleans(), port=st.sampled_from(sorted(STOMP_PORTS)))
@one_in(2)
def test_what_shows_no_frame_is_not_kept(
    client: bytes, server: bytes, handshake: bool, port: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lake = taken(tmp_path_factory.mktemp("any"), packets([(CLIENT, client), (SERVER, server)], (EPHEMERAL, port), handshake=handshake))
    kept = rows(lake, "raw_frames") > 0
    assert kept <= any(shows_stomp(octets) for octets in (client, server))
    if not kept and "stream_state" in lake.open:
        state = lake.table("stream_state")
        segments = state.filter(pc.is_null(state.column("pieces")))  # the states of layers have numbers
        assert segments.column("payload").null_count == segments.num_rows


BINARY = np.random.default_rng(7).integers(1, 256, 4 << 20, np.uint8).tobytes().replace(b"\n", b"x")
SEND = b"SEND\ndestination:/queue/a\n\nbody\0"
LATE = {
    "a frame in the third run": ([(CLIENT, b"tail"), (CLIENT, b"of a"), (CLIENT, b"body\0\n" + SEND)], [1, 2]),
    "a frame over three runs": ([(CLIENT, b"tail\0\n"), (CLIENT, SEND[:3]), (CLIENT, SEND[3:20]), (CLIENT, SEND[20:])], [1, 2, 3]),
    "the server's, behind what the client said": ([(CLIENT, BINARY[:9000]), (SERVER, b"\0MESSAGE\nmessage-id:1\n\nhi\0")], [3, 6, 9]),
    "a frame behind most of a megabyte": ([(CLIENT, BINARY[:900_000]), (CLIENT, b"\0" + SEND)], [200, 400, 900]),
    "heart-beats, then a frame": ([(CLIENT, b"\n"), (SERVER, b"\n"), (CLIENT, b"\n" + SEND)], [1, 2]),
    "heart-beats, then what is none": ([(CLIENT, b"\n"), (SERVER, b"\n"), (CLIENT, BINARY[:50])], [1, 2]),
    "a frame behind more than a megabyte": ([(CLIENT, BINARY[: 5 << 18]), (CLIENT, b"\0" + SEND)], [200, 400, 900]),
}
"""What is said, and where runs end: none of it shows STOMP in the first run."""


CASES = [
    pytest.param(*LATE[name], block, port, handshake,
                 marks=[pytest.mark.slow] if "megabyte" in name or port == 7000 or (block == BLOCK) == handshake else [],
                 id=f"{name}, block {block}, port {port}, {'whole' if handshake else 'midway'}")
    for name in LATE for block in ((BLOCK,) if "megabyte" in name else (4, BLOCK)) for port in (61613, 7000) for handshake in (True, False)
    if THOROUGH or handshake == ((block == 4) == (port == 61613))
]  # fmt: skip
"""Each two of block, port and handshake meet, in half of all cases; all in the thorough profile."""


@pytest.mark.parametrize(("says", "cuts", "block", "port", "handshake"), CASES)
def test_stomp_shown_in_a_later_run_is_kept_from_the_first_octet_on(
    says: Says, cuts: list[int], block: int, port: int, handshake: bool, tmp_path: Path
) -> None:
    frames = packets(says, (EPHEMERAL, port), handshake=handshake)
    cuts = [cut + 2 * handshake for cut in cuts]
    whole, parts = taken(tmp_path, frames, block=block), taken(tmp_path, frames, cuts, block=block)
    assert parts.rows() == whole.rows()
    first = taken(tmp_path, frames[: cuts[0]], block=block)
    assert rows(first, "raw_frames") == 0 or says[0][1] == b"\n"


@pytest.mark.parametrize("block", [4, BLOCK])
def test_what_was_not_kept_is_one_gap_where_its_captures_are_gone(block: int, tmp_path: Path) -> None:
    says = [(CLIENT, BINARY[:9000]), (CLIENT, b"\0\n" + SEND)]
    frames = packets(says, (EPHEMERAL, 61613), handshake=False)
    lake = Lake(kept=False, block=block)
    for number, (begin, end) in enumerate(pairwise([0, 3, 6, len(frames)])):
        lake.run([str(pcap(tmp_path / f"{number}.pcap", frames[begin:end], nano=True))])
    found = lake.table("raw_frames").sort_by("stream_offset")
    assert found.column("kind").to_pylist() == ["gap", "junk", "eol", "frame"]
    assert found.column("length_octets").to_pylist()[0] == 6000
    assert of(lake, "gap_octets_c2s", "octets_c2s") == {(6000, 9000 + 2 + len(SEND))}


@pytest.mark.parametrize("block", [1, 4, BLOCK])
def test_a_bare_acknowledgement_that_came_first_is_no_octet_that_was_not_kept(block: int, tmp_path: Path) -> None:
    bare = ETHER / IP(src="10.0.0.9", dst="10.0.0.1") / TCP(sport=EPHEMERAL, dport=61613, seq=1001, ack=1001, flags="A")
    frames = [Frame(bytes(bare), START_NS - SECOND), *packets([(CLIENT, SEND)], (EPHEMERAL, 61613), handshake=False)]
    lake = Lake(kept=False, block=block)
    for number, some in enumerate((frames[:1], frames[1:])):
        lake.run([str(pcap(tmp_path / f"{number}.pcap", some, nano=True))])
    assert not lake.unread
    assert of(lake, "gap_octets_c2s", "octets_c2s") == {(0, len(SEND))}
