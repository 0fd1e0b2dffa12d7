"""Frames of a real session that another project ships: an old CoilMQ server and its client."""

from __future__ import annotations

from stompcap import tcp
from stompcap.stomp import parse
from tests.shared import shared
from tests.stomp.test_negotiate import version


def test_old_coilmq() -> None:
    path = str(shared("captures/ndpi_stomp.pcapng"))
    [connection] = tcp.reassemble(path)
    said = {}
    for way in ("c2s", "s2c"):
        stream = getattr(connection, way)
        data = b"".join(bytes(octets) for _, octets in stream.chunks)
        assert len(data) == stream.length
        said[way] = data
    client, server = parse(said["c2s"], "1.1"), parse(said["s2c"], "1.1")
    assert [f.command_raw for f in client] == ["STOMP", "SUBSCRIBE", "SEND", "DISCONNECT"]
    assert [f.command_raw for f in server] == ["CONNECTED", "message", "RECEIPT"]
    message = server[1]
    assert (message.command, message.body, message.decode_errors) == ("MESSAGE", b"hello world", ("FR-04",))
    assert (message.header["destination"], message.header.get("subscription")) == ("/queue/test", None)
    assert server[0].header["heart-beat"] == "100,100"
    assert "host" not in client[0].header
    assert version(said["c2s"], said["s2c"]) == ("1.1", "connected")
