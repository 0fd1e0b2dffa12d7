"""The time zone in which a command shows times: UTC, unless another was asked for. Tables and the times in JSON's `_ns` know none."""

from __future__ import annotations

import os
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, available_timezones

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCAL = "local"
_LOCALTIME = "/etc/localtime"
_CURRENT: ContextVar[tzinfo] = ContextVar("zone", default=UTC)


def current() -> tzinfo:
    """The zone in which times are shown."""
    return _CURRENT.get()


def name() -> str:
    """Its name."""
    return str(current())


def is_utc() -> bool:
    """Whether it is UTC, whose times need no offset."""
    return name() == "UTC"


@contextmanager
def showing(zone: tzinfo) -> Iterator[None]:
    """Show times in this zone."""
    before = _CURRENT.set(zone)
    try:
        yield
    finally:
        _CURRENT.reset(before)


def find(text: str) -> tzinfo:
    """The zone of an IANA name in any case, or `local`: that of this machine. Raises ValueError where there is none."""
    if text.upper() == "UTC":
        return UTC
    if text.lower() == LOCAL:
        return _local()
    exact = {one.lower(): one for one in available_timezones()}.get(text.lower())
    if exact is None:
        raise ValueError("not a time zone; give an IANA name such as Europe/Berlin, or local")
    return ZoneInfo(exact)


def _local() -> tzinfo:
    """The zone that TZ names, else the one that the system's local time is a link to; UTC where there is neither, as in C."""
    named = os.environ.get("TZ")
    if named is None:
        resolved = os.path.realpath(_LOCALTIME)
        named = resolved.rpartition("/zoneinfo/")[2] if os.path.exists(_LOCALTIME) else "UTC"
    named = named.removeprefix(":") or "UTC"
    if named.lower() == LOCAL or named not in available_timezones():
        raise ValueError("this machine does not name its time zone; give an IANA name such as Europe/Berlin")
    return find(named)
