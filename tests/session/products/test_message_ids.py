"""What message-ids and timestamps say."""

from __future__ import annotations

import pyarrow as pa
import pytest

from stompcap.session.products.message_ids import microseconds, numbers, producers

CASES = [
    ("ID:vm-35519-1795250933879-1:49:-1:1:5", ("ID:vm-35519-1795250933879-1:49", 5)),
    ("x:-1:1:123456789012345678", ("x", 123456789012345678)),
    ("x:-1:1:1234567890123456789", (None, None)),
    (":-1:1:5", (None, None)),
    ("-1:1:5", (None, None)),
    ("x:-1:1:05", (None, None)),
    ("x:-1:1:0", (None, None)),
    ("x:-1:1:", (None, None)),
    ("x:-1:2:5", (None, None)),
    ("ID:host-1-2-1:3:1:1:7", (None, None)),  # a producer of JMS
    ("1251,1262", (None, None)),
    ("T_s-1@@session-NtuQU7pssIy6ClKDripINA@@1", (None, None)),
    ("", (None, None)),
    ("5", (None, None)),
    (None, (None, None)),
]


@pytest.mark.parametrize(("message_id", "expected"), CASES)
def test_cases(message_id: str | None, expected: tuple[str | None, int | None]) -> None:
    session, number = producers(pa.array([message_id], pa.string()))
    assert (session.to_pylist(), number.to_pylist()) == ([expected[0]], [expected[1]])


def test_all_rows_at_once() -> None:
    session, number = producers(pa.chunked_array([pa.array([one for one, _ in CASES], pa.string()).slice(2)]))
    assert list(zip(session.to_pylist(), number.to_pylist(), strict=True)) == [expected for _, expected in CASES[2:]]
    assert [len(one) for one in producers(pa.array([], pa.string()))] == [0, 0]


@pytest.mark.parametrize(
    ("timestamp", "us"),
    [("1795250941967", 1795250941967000), ("1795250941", 1795250941000000), ("0", 0), ("-5", -1), ("soon", -1), ("", -1), (None, -1),
     ("999999999999999", 999999999999999000), ("1000000000000000", -1)],
)  # fmt: skip
def test_timestamps_are_milliseconds_or_seconds(timestamp: str | None, us: int) -> None:
    assert microseconds(pa.array([timestamp], pa.string())).tolist() == [us]


def test_numbers_have_digits_only() -> None:
    assert numbers(pa.array(["7", "+7", " 7", "7.0", "9" * 18, "9" * 19], pa.string())).tolist() == [7, -1, -1, -1, 10**18 - 1, -1]
