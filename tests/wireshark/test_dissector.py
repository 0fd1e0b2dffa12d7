"""The dissector for Wireshark finds the frames that the pipeline finds, in tshark."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from stompcap.wireshark import dissector
from tests.capture.packaging import pcap
from tests.e2e.pure import tables_of
from tests.e2e.truth import captures
from tests.tcp.wire import Wire

# Under CI tshark is there, or the test fails.
pytestmark = pytest.mark.skipif(not shutil.which("tshark") and not os.environ.get("CI"), reason="needs tshark")
QUICK = ("rabbitmq_dialogue", "activemq_bodies", "artemis_violations")


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("lua") / "stomp.lua"
    path.write_text(dissector(), encoding="utf-8")
    return f"lua_script:{path}"


def tshark(script: str, path: object, *words: str) -> str:
    done = subprocess.run(["tshark", "-X", script, "-r", str(path), *words], capture_output=True, text=True, check=True)
    assert "Lua" not in done.stderr, done.stderr
    return done.stdout


def fields(script: str, path: object, *names: str) -> list[list[list[str]]]:
    """The values of some fields, of each packet with STOMP."""
    words = [word for name in names for word in ("-e", name)]
    said = tshark(script, path, "-Y", "stomp", "-T", "fields", "-E", "separator=|", "-E", "aggregator=;", *words)
    return [[value.split(";") if value else [] for value in line.split("|")] for line in said.splitlines()]


def slowly(path: str) -> object:
    name = Path(path).name.split(".")[0]
    return pytest.param(path, id=name, marks=[] if name in QUICK else [pytest.mark.slow])


@pytest.mark.parametrize("path", [slowly(path) for path in captures() if "midstream" not in path])
def test_frames_are_those_of_the_pipeline(path, script):
    found = defaultdict(list)
    for [stream], [port], commands, lengths in fields(script, path, "tcp.stream", "tcp.dstport", "stomp.command", "stomp.length"):
        found[stream, port == "61613"] += [(one.upper(), int(length)) for one, length in zip(commands, lengths, strict=True)]
    tables = tables_of([path])
    rows = tables["raw_frames"].to_pylist()
    guessed = [row for row in rows if str(row["delimited_by"]).startswith("content_length_")]
    odd = {row["stream_id"] for row in [*guessed, *(row for row in rows if row["kind"] in ("gap", "junk", "partial"))]}
    wanted = defaultdict(list)
    for row in tables["frames"].sort_by([("stream_offset", "ascending")]).to_pylist():
        if row["stream_id"] not in odd:
            wanted[row["stream_id"], row["direction"] == "c2s"].append((row["command"], row["length_octets"]))
    theirs = [(client, frames) for (_, client), frames in found.items()]
    for (_, client), frames in wanted.items():
        theirs.remove((client, frames))


def test_a_passcode_is_in_no_column_and_no_line_of_the_tree(script, tmp_path):
    octets = b"CONNECT\naccept-version:1.2\nhost:/\npasscode:geheim\n\n\0"
    path = Wire().handshake().c(0, octets)
    capture = pcap(tmp_path / "one.pcap", path.frames, nano=True)
    assert "geheim" not in tshark(script, capture)
    assert "passcode: ***" in tshark(script, capture, "-V")


def test_heads_bodies_and_receipts(script, tmp_path):
    wire, sent = Wire().handshake(), [0, 0]
    for side, octets in (
        (0, b"STOMP\naccept-version:1.1\nhost:/\n\n\0"),
        (1, b"CONNECTED\nversion:1.1\n\n\0\n"),
        (0, b"SEND\ndestination:/queue/a\\cb\nreceipt:r-1\ncontent-length:3\n\na\0"),  # goes on in the next segment
        (0, b"b\0"),
        (1, b"RECEIPT\nreceipt-id:r-1\n\n\0"),
    ):
        wire.put(side, sent[side], octets, "PA", ack=sent[1 - side])
        sent[side] += len(octets)
    path = pcap(tmp_path / "few.pcap", wire.frames, nano=True)
    said = fields(script, path, "stomp.command", "stomp.destination", "stomp.body", "stomp.version", "stomp.request_in")
    assert [one for one in said if one[0]] == [
        [["STOMP"], [], [], [], []],
        [["CONNECTED"], [], [], ["1.1"], []],
        [["SEND"], ["/queue/a:b"], ["610062"], ["1.1"], []],
        [["RECEIPT"], [], [], ["1.1"], ["7"]],
    ]


def in_segments(octets: bytes, path: Path) -> Path:
    """A capture of a client that sends these octets in full segments, and a short frame at the end."""
    wire = Wire().handshake()
    for offset in range(0, len(octets), 1400):
        wire.put(0, offset, octets[offset : offset + 1400], "PA", ack=0)
    wire.put(0, len(octets), LAST, "PA", ack=0)
    return pcap(path, wire.frames, nano=True)


LAST = b"SEND\ndestination:/queue/last\n\nx\0"
LINES = b"".join(b"h%07d:v\n" % number for number in range(90_000))  # 990,000 octets


@pytest.mark.parametrize(
    "octets",
    [
        pytest.param(b"SEND\ndestination:/queue/first\n\n" + b"line\n" * 1000 + b"\0", id="a body without content-length"),
        pytest.param(b"SEND\ndestination:/queue/first\n" + LINES + b"\nbody\0", id="a long head", marks=pytest.mark.slow),
        pytest.param(b"SEND\r\ndestination:/queue/first\r\nempty:\r\n\r\n\0", id="CR LF"),
        pytest.param(b"SEND\ndestination:/queue/first\n\0", id="no blank line"),
    ],
)
def test_a_frame_in_many_segments_takes_the_time_of_its_octets(octets, script, tmp_path):
    path = in_segments(octets, tmp_path / "long.pcap")
    words = ("-Y", "stomp.command", "-T", "fields", "-e", "stomp.destination", "-e", "stomp.length")
    done = subprocess.run(["tshark", "-X", script, "-r", path, *words], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.split() == ["/queue/first", str(len(octets)), "/queue/last", str(len(LAST))]


@pytest.mark.slow
def test_a_head_that_does_not_end_is_no_frame(script, tmp_path):
    path = in_segments(b"SEND\ndestination:/queue/first\n" + LINES + LINES, tmp_path / "endless.pcap")
    assert "/queue/first" not in tshark(script, path, "-Y", "stomp.command", "-T", "fields", "-e", "stomp.destination")


def test_community_ids_are_those_of_wireshark(script):
    path = next(path for path in captures() if "artemis_library" in path)
    words = ("--enable-protocol", "communityid", "-T", "fields", "-e", "communityid")
    assert set(tshark(script, path, *words).split()) == set(tables_of([path])["streams"].column("community_id").to_pylist())
