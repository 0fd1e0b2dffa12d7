"""WebSocket in HTTP/2 is named where it is found: what Node's http2 wrote of an extended CONNECT (RFC 8441)."""

from __future__ import annotations

import numpy as np
import pytest

from stompcap.options import Options
from stompcap.transport.http2 import PREFACE, Http2, offers
from tests.transport.headers import behind
from tests.transport.test_proxy import wire
from tests.transport.test_tls import wire as encrypted
from tests.transport.test_websocket_frames import carried
from tests.transport.tls_traffic import inside as in_tls

SETTINGS = bytes.fromhex("000000040000000000")
OFFER = bytes.fromhex("000006040000000000000800000001" "000000040100000000")
ASKING = bytes.fromhex(
    "00000004010000000000003c0104000000014207434f4e4e4543544087b95d8749c87a3f87f058d072752a7f8604032f7773410168408f4148b782c68393a952b576"
    "1d2721e887ee112e849e9aff"
)
PLAIN_NAME = b"\x00\x00\x20\x01\x04\x00\x00\x00\x01\x00\x09:protocol\x09websocket"

SAID = {
    "asked for": (PREFACE + SETTINGS + ASKING, OFFER, "WebSocket over HTTP/2 (RFC 8441) is not read"),
    "asked for in plain letters": (PREFACE + SETTINGS + PLAIN_NAME, OFFER, "WebSocket over HTTP/2 (RFC 8441) is not read"),
    "offered": (PREFACE + SETTINGS, OFFER, "HTTP/2 is not read; the server offers WebSocket in it (RFC 8441)"),
    "neither": (PREFACE + SETTINGS, SETTINGS, "HTTP/2 is not read"),
    "no server": (PREFACE + SETTINGS, b"", "HTTP/2 is not read"),
}


@pytest.mark.parametrize(("client", "server", "reason"), SAID.values(), ids=SAID)
@pytest.mark.parametrize("runs", [1, 2])
def test_its_row_says_what_is_not_read(client, server, reason, runs):
    layer, kept = Http2(), None
    pieces = [one for one in ((0, 0, client), (1, 0, server)) if one[2]]
    ends = [0, 0]
    for number in range(runs):
        some = pieces if runs == 1 else pieces[number : number + 1]
        if not some:
            continue
        below = carried(some, base=ends)
        ends = below.octets[0].tolist()
        _, [kept] = layer.read(below, np.array([0]), [kept])
    [row] = layer.summaries(kept)
    assert (row.kind, row.status, row.reason) == ("http", "unreadable", reason)


@pytest.mark.parametrize("octets", [b"", b"\0", OFFER[:14], OFFER[:9], b"\xff" * 40, bytes.fromhex("000006040000000000000800000000")])
def test_what_is_no_offer_is_none(octets):
    assert not offers(octets)


@pytest.mark.parametrize("over", ["tcp", "tls"])
def test_nothing_of_it_is_taken_for_stomp(over, tmp_path):
    change = behind(PREFACE + SETTINGS + ASKING)
    if over == "tcp":
        tables = wire(tmp_path / "a", change).tables()
    else:
        log = str(tmp_path / "keys.log")
        tables = encrypted(tmp_path / "a", change, in_tls(log, "1.3 AES-256-GCM")).tables(Options(keylog=(log,)))
    rows = [row for row in tables["transports"].to_pylist() if row["kind"] == "http"]
    assert {(row["status"], row["reason"]) for row in rows} == {("unreadable", "WebSocket over HTTP/2 (RFC 8441) is not read")}
    assert {row["protocol"] for row in tables["streams"].to_pylist()} == {"http"}
    assert "raw_frames" not in tables
