"""A capture of one connection alone: deliveries, each acknowledged, with bodies that do not compress. What follows reading is one task's.

python -m benchmarks.one_connection OUT.pcap --deliveries 310000
"""

from __future__ import annotations

import argparse
import base64
import random
from pathlib import Path

from benchmarks.generate import Made
from stompcap.generate.group import FILE_HEADER, Group
from stompcap.generate.wire import Session, Wire

TOGETHER = 5
"""Deliveries that the server sends before the client acknowledges them."""


def connection(deliveries: int, body_octets: int) -> Session:
    """One connection of a client that consumes, and acknowledges each MESSAGE."""
    wire, chance = Wire(), random.Random(1)
    wire.open()
    wire.send(True, b"CONNECT\naccept-version:1.2\nhost:/\nlogin:bench\npasscode:bench-0000\nheart-beat:0,0\n\n\0")
    wire.send(False, b"CONNECTED\nserver:RabbitMQ/3.10.8\nsession:session-b\nheart-beat:0,0\nversion:1.2\n\n\0\n")
    wire.send(True, b"SUBSCRIBE\nid:0\ndestination:/queue/orders\nack:client-individual\nprefetch-count:20\n\n\0")
    for first in range(0, deliveries, TOGETHER):
        tags = [b"T_0@@session-b@@%d" % number for number in range(first, first + TOGETHER)]
        wire.send(False, b"".join(_message(tag, base64.b64encode(chance.randbytes(body_octets * 3 // 4))) for tag in tags))
        wire.send(True, b"".join(b"ACK\nid:%b\n\n\0" % tag for tag in tags))
    wire.close()
    return Session("one connection", tuple(wire.packets), 3 + 2 * len(range(0, deliveries, TOGETHER)) * TOGETHER)


def _message(tag: bytes, body: bytes) -> bytes:
    """A MESSAGE with the headers that RabbitMQ sends."""
    return (
        b"MESSAGE\nsubscription:0\ndestination:/queue/orders\nmessage-id:%b\nredelivered:false\nack:%b\n"
        b"content-type:application/json\ncontent-length:%d\n\n%b\0\n" % (tag, tag, len(body), body)
    )


def generate(path: Path, deliveries: int, body_octets: int) -> Made:
    """Write the capture, and return its counts."""
    group = Group([connection(deliveries, body_octets)])
    path.write_bytes(FILE_HEADER + bytes(group.clone(0)))
    return Made(path, path.stat().st_size, len(group.start), group.payload_octets, group.frames, 1)


def main() -> None:
    """Write one, by hand."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--deliveries", type=int, default=310_000)
    parser.add_argument("--body", type=int, default=720, help="bytes of each body")
    wanted = parser.parse_args()
    print(generate(wanted.path, wanted.deliveries, wanted.body))


if __name__ == "__main__":
    main()
