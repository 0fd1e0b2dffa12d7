"""Which side is the client of a WebSocket joined midway: the one that masks (RFC 6455, 5.1), whatever its port."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from tests.capture.packaging import pcap
from tests.e2e.pure import tables_of
from tests.tcp.wire import Wire
from tests.transport.in_websocket import TAIL, frame

PORT = 8080
"""Of the client; by its number, that of a server."""


def deflated(messages: int, command: str) -> list[bytes]:
    """Messages in which nothing can be read without those before them: they repeat what the first said."""
    packer, text = zlib.compressobj(wbits=-15), f"{command}\ndestination:/queue/orders\n\n{'item ' * 9}\0"
    return [(packer.compress(text.encode()) + packer.flush(zlib.Z_SYNC_FLUSH)).removesuffix(TAIL) for _ in range(messages + 1)][1:]


@pytest.mark.parametrize("masks", [0, 1])
def test_who_masks_is_the_client(masks: int, tmp_path: Path) -> None:
    """The same with the ports the other way round, which then agree with the masks."""
    wire, at = Wire(client_port=PORT), [0, 0]
    for payloads in zip(deflated(12, "SEND"), deflated(12, "MESSAGE"), strict=True):
        for side, payload in enumerate(payloads):
            octets = frame(payload, 1, rsv1=True, mask=b"\x01\x02\x03\x04" if side == masks else None)
            wire.put(side, at[side], octets, "A", at[1 - side])
            at[side] += len(octets)
    [row] = tables_of([str(pcap(tmp_path / "midway.pcap", wire.frames, nano=True))])["streams"].to_pylist()
    assert (row["transport"], row["client_port"]) == ("websocket", (PORT, 61613)[masks])
