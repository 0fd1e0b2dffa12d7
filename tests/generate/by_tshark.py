"""What tshark makes of generated captures: an independent reader of WebSocket, TLS and PROXY."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from stompcap.generate.write import Written

DECODED = ("tcp.port==61614,tls", "tcp.port==15673,tls", "tcp.port==15674,http", "tcp.port==8080,http")
WORST = 0x600000  # of severities: a warning
needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")


def asked(made: Written, *words: str) -> list[list[str]]:
    """The rows that tshark prints for a capture, with the keys beside it."""
    command = ["tshark", "-r", str(made.paths[0]), "-o", "tcp.check_checksum:TRUE", *words]
    for one in DECODED:
        command += ["-d", one]
    if made.keys:
        command += ["-o", f"tls.keylog_file:{made.keys}"]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line.split("\t") for line in found.splitlines()]


def complaints(made: Written) -> list[list[str]]:
    """Stream, PROXY's line, and message of whatever tshark warns of."""
    fields = ["-T", "fields", "-e", "tcp.stream", "-e", "tcp.payload", "-e", "_ws.expert.message"]
    return asked(made, "-Y", f"_ws.malformed || _ws.expert.severity>={WORST:#x}", *fields)


def followed(made: Written, stream: int) -> tuple[bytes, bytes]:
    """What client and server say in TLS in a stream. Either may be its node 0, whose lines are not indented."""
    sides, server = [b"", b""], False
    for line, *indented in asked(made, "-q", "-z", f"follow,tls,raw,{stream}"):
        if line.startswith("Node 0"):
            server = "127.0.0.1" in line
        elif re.fullmatch("[0-9a-f]+", octets := line or "".join(indented)):
            sides[bool(line) == server] += bytes.fromhex(octets)
    return sides[0], sides[1]


def captured(path: Path, port: int) -> dict[int, tuple[bytes, bytes]]:
    """The TCP payload of client and server, by the client's port; packets are in order and none is there twice."""
    from scapy.utils import RawPcapReader

    found: dict[int, list[bytes]] = defaultdict(lambda: [b"", b""])
    for octets, _ in RawPcapReader(str(path)):
        ports = int.from_bytes(octets[34:36], "big"), int.from_bytes(octets[36:38], "big")
        server = ports[0] == port
        found[ports[server]][server] += octets[54:]
    return {client: (sides[0], sides[1]) for client, sides in found.items()}
