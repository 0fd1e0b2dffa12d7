"""scapy's layer reads and writes frames as the pipeline does, and importing stompcap does not load it."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP
from scapy.packet import Raw, split_layers
from scapy.sendrecv import sniff
from scapy.sessions import TCPSession

from stompcap import tcp
from stompcap.options import STOMP_PORTS
from stompcap.scapy_layer import EOLS, STOMP, STOMPEOL, bind, frame_end
from stompcap.stomp import write_frame
from tests.e2e.pure import tables_of
from tests.e2e.truth import captures
from tests.examples import slow_behind

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
NAME = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=8)
UNFIT, GUESSED = ("gap", "junk", "partial"), "content_length_"


def layers(octets: bytes, version: str = "1.2") -> list[tuple[str, list, bytes]]:
    """The frames of one packet."""
    packet, found = STOMP(octets, version=version), []
    while isinstance(packet, (STOMP, STOMPEOL)):
        if isinstance(packet, STOMP):
            found.append((packet.getfieldval("command"), packet.headers, packet.body))
        packet = packet.payload
    return found


def test_importing_stompcap_loads_no_scapy():
    code = "import sys, stompcap, stompcap.stomp, stompcap.tcp, stompcap.cli.main; sys.exit('scapy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@given(headers=st.lists(st.tuples(NAME, TEXT), max_size=4), body=st.binary(max_size=30), eol=st.sampled_from([b"\n", b"\r\n"]))
def test_what_is_built_is_dissected_alike(headers, body, eol):
    headers = [*headers, ("content-length", str(len(body)))]
    octets = bytes(STOMP(command="SEND", headers=headers, body=body, eol=eol))
    assert octets == write_frame("SEND", headers, body, eol=eol)
    packet = STOMP(octets)
    assert (packet.headers, packet.body, packet.eol) == (headers, body, eol)
    packet.clear_cache()
    assert bytes(packet) == octets


@pytest.mark.parametrize(
    ("octets", "version", "headers"),
    [
        (b"SEND\na:b\\c\\r\n\n\0", "1.0", [("a", "b\\c\\r")]),
        (b"SEND\na:b\\c\\r\n\n\0", "1.1", [("a", "b:\\r")]),
        (b"SEND\na:b\\c\\r\n\n\0", "1.2", [("a", "b:\r")]),
        (b"CONNECTED\na:b\\c\n\n\0", "1.2", [("a", "b\\c")]),
        (b"SEND\r\na:b\r\n\r\n\0", "1.2", [("a", "b")]),
        (b"SEND\r\na:b\r\n\r\n\0", "1.1", [("a", "b\r")]),
        (b"SEND\na\n:b\n\n\0", "1.2", [("a", None), ("", "b")]),
        (b"SEND\na:\xff\n\n\0", "1.2", [("a", "\udcff")]),
    ],
)
def test_each_version_reads_headers_its_way(octets, version, headers):
    packet = STOMP(octets, version=version)
    assert packet.headers == headers
    packet.clear_cache()
    if b"\\r" not in octets or version == "1.2":  # else written as the escaped backslash that it should have been
        assert bytes(packet).replace(b"\r", b"") == octets.replace(b"\r", b"") or version == "1.1"


def test_frames_behind_connected_have_its_version():
    assert layers(b"CONNECTED\nversion:1.1\n\n\0\nMESSAGE\na:b\\r\n\n\0")[1][1] == [("a", "b\\r")]


def test_octets_that_are_no_whole_frame_are_raw():
    for octets in (b"SEND\na:b\n\nhel", b"GET / HTTP/1.1\r\n\r\n\0", b"\x16\x03\x01\0"):
        assert isinstance((IP(bytes(IP() / TCP(dport=61613) / Raw(octets))))[TCP].payload, Raw)


def read_from(port: int) -> type:
    """The layer behind TCP of a packet from a port, and of one to it."""
    above = {type(IP(bytes(IP() / TCP(**{side: port}) / Raw(b"RECEIPT\nreceipt-id:1\n\n\0")))[TCP].payload) for side in ("sport", "dport")}
    assert len(above) == 1
    return above.pop()


def test_it_is_bound_to_the_ports_of_brokers_and_to_those_that_are_told():
    assert {read_from(port) for port in STOMP_PORTS} == {STOMP}
    assert read_from(29_613) is Raw
    bind(29_613)
    assert read_from(29_613) is STOMP
    split_layers(TCP, STOMP, sport=29_613)
    split_layers(TCP, STOMP, dport=29_613)
    assert read_from(29_613) is Raw


def test_passcodes_are_not_shown(capsys):
    STOMP(b"CONNECT\npasscode:geheim\n\n\0").show()
    assert "geheim" not in capsys.readouterr().out


def shown(text: str | None) -> str | None:
    """Text as the tables have it, with undecodable octets as backslash escapes."""
    return None if text is None else text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def cut(octets: bytes) -> list[tuple[int, int]]:
    """Offsets and lengths of the frames of a direction, each begun where the one before ended."""
    found, at = [], 0
    while at < len(octets):
        if eols := EOLS.match(octets, at):
            at = eols.end()
            continue
        length = frame_end(octets[at : at + (1 << 21)])
        if length < 0:
            break
        found.append((at, length))
        at += length
    return found


@pytest.mark.parametrize("broker", slow_behind(1, ["artemis", "activemq", "rabbitmq"]))
def test_frames_of_recorded_captures_are_those_of_the_pipeline(broker):
    """Streams in which the pipeline guessed the end of a frame (FR-07), or that lack octets, are left out."""
    compared = 0
    for path in (path for path in captures() if f"/{broker}_" in path and "midstream" not in path and "bodies" not in path):
        tables = tables_of([path])
        ends = {row["stream_id"]: (row["client_ip"], row["client_port"], row["first_ns"]) for row in tables["streams"].to_pylist()}
        frames = defaultdict(list)
        for row in tables["frames"].to_pylist():
            frames[*ends[row["stream_id"]], row["direction"]].append(row)
        odd = [row for row in tables["raw_frames"].to_pylist() if row["kind"] in UNFIT or str(row["delimited_by"]).startswith(GUESSED)]
        odd_ends = {ends[row["stream_id"]] for row in odd}
        for one in tcp.reassemble(path):
            for direction, stream in (("c2s", one.c2s), ("s2c", one.s2c)):
                rows = frames.pop((*one.client, one.first_ns, direction), [])
                if not rows or (*one.client, one.first_ns) in odd_ends:
                    continue
                octets = b"".join(chunk for _, chunk in stream.chunks)
                compared += len(rows)
                assert cut(octets) == [(row["stream_offset"], row["length_octets"]) for row in rows]
                for row in rows:
                    packet = STOMP(octets[row["stream_offset"] :][: row["length_octets"]], version=row["version"] or "1.2")
                    assert packet.getfieldval("command").strip().upper() == row["command"]
                    assert len(packet.body) == row["body_octets"]
                    for (name, value), entry in zip(packet.headers, row["headers"], strict=True):
                        masked = "***" in str(entry["value"])
                        assert (shown(name), None if masked else shown(value)) == (entry["name"], None if masked else entry["value"])
        assert not frames
    assert compared > 1_000


def test_sniffed_sessions_give_each_frame_once():
    path = next(path for path in captures() if "rabbitmq_dialogue" in path)
    found, seen = [], set()  # scapy gives what was sent again
    for packet in sniff(offline=path, session=TCPSession):
        if TCP in packet and (place := (packet[TCP].sport, packet[TCP].dport, packet[TCP].seq)) not in seen:
            seen |= {place} if STOMP in packet else set()
            while packet := packet.payload.getlayer(STOMP):
                found.append(packet.getfieldval("command").upper())
    assert sorted(found) == sorted(tables_of([path])["frames"].column("command").to_pylist())
