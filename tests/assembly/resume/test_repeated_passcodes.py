"""A passcode that a connection repeats is in no table, however far from its CONNECT and in whatever pieces it is read."""

from __future__ import annotations

import pytest

from stompcap.assembly import Assembly
from stompcap.assembly.windows import WINDOW
from stompcap.options import Options
from tests.assembly.test_flow import InBlocks
from tests.capture.packaging import pcap
from tests.e2e.pure import Wire, wire_of
from tests.tcp.wire import Wire as Packets

SECRET = "hush-hush-1"
CONNECT = f"CONNECT\naccept-version:1.2\nhost:h\nlogin:u\npasscode:{SECRET}\n\n\0".encode()
SEND = b"SEND\ndestination:/queue/a\n\nhello\0"
TELLING = f"SEND\ndestination:/queue/a\nreceipt:{SECRET}\n\nmy passcode is {SECRET}\0".encode()
CONNECTED = b"CONNECTED\nversion:1.2\n\n\0"
ERROR = f"ERROR\nmessage:no\n\nYou sent {SECRET}\0".encode()


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Wire:
    packets = Packets().handshake().c(0, CONNECT).s(0, CONNECTED, ack=len(CONNECT))
    at = len(CONNECT)
    for octets in [SEND] * 200 + [TELLING]:
        packets.c(at, octets, "PA", len(CONNECTED))
        at += len(octets)
    packets.s(len(CONNECTED), ERROR, "PA", at)
    return wire_of([str(pcap(tmp_path_factory.mktemp("told") / "told.pcap", packets.frames))])


@pytest.mark.slow
@pytest.mark.parametrize(("window", "block", "assembly"), [(WINDOW, 1 << 16, Assembly), (500, 1 << 16, Assembly), (WINDOW, 20, InBlocks)])
def test_in_no_table(window: int, block: int, assembly: type[Assembly], wire: Wire) -> None:
    tables = wire.tables(window=window, block=block, assembly=assembly)
    assert tables["frames"].num_rows == 204
    assert SECRET not in "".join(str(table.to_pylist()) for table in tables.values())
    bodies = [row["body_preview"] for row in tables["frames"].to_pylist() if row["command"] == "ERROR"]
    assert bodies == ["You sent ***********"]
    assert sum(row["redacted"] for row in tables["raw_frames"].to_pylist()) == 3


def test_unless_it_is_to_be_kept(wire: Wire) -> None:
    tables = wire.tables(Options(keep_credentials=True))
    assert str(tables["frames"].to_pylist()).count(SECRET) > 3


def test_what_was_learned_of_endpoints_is_masked_where_a_connection_is_joined_midstream(wire: Wire) -> None:
    """As where its first packets were let go of."""
    captures, known = [(row["path"], row["capture_id"]) for row in wire.surveyed], dict[bytes, frozenset[bytes]]()
    count = wire.segments.num_rows
    rows: list[str] = []
    for begin, end in ((0, count // 2), (count // 2, count)):
        machines = Assembly(captures, "batch", Options(), now_ns=0, passcodes=known)
        for part in machines.parts(wire.segments.slice(begin, end - begin)):
            rows += [str(table.to_pylist()) for table in part.tables.values()]
    assert "You sent ***********" in "".join(rows)
    assert SECRET not in "".join(rows)
