"""A frame that has not ended holds back what the other side sends, but not for ever; and what came then is told as it is told whole."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from stompcap import session
from stompcap.assembly import SessionAnalyser
from stompcap.assembly.windows import WINDOW
from tests.assembly.test_closes import Talk
from tests.assembly.test_flow import InBlocks, rows
from tests.capture.packaging import pcap
from tests.e2e.pure import wire_of

SUBSCRIBE = b"SUBSCRIBE\nid:0\ndestination:/queue/a\nack:client\n\n\0"
MESSAGE = b"MESSAGE\nsubscription:0\nmessage-id:%d\nack:%d\ndestination:/queue/a\n\nhello\0"
SEND = b"SEND\ndestination:/queue/b\ncontent-length:%d\n\n"


def a_send_among_messages(count: int, ended: bool = True) -> Talk:
    """The client sends an octet of its SEND between any two MESSAGEs, and acknowledges them behind it."""
    talk = Talk().say(0, 0, SUBSCRIBE).say(1, 0, SEND % count)
    for n in range(count):
        talk.say(2 + n, 1, MESSAGE % (n, n)).say(2.5 + n, 0, b"x")
    if ended:
        talk.say(3 + count, 0, b"\0").say(4 + count, 0, b"ACK\nid:%d\n\n\0" % (count // 2)).say(5 + count, 1, MESSAGE % (count, count))
    return talk.say(6 + count, 0, b"DISCONNECT\n\n\0").say(7 + count, 0, flags="FA")


def a_message_among_acks(count: int) -> Talk:
    """The server sends an octet of a MESSAGE between any two ACKs of those before."""
    talk = Talk().say(0, 0, SUBSCRIBE.replace(b"client", b"client-individual"))
    talk.say(1, 1, b"".join(MESSAGE % (n, n) for n in range(count)))
    talk.say(1.5, 1, (MESSAGE % (count, count)).replace(b"\n\n", b"\ncontent-length:%d\n\n" % (count + 5))[:-1])
    for n in range(count):
        talk.say(2 + n, 0, b"ACK\nid:%d\n\n\0" % n).say(2.5 + n, 1, b"x")
    return talk.say(3 + count, 1, b"\0").say(4 + count, 0, b"ACK\nid:%d\n\n\0" % count).say(6 + count, 0, flags="FA")


def an_ack_among_messages(count: int) -> Talk:
    """The client begins an ACK before the MESSAGE that it will name."""
    talk = Talk().say(0, 0, SUBSCRIBE).say(1, 0, b"ACK\nx:")
    for n in range(count):
        talk.say(2 + n, 1, MESSAGE % (n, n)).say(2.5 + n, 0, b"x")
    return talk.say(3 + count, 0, b"\nid:%d\n\n\0" % (count // 2)).say(6 + count, 0, b"DISCONNECT\n\n\0").say(7 + count, 0, flags="FA")


def both(count: int) -> Talk:
    """Both sides at the same time, and heart-beats behind."""
    talk = Talk(beats=b"10,10").say(0, 0, SUBSCRIBE)
    talk.say(1, 0, SEND % count).say(1, 1, (MESSAGE % (0, 0)).replace(b"\n\n", b"\ncontent-length:%d\n\n" % (count + 5))[:-1])
    for n in range(count):
        talk.say(2 + n, 0, b"x").say(2.5 + n, 1, b"x")
    talk.say(3 + count, 1, b"\0\n").say(4 + count, 0, b"\0\n").say(5 + count, 0, b"ACK\nid:0\n\n\0").say(90 + count, 0, b"\n")
    return talk.say(99 + count, 1, b"\n").say(100 + count, 0, flags="FA")


TALKS = {
    "a SEND among MESSAGEs": a_send_among_messages, "a SEND that never ends": partial(a_send_among_messages, ended=False),
    "an ACK among MESSAGEs": an_ack_among_messages, "a MESSAGE among ACKs": a_message_among_acks, "both": both,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("memory", "block", "window"), [
    (5, 8, WINDOW), pytest.param(30, 30, 400, marks=pytest.mark.slow), pytest.param(65_536, 8, WINDOW, marks=pytest.mark.slow),
])  # fmt: skip
@pytest.mark.parametrize("talk", TALKS)
def test_in_blocks_as_whole(talk: str, memory: int, block: int, window: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SessionAnalyser, "_session_options", lambda _: session.Options(retention=memory))
    wire = wire_of([str(pcap(tmp_path / "talk.pcap", TALKS[talk](60).frames, nano=True))])
    whole = rows(wire.tables())
    found = rows(wire.tables(window=window, block=block, assembly=InBlocks))
    assert found.keys() == whole.keys()
    for name in whole:
        assert found[name] == whole[name], name


def test_a_frame_stands_where_it_is_whole(tmp_path: Path) -> None:
    """Behind the MESSAGEs that came since its first octet, one of which it names."""
    made = wire_of([str(pcap(tmp_path / "talk.pcap", an_ack_among_messages(20).frames, nano=True))]).tables()["deliveries"]
    assert made["status"].to_pylist().count("settled") == 11


@pytest.mark.parametrize("talk", [
    pytest.param(name, marks=pytest.mark.slow if number else ()) for number, name in enumerate(TALKS) if name != "both"
])
def test_what_is_kept_does_not_grow(talk: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that wait for the end of a frame, and its segments; deliveries are open until they are acknowledged."""
    monkeypatch.setattr(SessionAnalyser, "_session_options", lambda _: session.Options(retention=20))
    kept = []
    advance = SessionAnalyser._pieces

    def piece(self: SessionAnalyser, *given: object) -> object:
        found = advance(self, *given)
        kept.extend(sum(s.state.session[name].num_rows for name in ("frames", "rows", "segments")) for s in self.states.values())
        return found

    monkeypatch.setattr(SessionAnalyser, "_pieces", piece)
    made = TALKS[talk](120).frames
    wire_of([str(pcap(tmp_path / "talk.pcap", made, nano=True))]).tables(block=10, assembly=InBlocks)
    assert len(kept) > 5
    assert max(kept[len(kept) // 2 :]) <= 110  # the packets before it, however many rows one has, do not wait for longer than that
