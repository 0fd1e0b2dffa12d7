"""Tables of `show` on terminals: they fit 80 columns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.cli.narrow import fitted, middle

TITLES = ["stream id", "login", "address", "broker", "version", "outcome", "ended", "opened", "duration", "frames"]
ROWS = [
    ["ab" * 10, "billing-of-the-north", "192.168.100.100:50000", "RabbitMQ", "1.2", "connected", "disconnect", f"2026-11-21 08:49:2{n}.384",
     "605 ms", n] for n in range(3)
]  # fmt: skip


@pytest.mark.parametrize("width", [80, 110, 200])
def test_sessions_fit_the_terminal_and_keep_what_tells_most(width: int) -> None:
    titles, rows = fitted(TITLES, ROWS, width)
    widths = [max(len(title), *(len(str(row[at])) for row in rows)) for at, title in enumerate(titles)]
    assert sum(widths) + 3 * (len(widths) - 1) <= width
    assert {"stream id", "login", "outcome", "opened", "duration"} <= set(titles)
    assert (titles == TITLES) == (width == 200)
    assert "ab" * 10 in rows[0] or rows[0][0] == "abababab"


def test_a_session_without_login_is_named_by_its_address_where_that_has_no_column() -> None:
    titles, rows = fitted(TITLES, [[*ROWS[0][:1], "–", *ROWS[0][2:]], ROWS[1]], 80)
    assert "address" not in titles
    assert rows[0][1].startswith("192.")


@given(st.text(max_size=60), st.integers(5, 70))
def test_a_text_cut_in_its_middle_has_its_ends(text: str, most: int) -> None:
    cut = middle(text, most)
    assert len(cut) <= most
    assert cut == text or (text.startswith(cut.partition("…")[0]) and "…" in cut)
