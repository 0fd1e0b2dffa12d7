"""Text from the wire, made visible."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.visible import visible, visible_octets


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/queue/orders", "/queue/orders"),
        ("größer 消息 ✓", "größer 消息 ✓"),
        ("a\x1b[31mred", r"a\x1b[31mred"),
        ("\x9b31m", r"\x9b31m"),
        ("line\r\nnext\tcell\0", r"line\r\nnext\tcell\0"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("\u2066x\u2069", r"\u2066x\u2069"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("nbsp\xa0", r"nbsp\xa0"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("lone\udc80", r"lone\udc80"),
        ("kept\\n", "kept\\n"),
    ],
)
def test_what_does_not_print_is_escaped(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(), st.integers(1, 30))
def test_always_printable_and_within_its_limit(text: str, limit: int) -> None:
    assert visible(text).isprintable()
    assert visible(visible(text)) == visible(text)
    assert len(visible(text, limit)) <= limit
    cut = visible(text, limit)
    assert cut == visible(text) or cut == visible(text)[: limit - 1] + "…"


@given(st.binary())
def test_octets_show_too(octets: bytes) -> None:
    assert visible_octets(octets).isprintable()
    assert visible_octets(octets, 10) == visible(octets.decode("utf-8", "backslashreplace"), 10)
