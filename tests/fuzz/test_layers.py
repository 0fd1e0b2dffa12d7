"""TLS records, PROXY headers, HTTP heads and SockJS messages with other octets than were sent, as tests/fuzz/test_websocket.py does it.

What holds of all: no exception; what is given tiles each direction (`read` asserts it); the same octets in one step and in several are read
alike. Of TLS whatever is given was said, in its order, whatever comes: a tag proves it. Of SockJS so where pieces are lost and nothing
else. A PROXY header is what a reader says that knows nothing of the other. What is secret in a head of HTTP is in nothing that is told.
"""

from __future__ import annotations

import ipaddress
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from stompcap.stomp.delimiter_io import Runs
from stompcap.transport.http import FIRST_WORDS, head_of
from stompcap.transport.proxy import SIGNATURE, Proxy
from stompcap.transport.sockjs import SockJs
from stompcap.transport.tls import Tls
from stompcap.transport.websocket import WebSocket
from tests.examples import slow_behind
from tests.fuzz.test_websocket import CASES, GROUPS, changed, runs
from tests.transport.headers import v1, v2
from tests.transport.in_websocket import answer, frame, request
from tests.transport.test_tls_side import dialogue
from tests.transport.test_websocket_frames import cut, joined, read
from tests.transport.tls_traffic import SUITES

TOKEN = "n0body-must-see-this"
SECRET_LINES = f"Cookie: session={TOKEN}", f"Authorization: Bearer {TOKEN}", f"Sec-WebSocket-Protocol: v12.stomp, {TOKEN}"
STOMP = b"CONNECT\naccept-version:1.2\nhost:/\n\n\0SEND\ndestination:a\n\nbody\0" * 3
DIALOGUES = 3  # of each suite
HELLOS = 340  # octets: behind changed hellos, how much is missing may be known a step later


def alike(layer, pieces, dice: random.Random, **how):
    """What is given of these pieces in one step, which is what is given of them in several; and what is kept."""
    given, events, lengths, kept = read(pieces, layer=layer, **how)
    again, same, others, left = read(pieces, dice.randint(2, max(2, len(pieces))), layer=layer, **how)
    assert [joined(one) for one in again] == [joined(one) for one in given]
    assert (same, others) == (events, lengths)
    assert told(layer, left) == told(layer, kept)
    return given, events, kept


def told(layer, kept):
    """What a layer comes to; where text is found to be no UTF-8 depends on its pieces.

    So does where a close_notify stands that was held for the other side's hello: of an earlier step it is known that it came before.
    """
    found = layer.summaries(kept)
    return [(replace(one, checks=(), closed_order=-1), [(of.what, of.side, of.outcome) for of in one.checks]) for one in found]


def assert_said(parts, said: bytes) -> None:
    """What is given was said, in its order."""
    at = 0
    for run in runs(parts):
        found = said.find(run, at)
        assert found >= 0, run[:80]
        at = found + len(run)


def in_pieces(dice: random.Random, wire: Sequence[bytes], lost: float):
    """Both sides cut into pieces, of which some are lost."""
    found = []
    for side, octets in enumerate(wire):
        found += cut(side, octets, [dice.randrange(len(octets) + 1) for _ in range(dice.randint(0, 10))]) if octets else []
    dice.shuffle(found)
    return [one for one in sorted(found, key=lambda one: one[1]) if dice.random() >= lost]


def tls(dice: random.Random) -> None:
    said = dialogue(dice.choice([*SUITES]), dice.randrange(DIALOGUES), 20)
    sent, lost = [said.octets(side) for side in (0, 1)], 0.0
    wire = list(sent)
    if dice.random() < 0.5:
        lost = dice.choice((0.05, 0.3))
    else:
        for _ in range(dice.randint(1, 5)):
            side = dice.randrange(2)
            wire[side] = changed(dice, wire[side])
    pieces = in_pieces(dice, wire, lost)
    if not pieces:
        return
    if all(octets.startswith(before[:HELLOS]) for octets, before in zip(wire, sent, strict=True)):
        given, *_ = alike(Tls(), pieces, dice, keys=lambda: said.keys)
    else:
        given, *_ = read(pieces, dice.randint(1, len(pieces)), layer=Tls(), keys=lambda: said.keys)
    for side in (0, 1):
        assert_said(given[side], said.sent(side))


def sockjs(dice: random.Random) -> None:
    wire, said = [], []
    for side in (0, 1):
        texts = [[dice.choice(("\n", 'a["x"]', "MESSAGE\n\nhello \\ \"é€\0", "h" * dice.randrange(90))) for _ in range(dice.randint(1, 3))]
                 for _ in range(dice.randint(1, 8))]  # fmt: skip
        arrays = [json.dumps(one, ensure_ascii=dice.random() < 0.5, separators=(",", ":")) for one in texts]
        first, last = ("oh", 'c[3000,"Go away!"]' if dice.random() < 0.3 else "") if side else ("", "")
        wire.append((first + "".join(("a" if side else "") + one + "h" * (side and dice.random() < 0.2) for one in arrays) + last).encode())
        said.append("".join("".join(one) for one in texts).encode())
    only_lost = dice.random() < 0.4
    for _ in range(0 if only_lost else dice.randint(1, 5)):
        side = dice.randrange(2)
        wire[side] = changed(dice, wire[side])
    pieces = in_pieces(dice, wire, 0.2 if only_lost else 0)
    if not pieces:
        return
    given, *_ = alike(SockJs(), pieces, dice)
    for side in (0, 1) if only_lost else ():
        assert_said(given[side], said[side])


def header_octets(first: bytes) -> int | None:
    """How long the PROXY header is that these octets begin with; of version 1 a line that says what it must."""
    if first.startswith(SIGNATURE):
        if len(first) < 16 or first[12] not in (0x20, 0x21):
            return None
        size, family = int.from_bytes(first[14:16], "big"), first[13] >> 4
        addresses = {1: 12, 2: 36}.get(family, 0) if first[12] == 0x21 else 0
        return 16 + size if size >= addresses and len(first) >= 16 + addresses else None
    line, end, _ = first[:107].partition(b"\r\n")
    words = line.split(b" ")
    if not end or words[:1] != [b"PROXY"] or len(words) < 2 or {b"\r"[0], b"\n"[0]} & {*line}:
        return None
    if words[1] == b"UNKNOWN":
        return len(line) + 2
    if len(words) != 6 or words[1] not in (b"TCP4", b"TCP6") or not all(one.isdigit() and len(one) < 6 for one in words[4:]):
        return None
    try:
        for one in words[2:4]:
            (ipaddress.IPv4Address if words[1] == b"TCP4" else ipaddress.IPv6Address)(one.decode())
    except ValueError:
        return None
    return len(line) + 2 if max(int(one) for one in words[4:]) < 65536 and all(2 <= len(one) <= 39 for one in words[2:4]) else None


def proxy(dice: random.Random) -> None:
    tlvs = b"".join(bytes((dice.randrange(256),)) + len(one).to_bytes(2, "big") + one for one in
                    (dice.randbytes(dice.randrange(40)) for _ in range(dice.randrange(3))))  # fmt: skip
    port = dice.randrange(1 << 16)
    header = dice.choice((v1("203.0.113.7", port), v1("2001:db8::7", port, "2001:db8::9", "TCP6"), b"PROXY UNKNOWN\r\n",
                          v2("203.0.113.7", port, tlvs), v2("2001:db8::7", port, tlvs), v2("203.0.113.7", port, tlvs, 0)))  # fmt: skip
    for _ in range(dice.randint(0, 2)):
        header = changed(dice, header)
    wire, size = header + STOMP, header_octets(header + STOMP)
    octets, one = np.frombuffer(wire, np.uint8), np.zeros(1, np.int64)
    begin = Runs(one.astype(np.int32), one, one + len(wire), one, one == 0, one == 0, one - 1, one != 0)
    assert bool(Proxy().begins(octets, begin)[0]) == (size is not None)
    if size is None:
        return
    pieces = cut(0, wire, [dice.randrange(120, len(wire) + 1) for _ in range(4)])  # all that tells is in the first
    given, *_ = alike(Proxy(), [*pieces, (1, 0, STOMP)], dice)
    assert b"".join(part for _, part, _ in given[0]) == wire[size:]
    assert b"".join(part for _, part, _ in given[1]) == STOMP


def http(dice: random.Random) -> None:
    """Requests and answers one after the other, then frames. Where all heads are whole and the last answer is read, all is read alike."""
    asks = request(f"/ws?token={TOKEN}", *(line for line in SECRET_LINES if dice.random() < 0.7))
    refusal = answer(f"Content-Length: {dice.randrange(30)}", status=dice.choice(("401 No", "204 None", "302 There")))
    said = [asks, refusal] * (dice.random() < 0.3) + [asks, answer("Set-Cookie: session=" + TOKEN)]
    said += [frame(STOMP[:60], 1, mask=b"mask"), frame(STOMP[:60], 1)]
    for _ in range(dice.randint(0, 5)):
        at = dice.randrange(len(said))
        said[at] = changed(dice, said[at])
    pieces, wire = list[tuple[int, int, bytes]](), [b"", b""]
    for number, octets in enumerate(said):
        side = number % 2
        pieces += cut(side, octets, [dice.randrange(len(octets) + 1) for _ in range(dice.randrange(4))], len(wire[side]))
        wire[side] += octets
    lost = dice.choice((0, 0, 0.2))
    pieces = [one for one in pieces if one[2] and dice.random() >= lost]
    _, events, _, kept = read(pieces)
    heads = [head_of(one) if FIRST_WORDS.match(one) else None for one in said[:-2]]
    whole = not lost and all(head is not None and head.length == len(one) for head, one in zip(heads, said, strict=False))
    if whole and WebSocket().summaries(kept)[0].columns.get("http_status") == 101:
        alike(WebSocket(), pieces, dice)
    # where a change has put a secret in the place of something else, nobody can know it for one
    lines = [line.encode() for line in (*SECRET_LINES, "Set-Cookie: session=" + TOKEN, f"?token={TOKEN} HTTP/1.1")]
    if all(part.count(TOKEN.encode()) == sum(part.count(b"\n" * (b":" in line) + line) for line in lines) for part in wire):
        assert TOKEN not in repr((events, WebSocket().summaries(kept)))


LAYERS: dict[str, Callable[[random.Random], None]] = {"tls": tls, "sockjs": sockjs, "proxy": proxy, "http": http}


@pytest.mark.parametrize("group", slow_behind(2, range(GROUPS)))
@pytest.mark.parametrize("layer", LAYERS)
def test_other_octets_are_read_alike_and_nothing_is_invented(layer: str, group: int) -> None:
    wrong = []
    for seed in range(group, CASES, GROUPS):
        try:
            LAYERS[layer](random.Random(seed))
        except Exception as error:  # noqa: BLE001 - each is told by its seed
            wrong.append(f"seed {seed}: {type(error).__name__}: {str(error)[:200]}")
    assert not wrong, "\n".join(wrong[:20])
