"""Test-only users: each session has a login and passcode of its own, so that a leaked passcode names where it leaked.

They are made from the session's name, thus the same in every recording; they open nothing but a broker on loopback
that lives for a minute.
"""
from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True)
class User:
    """Login and passcode of one session."""

    login: str
    passcode: str


def user_for(session: str) -> User:
    """The user of a session, by its name; the passcode starts with `pc-` and holds 16 hex digits no one else has."""
    broker = session.split("-", 1)[0]
    digest = hashlib.sha256(f"stompcap recorder: {session}".encode()).hexdigest()[:16]
    return User(login=f"u-{session}", passcode=f"pc-{broker}-{digest}")
