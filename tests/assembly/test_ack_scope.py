"""`--ack-scope` from the options of a run to the tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from stompcap.options import Options
from tests.capture.packaging import pcap
from tests.e2e.pure import tables_of
from tests.tcp.wire import Wire

CLIENT = (
    b"CONNECT\naccept-version:1.2\nhost:h\n\n\0",
    b"SUBSCRIBE\nid:1\ndestination:/a\nack:client\n\n\0SUBSCRIBE\nid:2\ndestination:/b\nack:client\n\n\0",
    b"ACK\nid:y\n\n\0",
)
MESSAGES = b"MESSAGE\nsubscription:1\nmessage-id:m\nack:x\n\n\0MESSAGE\nsubscription:2\nmessage-id:n\nack:y\n\n\0"


@pytest.mark.parametrize(
    ("scope", "server", "settled"),
    [
        ("auto", b"RabbitMQ/3.10", 2), ("subscription", b"RabbitMQ/3.10", 1), ("connection", b"RabbitMQ/3.10", 2),
        ("auto", b"ActiveMQ/5.17", 1), ("subscription", b"ActiveMQ/5.17", 1), ("connection", b"ActiveMQ/5.17", 2),
    ],
)  # fmt: skip
def test_how_far_a_cumulative_ack_reaches(scope: str, server: bytes, settled: int, tmp_path: Path) -> None:
    wire, said = Wire().handshake(), (b"CONNECTED\nversion:1.2\nserver:%b\n\n\0" % server, MESSAGES, b"")
    sent, heard = 0, 0
    for client, answer in zip(CLIENT, said, strict=True):
        wire.c(sent, client, "PA", heard)
        sent += len(client)
        wire.s(heard, answer, "PA", sent)
        heard += len(answer)
    tables = tables_of([str(pcap(tmp_path / "acks.pcap", wire.frames))], Options(ack_scope=scope))
    assert tables["deliveries"].column("status").to_pylist().count("settled") == settled
