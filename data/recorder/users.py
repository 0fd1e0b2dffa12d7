"""Test-only users: each session has its own login and passcode, so that a leaked passcode identifies its session.

They are derived from the session's name, so they are the same in every recording; they are valid only on a loopback broker
that runs for a minute.
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
    """The user of a session, by its name; the passcode starts with `pc-` and has 16 unique hex digits."""
    broker = session.split("-", 1)[0]
    digest = hashlib.sha256(f"stompcap recorder: {session}".encode()).hexdigest()[:16]
    return User(login=f"u-{session}", passcode=f"pc-{broker}-{digest}")
