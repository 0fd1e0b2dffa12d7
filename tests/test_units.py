"""Numbers as people read them."""

from __future__ import annotations

import pytest

from stompcap import units


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (None, "–"),
        (0, "0 µs"),
        (850, "850 µs"),
        (999.4, "999 µs"),
        (999.6, "1 ms"),
        (1240, "1.24 ms"),
        (25_800, "25.8 ms"),
        (3_500_000, "3.5 s"),
        (59_940_000, "59.9 s"),
        (59_960_000, "1 min"),
        (125_000_000, "2 min 5 s"),
        (3_599_900_000, "1 h"),
        (11_520_000_000, "3 h 12 min"),
        (187_200_000_000, "2 d 4 h"),
        (-1500, "−1.5 ms"),
    ],
)
def test_duration(us: float | None, text: str) -> None:
    assert units.duration(us) == text


@pytest.mark.parametrize(
    ("octets", "text"),
    [
        (None, "–"),
        (0, "0 bytes"),
        (1, "1 byte"),
        (950, "950 bytes"),
        (999.6, "1 kB"),
        (1460, "1.46 kB"),
        (3e9, "3 GB"),
        (2e18, "2,000 PB"),
    ],
)
def test_size(octets: float | None, text: str) -> None:
    assert units.size(octets) == text


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (0, 5, "0 %"),
        (5, 5, "100 %"),
        (1, 8, "12.5 %"),
        (1, 9999, "< 0.1 %"),
        (9998, 9999, "> 99.9 %"),
        (0, 0, "–"),
        (None, 3, "–"),
    ],
)
def test_share(part: int | None, whole: int, text: str) -> None:
    assert units.share(part, whole) == text


@pytest.mark.parametrize(
    ("digits", "text"),
    [(0, "2025-11-24 16:00:00"), (3, "2025-11-24 16:00:00.123"), (6, "2025-11-24 16:00:00.123456")],
)
def test_moment(digits: int, text: str) -> None:
    assert units.moment(1_764_000_000_123_456_789, digits) == text


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30min", 1800), ("24h", 86400), (" 7 d ", 604800)])
def test_seconds(text: str, seconds: int) -> None:
    assert units.seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "90", "0s", "-5s", "1.5h", "1w", "h", "1h30min", "9999999999s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="must be a duration"):
        units.seconds(text)


def test_milliseconds_counts_and_endpoints() -> None:
    assert units.milliseconds(10_000) == "10 s"
    assert units.count(1234567) == "1,234,567"
    assert units.endpoint("::1", 61613) == "[::1]:61613"
    assert units.endpoint("10.0.0.1", 1) == "10.0.0.1:1"
