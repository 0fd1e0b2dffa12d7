"""What a connection gave as a secret inside WebSocket, deflate or TLS is known in later runs, where what repeats it is masked."""

from __future__ import annotations

import pytest

from stompcap.options import Options
from tests.capture.packaging import Frame, pcap
from tests.e2e.confided import Confided, Talk, frame
from tests.e2e.cutting import cut
from tests.e2e.runs import Lake
from tests.e2e.test_secrets import said_in
from tests.examples import slow_behind
from tests.mangler.packagings import Packaging
from tests.transport import in_websocket, test_tls

MESSAGES = 150
SLOWLY = 1000


def talk() -> tuple[list[Frame], bytes]:
    """A connection whose later messages repeat what CONNECT gave, of so few a second that each step settles what came before."""
    told = Confided()
    one = Talk(told, torn=False)
    value = one.secret("given").replace(b"~", b"-")
    one.opens(b"passcode:" + value)
    for number in range(MESSAGES):
        one.says(frame(b"MESSAGE", b"message-id:%d" % number, body=b"it is %b %d" % (value, number)), client=False)
    one.ends()
    began = told.frames[0].ts_ns
    return [Frame(each.octets, began + (each.ts_ns - began) * SLOWLY, each.original) for each in told.frames], value


@pytest.mark.parametrize("inside", slow_behind(1, ["deflate", "tls", "websocket"]))
def test_what_a_connection_gave_is_known_in_later_runs(inside, tmp_path):
    frames, value = talk()
    log = str(tmp_path / "keys.log")
    changes = {
        "websocket": in_websocket.inside(), "deflate": in_websocket.inside(extensions="permessage-deflate"), "tls": test_tls.inside(log),
    }  # fmt: skip
    [file] = Packaging(changes[inside]).files(pcap(tmp_path / "plain.pcap", frames, nano=True), tmp_path)
    lake = Lake(Options(keylog=(log,) if inside == "tls" else ()), block=4)
    for part in cut(file, tmp_path, [0.4, 0.7]):
        lake.run([part])
        assert not lake.lost
    shown = b"".join(octets for _, octets in said_in(lake))
    assert shown.count(b"it is *") >= MESSAGES // 3
    assert value not in shown
