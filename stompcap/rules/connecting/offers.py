"""What a client offers and a server chooses: the small grammar of accept-version, each different value read once."""

from __future__ import annotations

import re
from itertools import pairwise

KNOWN = ("1.0", "1.1", "1.2")
TOKEN = re.compile(r"\d+\.\d+")


def offered(accept: str) -> tuple[str, ...]:
    """The versions of an accept-version header, blanks forgiven; what is no version is left out."""
    return tuple(token for token in (part.strip() for part in accept.split(",")) if TOKEN.fullmatch(token))


def number(version: str) -> tuple[int, int]:
    """A version as something to compare."""
    major, _, minor = version.partition(".")
    return int(major), int(minor)


def offers_new(accept: str) -> bool:
    """Whether a version above 1.0 is offered."""
    return any(number(version) > (1, 0) for version in offered(accept))


def well_formed(accept: str) -> bool:
    """Digits, point, digits, between commas; no blanks."""
    return all(TOKEN.fullmatch(part) for part in accept.split(","))


def incrementing(accept: str) -> bool:
    """Whether each version is higher than the one before it."""
    numbers = [number(version) for version in offered(accept)]
    return all(low < high for low, high in pairwise(numbers))


def offers_known(accept: str) -> bool:
    """Whether a version that exists is offered."""
    return any(version in KNOWN for version in offered(accept))


def chosen_is_offered(pair: str) -> bool:
    """Of "accept-version;version" (no accept-version: 1.0 only): whether the version is on the list."""
    accept, _, version = pair.partition(";")
    return version.strip() in (offered(accept) or ("1.0",))


def chosen_is_highest(pair: str) -> bool:
    """Of "accept-version;version": whether no higher version is on the list."""
    accept, _, version = pair.partition(";")
    if not TOKEN.fullmatch(version.strip()):
        return False
    return all(number(version.strip()) >= number(other) for other in offered(accept))
