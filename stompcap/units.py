"""Numbers as people read them: durations, sizes, counts, shares, timestamps. None is a dash everywhere."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from stompcap import zones

NOTHING = "–"
LAST_S = 1 << 32
"""In seconds since 1970, the 7th of February 2106, which pcap cannot express. No packet is of then or later, nor from before 1970."""

IMPOSSIBLE = "before 1970 or after February 2106"
"""Such times, for people; they come from wrong clocks."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SIZES = ("bytes", "kB", "MB", "GB", "TB", "PB")


def _figure(value: float) -> str:
    """Three significant digits, without exponent and without trailing zeros after the point."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    text = f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"
    return text.rstrip("0").rstrip(".")


def duration(us: float | None) -> str:
    """Microseconds in the unit that suits them: 850 µs, 1.24 ms, 3.5 s, 2 min 5 s, 3 h 12 min, 2 d 4 h."""
    if us is None:
        return NOTHING
    if us < 0:
        return f"−{duration(-us)}"
    if us < 999.5:
        return f"{_figure(us)} µs"
    if us < 999_500:
        return f"{_figure(us / 1e3)} ms"
    if us < 59_950_000:
        return f"{_figure(us / 1e6)} s"
    seconds = round(us / 1e6)
    if seconds < 3600:
        return _pair(seconds, 60, "min", 1, "s")
    if seconds < 86400:
        return _pair(seconds, 3600, "h", 60, "min")
    return _pair(seconds, 86400, "d", 3600, "h")


def _pair(seconds: int, large: int, large_name: str, small: int, small_name: str) -> str:
    """Seconds in two units; the smaller one is left out where it is 0."""
    whole, rest = divmod(seconds, large)
    return f"{whole} {large_name} {rest // small} {small_name}" if rest // small else f"{whole} {large_name}"


def seconds(text: str) -> int:
    """A duration as people write it, 90s, 30min, 24h or 7d, in whole seconds; raises ValueError for other words and for nothing."""
    found = re.fullmatch(r"(\d{1,9}) ?(s|min|h|d)", text.strip())
    if not found or not int(found[1]):
        raise ValueError("must be a duration such as 90s, 30min, 24h or 7d")
    return int(found[1]) * {"s": 1, "min": 60, "h": 3600, "d": 86400}[found[2]]


def octets(text: str) -> int:
    """A size as people write it, 800kB, 500MB, 1.5GB or a number of octets; raises ValueError for other words and for nothing."""
    found = re.fullmatch(r"(\d{1,12}(?:\.\d{1,3})?) ?(kB|MB|GB|TB)?", text.strip())
    value = int(float(found[1]) * 1000 ** ("", *_SIZES[1:5]).index(found[2] or "")) if found else 0
    if not value:
        raise ValueError("must be a size such as 800kB, 500MB or 1.5GB")
    return value


def milliseconds(ms: float | None) -> str:
    """Milliseconds, as `duration` writes them."""
    return duration(None if ms is None else ms * 1000)


def count(number: float | None) -> str:
    """A whole number with commas between thousands."""
    return NOTHING if number is None else f"{number:,.0f}"


def counted(number: int, one: str, many: str = "") -> str:
    """A number with what is counted: 1 frame, 2 frames."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def size(octets: float | None) -> str:
    """Octets in decimal multiples, as operators know them: 950 bytes, 1.2 kB, 3 GB."""
    if octets is None:
        return NOTHING
    if octets == 1:
        return "1 byte"
    rank = 0
    while octets >= 999.5 and rank < len(_SIZES) - 1:
        octets /= 1000
        rank += 1
    return f"{_figure(octets)} {_SIZES[rank]}"


def ratio(value: float | None) -> str:
    """A multiple, with two decimals."""
    return NOTHING if value is None else f"{value:.2f}×"


def share(part: float | None, whole: float | None) -> str:
    """A part of a whole in per cent; never 0 % for more than nothing, nor 100 % for less than all."""
    if part is None or not whole:
        return NOTHING
    percent = 100 * part / whole
    if 0 < percent < 0.1:
        return "< 0.1 %"
    if 99.9 < percent < 100:
        return "> 99.9 %"
    return f"{percent:.1f}".removesuffix(".0") + " %"


def moment(ns: float | None, digits: int = 3) -> str:
    """Nanoseconds since the epoch as date and time, with so many decimals of the second (0 to 6).

    The zone is that of stompcap.zones; one other than UTC is told by its offset.
    """
    if ns is None:
        return NOTHING
    when = (_EPOCH + timedelta(microseconds=int(ns) // 1000)).astimezone(zones.current()).isoformat(" ", "microseconds")
    time, offset = when[:26], when[26:]
    return (time[: digits - 6 or None] if digits else time[:-7]) + ("" if zones.is_utc() else offset)


def stamp(ns: float | None, digits: int = 3) -> str:
    """A moment that stands alone: UTC is named too."""
    return moment(ns, digits) + (" UTC" if ns is not None and zones.is_utc() else "")


def offset_ms(ns: float) -> float:
    """How far the clocks of the zone that is shown are ahead of UTC at a moment."""
    ahead = (_EPOCH + timedelta(microseconds=int(ns) // 1000)).astimezone(zones.current()).utcoffset()
    return 0 if ahead is None else ahead / timedelta(milliseconds=1)


def iso(ns: int | None) -> str | None:
    """A moment in ISO 8601, to the microsecond; None as it is."""
    return None if ns is None else moment(ns, 6).replace(" ", "T") + ("Z" if zones.is_utc() else "")


def endpoint(address: str | None, port: int | None) -> str:
    """An address and its port; IPv6 addresses in brackets."""
    if address is None:
        return NOTHING
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
