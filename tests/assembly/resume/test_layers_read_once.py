"""What may go on inside a layer is read by its state, and was not read before to find that out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stompcap.options import Options
from stompcap.transport.tls import Tls
from tests.assembly.test_tls_closes import CLOSES, wire
from tests.capture.packaging import pcap
from tests.e2e.runs import Lake

HEADERS = 14 + 20 + 20


@pytest.mark.parametrize("who", ["the client", "the server, without close_notify"])
def test_octets_of_a_connection_that_has_just_ended_are_opened_once(who: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, read, octets = str(tmp_path / "keys.log"), Tls.read, [0]

    def counted(self: Tls, below: Any, streams: Any, before: Any) -> Any:
        octets[0] += int(below.stretches.length[below.of(streams)].sum())
        return read(self, below, streams, before)

    monkeypatch.setattr(Tls, "read", counted)
    frames = wire(CLOSES[who][0], log, "1.3 AES-256-GCM").frames
    lake = Lake(Options(keylog=(log,)))
    lake.run([str(pcap(tmp_path / "some.pcap", frames, nano=True))])
    assert lake.table("frames").num_rows == 2
    assert octets[0] == sum(len(one.octets) - HEADERS for one in frames)
