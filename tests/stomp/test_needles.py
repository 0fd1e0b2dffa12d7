"""The search for many words at once: a table that grows has all of them, and words that begin alike do not slow it down."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.stomp import needles as module
from stompcap.stomp.needles import CLUES, QUAD, Needles, needles, packed, search
from stompcap.stomp.secret_forms import LEAST, forms

SECRETS = st.frozensets(st.binary(min_size=LEAST, max_size=12) | st.sampled_from([b"secret1", b"secret22", b"secret-3"]), max_size=6)


def words_in(octets: bytes, words: Needles) -> set[tuple[int, bytes]]:
    """Where each word is."""
    return {(int(at), octets[at:end]) for at, end, _ in search(np.frombuffer(octets, np.uint8), words)}


def sought(octets: bytes, words: set[bytes]) -> set[tuple[int, bytes]]:
    """The same, looked for one by one."""
    return {(at, word) for word in words for at in range(len(octets)) if octets.startswith(word, at)}


@given(SECRETS, SECRETS, SECRETS, st.data())
def test_a_table_that_grows_finds_all(
    first: frozenset[bytes], more: frozenset[bytes], others: frozenset[bytes], data: st.DataObject
) -> None:
    """Those of other secrets, asked for in between, have their own."""
    every = sorted(octets for secret in first | more | others for octets, _, _ in forms(secret))
    text = b" ".join([*data.draw(st.lists(st.sampled_from(every), max_size=5) if every else st.just([])), b"passcode: CONNECT", *first])
    text = data.draw(st.binary(max_size=3)) + text
    for secrets in (first, others, first | more, first, first | more | others):
        wanted = {*CLUES, *(octets for secret in secrets for octets, _, _ in forms(secret))}
        with needles(secrets) as words:
            assert words_in(text, words) == sought(text, wanted)


def test_two_that_search_at_once_have_tables_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_tables", [])
    secrets = frozenset({b"secret1"})
    with needles(secrets) as one, needles(secrets) as other:
        assert one.bits is not other.bits
    with needles(secrets | {b"secret2"}) as grown:
        assert grown.bits is one.bits or grown.bits is other.bits


@pytest.mark.parametrize("begins", [b"pc-activemq-", b"%2D%70%63", b""])
def test_few_words_share_a_quad(begins: bytes) -> None:
    """Else each place in a text with what all begin with would be compared with all of them."""
    words = packed({begins + hashlib.sha256(b"%d" % number).hexdigest()[:16].encode(): 0 for number in range(1000)})
    sharing = np.bincount([_length(words, int(entry)) for entry in words.first if entry >= 0])
    assert len(sharing) <= 1000 // QUAD, "entries of one quad"
    assert np.dot(sharing, np.arange(len(sharing))) == QUAD * 1000


def _length(words: Needles, entry: int) -> int:
    number = 0
    while entry >= 0:
        number, entry = number + 1, int(words.following[entry])
    return number
