"""Who ended a session inside TLS: who sent the first close_notify, which the other answers (RFC 8446, 6.1), whoever sends the first FIN."""

from __future__ import annotations

from pathlib import Path

import pytest

from stompcap.cli.dialogue.lines import dialogues
from stompcap.cli.dialogue.summary import summary
from stompcap.options import Options
from tests.capture.packaging import pcap
from tests.e2e.pure import tables_of
from tests.e2e.runs import Lake
from tests.tcp.wire import START_NS, Wire
from tests.transport.tls_traffic import Pair

MS = 1_000_000
CLIENT, SERVER = 0, 1
FIN = None

CLOSES = {
    "the client": ([(CLIENT, "close"), (SERVER, "close"), (SERVER, FIN), (CLIENT, FIN)], "client", "client"),
    "the server, behind which the client closes TCP": (
        [(SERVER, "close"), (CLIENT, "close"), (CLIENT, FIN), (SERVER, FIN)], "server", "server",
    ),
    "the client by FIN, which the server answers by close_notify": ([(CLIENT, FIN), (SERVER, "close"), (SERVER, FIN)], None, "client"),
    "the server, without close_notify": ([(SERVER, FIN), (CLIENT, FIN)], None, "server"),
    "nobody yet": ([(SERVER, "close")], None, None),
}  # fmt: skip


def wire(ends: list[tuple[int, str | None]], log: str, suite: str) -> Wire:
    """A session, and what its sides do at its end, 50 ms apart."""
    made, pair, at, ms = Wire(), Pair(suite, log=log), [0, 0], 0

    def put(side: int, payload: bytes, flags: str = "A") -> None:
        nonlocal ms
        ms += 50
        made.put(side, at[side], payload, flags, at[1 - side], at_ns=START_NS + ms * MS)
        at[side] += len(payload) + ("F" in flags)

    made.handshake()
    for number, one in enumerate(made.frames[:3]):
        object.__setattr__(one, "ts_ns", START_NS + number * MS)
    for side, octets in pair.handshake():
        put(side, octets)
    put(CLIENT, pair.send(CLIENT, b"CONNECT\naccept-version:1.2\nhost:h\n\n\0"))
    put(SERVER, pair.send(SERVER, b"CONNECTED\nversion:1.2\n\n\0"))
    for side, what in ends:
        put(side, b"", "FA") if what is FIN else put(side, pair.close(side))
    return made


@pytest.mark.parametrize("suite", ["1.3 AES-256-GCM", "1.2 AES-128-GCM"])
@pytest.mark.parametrize("who", CLOSES)
def test_who_sends_the_first_close_notify_ends_the_session(who: str, suite: str, tmp_path: Path) -> None:
    ends, asked, by = CLOSES[who]
    log = str(tmp_path / "keys.log")
    capture = str(pcap(tmp_path / "closes.pcap", wire(ends, log, suite).frames, nano=True))
    tables = tables_of([capture], Options(keylog=(log,)))
    [stream], [session] = tables["streams"].to_pylist(), tables["sessions"].to_pylist()
    assert (stream["asked_by"], session["ended_by"]) == (asked, by)
    [shown] = dialogues(tables, {})
    first = next(iter(summary(shown)))
    assert first.startswith(f"ended by {'close_notify' if asked else 'FIN'} of the {by} after " if by else "open at the end")


@pytest.mark.parametrize("behind", [1, 2, 3], ids="{} packets in the last run".format)
def test_it_is_known_in_later_runs(behind: int, tmp_path: Path) -> None:
    ends, asked, by = CLOSES["the server, behind which the client closes TCP"]
    log = str(tmp_path / "keys.log")
    frames = wire(ends, log, "1.3 AES-256-GCM").frames
    lake = Lake(Options(keylog=(log,)))
    for number, some in enumerate((frames[:-behind], frames[-behind:])):
        lake.run([str(pcap(tmp_path / f"{number}.pcap", some, nano=True))])
    [stream], [session] = lake.table("streams").to_pylist(), lake.table("sessions").to_pylist()
    assert (stream["asked_by"], session["ended_by"]) == (asked, by)
