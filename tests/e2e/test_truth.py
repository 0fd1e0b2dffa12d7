"""Which stream of a lake a recorded session is."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.e2e.truth import Observed, Session

SECOND = 1_000_000_000


def streams(*times: tuple[str, float, float]) -> Observed:
    """Streams of one pair of endpoints, by id and seconds of their first and last packet."""
    rows = [
        {
            "stream_id": name,
            "client_port": 50_000,
            "server_ip": "127.0.0.1",
            "first_ns": int(first * SECOND),
            "last_ns": int(last * SECOND),
        }
        for name, first, last in times
    ]
    return Observed({"streams": pa.Table.from_pylist(rows)})


def session(opened: float, closed: float) -> Session:
    """A session between those endpoints."""
    return Session(
        {
            "session": "told",
            "client_port": 50_000,
            "server_ip": "127.0.0.1",
            "opened_clock_ns": int(opened * SECOND),
            "closed_clock_ns": int(closed * SECOND),
        }
    )


@pytest.mark.parametrize(
    ("opened", "closed", "fit"),
    [
        (100.1, 102.0, "first"),
        (102.4, 102.5, "second"),
        (102.05, 102.06, "first"),  # the client's clock is read a little late
        (102.4, 0, "second"),  # its log has no end
        (100.1, 104.0, "first"),  # the client noticed the close late, when its port was another's already
    ],
)
def test_a_port_used_again_at_once_is_another_stream(opened: float, closed: float, fit: str) -> None:
    seen = streams(("first", 100.0, 102.01), ("second", 102.4, 102.6))
    assert seen.stream_of(session(opened, closed)) == fit


@pytest.mark.parametrize(
    ("times", "unpaired"),
    [
        ([(100.1, 102.0), (102.4, 102.5)], []),
        ([(100.1, 102.6)], ["second"]),  # one connection, told as two
        ([(100.1, 101.0), (101.1, 102.0)], ["first", "second"]),  # two, told as one; and one that nobody knows of
    ],
)
def test_each_stream_is_one_session(times: list[tuple[float, float]], unpaired: list[str]) -> None:
    seen = streams(("first", 100.0, 102.01), ("second", 102.4, 102.6))
    assert seen.unpaired(session(*time) for time in times) == unpaired


def test_a_session_that_was_not_captured_has_no_stream() -> None:
    with pytest.raises(AssertionError, match="no stream fits"):
        streams(("first", 100.0, 102.0)).stream_of(session(300, 301))
