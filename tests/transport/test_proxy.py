"""Connections that a balancer passes on with a header of the PROXY protocol are those of who opened them, and the header is no STOMP."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.transport.proxy import SIGNATURE, Header, header_of
from tests.assembly.test_flow import InBlocks, rows
from tests.e2e.cutting import cut
from tests.e2e.pure import Wire, wire_of
from tests.e2e.runs import Lake
from tests.e2e.truth import DATA
from tests.examples import slow_behind
from tests.mangler.losses import lost
from tests.mangler.packagings import Packaging
from tests.mangler.segmentations import smaller
from tests.transport.headers import behind, local, v1, v2
from tests.transport.made_up import Ended
from tests.transport.test_layers import inner

ORIGIN = ("origin_ip", "origin_port", "origin_source")
CAPTURE = "rabbitmq_heartbeats.pcap"

HEADERS = {
    "version 1": ([v1("203.0.113.7", 40000)], ("203.0.113.7", 40000, "proxy")),
    "version 1, IPv6": ([v1("2001:db8::7", 40000, "2001:db8::9", "TCP6")], ("2001:db8::7", 40000, "proxy")),
    "version 1, unknown": ([b"PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n"], (None, None, "proxy")),
    "version 2": ([v2("203.0.113.7", 40000)], ("203.0.113.7", 40000, "proxy")),
    "version 2, IPv6": ([v2("2001:db8::7", 40000)], ("2001:db8::7", 40000, "proxy")),
    "version 2, TLVs": ([v2("203.0.113.7", 40000, b"\x05\x00\x04abcd" + b"\x20\x01\x00" + bytes(256))], ("203.0.113.7", 40000, "proxy")),
    "version 2, local": ([local()], (None, None, "proxy_local")),
    "version 2, a path of Unix": ([SIGNATURE + b"\x21\x31\x00\xd8" + bytes(216)], (None, None, "proxy")),
    "two balancers": ([v1("198.51.100.1", 1), v2("203.0.113.7", 40000)], ("203.0.113.7", 40000, "proxy")),
    "a balancer that asks on behalf of none": ([v1("203.0.113.7", 40000), local()], ("203.0.113.7", 40000, "proxy")),
}


def wire(folder, *changes) -> Wire:
    def change(packets):
        for one in changes:
            packets = one(packets)
        return packets

    folder.mkdir()
    return wire_of([str(path) for path in Packaging(change).files(DATA / CAPTURE, folder)])


def without_origin(tables):
    return {name: table.drop_columns([one for one in ORIGIN if one in table.column_names]) for name, table in inner(tables).items()}


@pytest.mark.parametrize(("headers", "origin"), HEADERS.values(), ids=HEADERS)
def test_behind_a_header_all_is_as_without(headers, origin, tmp_path):
    plain, found = wire(tmp_path / "a").tables(), wire(tmp_path / "b", behind(*headers)).tables()
    expected, same = rows(without_origin(plain)), rows(without_origin(found))
    for name in expected:
        assert same[name] == expected[name], name
    for name in ("streams", "sessions"):
        assert {tuple(row[one] for one in ORIGIN) for row in found[name].to_pylist() if row["transport"] == "tcp"} == {origin}, name


@pytest.mark.parametrize("change", slow_behind(1, [lost(0.05, 2), smaller(50)]), ids=["lost", "in several segments"])
def test_blocks_change_nothing(change, tmp_path):
    found = wire(tmp_path / "a", behind(v2("203.0.113.7", 40000, bytes(200))), change)
    whole, in_blocks = rows(found.tables(block=20, assembly=Ended)), rows(found.tables(block=20, assembly=InBlocks))
    for name in whole:
        assert in_blocks[name] == whole[name], name


@pytest.mark.parametrize("most", slow_behind(1, [512, 0]), ids=["by segments", "by the machines' states"])
@pytest.mark.parametrize("kept", [True, False], ids=["captures there", "captures gone"])
def test_runs_change_nothing(most, kept, tmp_path):
    """In several runs with one file each, all that is in one run."""
    files = Packaging(behind(v1("203.0.113.7", 40000))).files(DATA / CAPTURE, tmp_path)

    parts = cut(files[0], tmp_path, [0.2, 0.5, 0.8])
    one, several = Lake(), Lake(most=most, kept=kept)
    one.run([str(files[0])])
    for part in parts:
        several.run([str(part)])
    expected, found = one.rows(), several.rows()
    for name in ("streams", "raw_frames", "frames", "sessions", "deliveries", "compliance"):
        assert found.get(name) == expected.get(name), name


BAD = {
    "none": b"CONNECT\n\n\0",
    "not whole": b"PROXY TCP4 203.0.113.7 192.0.2.9 40000 61613",
    "LF only": b"PROXY TCP4 203.0.113.7 192.0.2.9 40000 61613\n",
    "an address of another family": b"PROXY TCP6 203.0.113.7 192.0.2.9 40000 61613\r\n",
    "no address": b"PROXY TCP4 203.0.113 192.0.2.9 40000 61613\r\n",
    "a port too large": b"PROXY TCP4 203.0.113.7 192.0.2.9 70000 61613\r\n",
    "a line too long": b"PROXY UNKNOWN " + b"x" * 107 + b"\r\n",
    "another version": SIGNATURE + b"\x31\x11\x00\x0c" + bytes(12),
    "another command": SIGNATURE + b"\x22\x11\x00\x0c" + bytes(12),
    "addresses that do not fit": SIGNATURE + b"\x21\x11\x00\x0b" + bytes(12),
    "a signature alone": SIGNATURE,
}


@pytest.mark.parametrize("first", BAD.values(), ids=BAD)
def test_what_is_no_header_is_none(first):
    assert header_of(first) is None


@given(st.binary(max_size=60), st.booleans())
def test_whatever_follows_a_header_is_none_of_it(more, binary):
    header = v2("203.0.113.7", 40000) if binary else v1("203.0.113.7", 40000)
    assert header_of(header + more) == Header(len(header), 1, bytes((203, 0, 113, 7)), 40000)


@pytest.mark.parametrize(
    "header", [v1("203.0.113.7", 40000), v2("203.0.113.7", 40000, b"\x05\x00\x04abcd")], ids=["version 1", "version 2"]
)
def test_tshark_agrees(header, tmp_path):
    [path] = Packaging(behind(header)).files(DATA / CAPTURE, tmp_path)
    fields = ["-e", "proxy.src.ipv4", "-e", "proxy.srcport"]
    found = subprocess.run(["tshark", "-r", str(path), "-Y", "proxy", "-T", "fields", *fields], capture_output=True, text=True, check=True)
    seen = {tuple(line.split("\t")) for line in found.stdout.splitlines()}
    assert seen == {("203.0.113.7", "40000")}
