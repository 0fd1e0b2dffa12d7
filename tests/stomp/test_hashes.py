"""Hashes of bodies and contents: equal for what is equal, other for what is not, the same wherever and however it comes."""

from __future__ import annotations

import platform
import random
import re

import numba
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap import ahead
from stompcap.kernel import BORROWING
from stompcap.prepare.signatures import listed
from stompcap.stomp import body_hashes, content, content_hashes
from stompcap.stomp.content import LEFT_OUT, LEFT_OUT_PREFIXES
from stompcap.stomp.grammar import MESSAGE, SEND, SUBSCRIBE
from stompcap.stomp.hashes import _stripes, words_of
from stompcap.tables.schema import HEADER_MAP

KEY, OTHER = bytes(range(16)), bytes(range(1, 17))
MASK64 = (1 << 64) - 1
P1, P2, P3, P4 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63


def of(*bodies: bytes, key: bytes = KEY, before: int = 0, masked: bool = False) -> list[int]:
    lengths = np.array([len(body) for body in bodies], np.int64)
    begin = before + np.append(0, np.cumsum(lengths))[:-1].astype(np.int64)
    octets = np.frombuffer(b"x" * before + b"".join(bodies) + b"\0", np.uint8)
    found: list[int] = body_hashes(octets, begin, lengths, np.full(len(bodies), masked), key).tolist()
    return found


def take(h: int, word: int, key: int) -> int:
    k = (word ^ key) * P2 & MASK64
    h ^= ((k << 31 | k >> 33) & MASK64) * P1 & MASK64
    return (((h << 27 | h >> 37) & MASK64) * P1 + P4) & MASK64


def slowly(body: bytes) -> int:
    """The same as the kernel, word by word, in Python's own numbers."""
    key = [int(word) for word in words_of(KEY)]
    h, end = key[8] ^ len(body) * P1 & MASK64, len(body) - len(body) % 64
    if end:
        sums = key[8:]
        for i in range(0, end, 64):
            words = [int.from_bytes(body[i + 8 * n : i + 8 * n + 8], "little") for n in range(8)]
            for n in range(8):
                hidden = words[n] ^ (key[n] + i // 64 * P3 & MASK64)
                sums[n] = (sums[n] + words[n ^ 1] + (hidden & 0xFFFFFFFF) * (hidden >> 32)) & MASK64
            if (i + 64) % 1024 == 0 or i + 64 == end:
                sums = [(one ^ one >> 47 ^ key[8 + n]) * P1 & MASK64 for n, one in enumerate(sums)]
        stripes = P3
        for n in range(8):
            stripes = take(stripes, sums[n], key[n])
        h ^= stripes
    for n, i in enumerate(range(end, len(body), 8)):
        h = take(h, int.from_bytes(body[i : i + 8], "little"), key[n])
    h = (h ^ h >> 33) * P2 & MASK64
    h = (h ^ h >> 29) * P3 & MASK64
    return (h ^ h >> 32) >> 1


@given(st.lists(st.integers(0, 2200), min_size=1, max_size=4), st.integers(0, 9), st.integers(0, 1 << 32))
def test_a_body_has_the_same_hash_wherever_it_lies(lengths: list[int], before: int, seed: int) -> None:
    bodies = [random.Random(seed + n).randbytes(length) for n, length in enumerate(lengths)]
    assert of(*bodies, before=before) == [slowly(body) for body in bodies]


def test_bodies_that_differ_in_an_octet_or_the_length_have_other_hashes() -> None:
    base = bytes(200)
    bodies = [base, *(bytes(n) for n in range(200))]
    bodies += [base[:n] + bytes([1 << bit]) + base[n + 1 :] for n in range(200) for bit in range(8)]
    assert len(set(of(*bodies))) == len(bodies)


def test_parts_of_a_body_in_another_order_are_another_body() -> None:
    parts = [bytes([n]) * 64 for n in range(40)]
    bodies = [b"".join([*parts[:m], parts[n], *parts[m:n], *parts[n + 1 :]]) for m in range(40) for n in range(m + 2, 40)]
    assert len(set(of(*bodies))) == len(bodies)


def test_two_hundred_thousand_bodies_have_as_many_hashes() -> None:
    bodies = [f'{{"order": {n}, "amount": {n % 97}}}'.encode() for n in range(200_000)]
    assert len(set(of(*bodies))) == len(bodies)


def test_another_key_gives_other_hashes() -> None:
    assert not set(of(b"", b"secret", bytes(999))) & set(of(b"", b"secret", bytes(999), key=OTHER))


@pytest.mark.parametrize("key", [b"", b"short", bytes(17)])
def test_a_key_has_128_bits(key: bytes) -> None:
    with pytest.raises(ValueError, match="16 octets"):
        words_of(key)


@pytest.mark.parametrize(("body", "known"), [(b"pin=****;", False), (b"nothing", True), (b"", True)])
def test_a_body_that_lost_a_secret_has_no_hash(body: bytes, known: bool) -> None:
    assert (of(body, masked=True) == of(body)) is known
    assert (of(body, masked=True) == [-1]) is not known
    assert of(body)[0] >= 0


def contents(*frames: list[tuple[str, str]], command: int = SEND, body: int = 7, masked: bool = False) -> list[int]:
    header = pa.array(frames, HEADER_MAP)
    count = len(frames)
    found = content_hashes(header, np.full(count, command), np.full(count, body), np.full(count, masked), KEY)
    listed: list[int] = found.tolist()
    return listed


NAMES = st.text("abcxyz-", min_size=1, max_size=70)


@given(st.dictionaries(NAMES, NAMES, max_size=6), st.randoms())
def test_the_order_of_headers_does_not_count(header: dict[str, str], chance: random.Random) -> None:
    mixed = list(header.items())
    chance.shuffle(mixed)
    assert len(set(contents(list(header.items()), mixed))) == 1


def test_what_brokers_add_drop_or_change_does_not_count() -> None:
    own = [("kind", "order"), ("x-trace", "1")]
    names = [name for names in LEFT_OUT.values() for name in names]
    names += [f"{prefix}Something" for prefixes in LEFT_OUT_PREFIXES.values() for prefix in prefixes]
    assert len(set(contents(own, *([*own, (name, "a")] for name in names), *([(name, "b"), *own] for name in names)))) == 1


def test_what_rabbitmq_delivers_from_a_stream_is_what_was_sent() -> None:
    sent = [("x-queue-type", "stream"), ("durable", "true"), ("auto-delete", "false"), ("mark", "1"), ("receipt", "r34")]
    delivered = [*sent, ("redelivered", "false"), ("x-stream-offset", "17")]
    assert contents(sent) == contents(delivered)


def test_the_message_id_that_go_stomps_server_gives_as_id_too_does_not_count() -> None:
    sent = [("kind", "order")]
    assert contents(sent) == contents([*sent, ("message-id", "12"), ("id", "12")]) == contents([("id", "12"), ("message-id", "12"), *sent])
    own = [*sent, ("id", "12")]
    assert contents(own) == contents([*own, ("message-id", "1")]) != contents(sent)


def test_the_applications_own_headers_count() -> None:
    frames = [[], [("kind", "a")], [("kind", "b")], [("kin", "da")], [("receipts", "a")]]
    frames += [[("a", "b"), ("b", "a")], [("a", "a"), ("b", "b")]]
    assert len(set(contents(*frames))) == len(frames)


@pytest.mark.parametrize(("sent", "delivered"), [
    ("12:30", r"12\c30"),  # from 1.0 to 1.0, by RabbitMQ
    (r"a:b\c", r"a\cb\c"),
    (r"C:\\new", r"C\c\\new"),
    ("two\nlines", r"two\nlines"),
    (r"\\c", r"\\\\c"),
    ("plain", "plain"),
])  # fmt: skip
def test_an_escape_counts_as_what_it_stands_for(sent: str, delivered: str) -> None:
    other = [("kind", "order")]
    one, same, another = contents([*other, ("at", sent)], [("at", delivered), *other], other)
    assert one == same != another


@pytest.mark.parametrize("value", ["plain", r"12\c30"])
def test_escapes_change_nothing_in_the_types_that_the_kernel_is_compiled_for(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    called = list[tuple[str, ...]]()
    monkeypatch.setattr(content, "_contents", lambda *arguments: called.append(tuple(map(ahead.spelled, arguments))))
    contents([("at", value)], [("at", value), ("kind", "order")])
    assert called == [one.arguments for one in listed() if one.function == "_contents"]


def test_values_that_differ_in_more_than_escapes_are_others() -> None:
    values = ["12:30", "12c30", r"12\d30", "12d30", "12\\", "12", r"12\n30", "12n30"]
    assert len(set(contents(*([("at", value)] for value in values)))) == len(values)


def test_send_and_message_alone_have_a_hash_of_their_content() -> None:
    assert contents([("kind", "a")], command=SEND) == contents([("kind", "a")], command=MESSAGE) != [-1]
    assert contents([("kind", "a")], command=SUBSCRIBE) == [-1]
    assert contents([("kind", "a")], body=-1) == [-1]


def test_a_masked_header_does_not_count() -> None:
    assert contents([("kind", "a"), ("token", "***")], masked=True) == contents([("kind", "a")], masked=True) == contents([("kind", "a")])


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names of instructions")
def test_a_word_is_one_load() -> None:
    compiled = numba.njit(**BORROWING)(_stripes.py_func)  # type: ignore[attr-defined]
    compiled(np.frombuffer(bytes(64), np.uint8), 0, 64, words_of(KEY))
    [assembly] = compiled.inspect_asm().values()
    assert "pinsrb" not in assembly
    assert len(re.findall(r"movzb[lq]", assembly)) < 8
