"""What `--by` compares: columns of a session that name a client or a broker, and whose side that is."""

from __future__ import annotations

from dataclasses import dataclass

from stompcap.errors import UsageError
from stompcap.options import one_of
from stompcap.tables.words import SIDES

CLIENT, SERVER = SIDES
USER_AGENT = r"/v?([0-9][0-9A-Za-z.+-]{0,30})"
"""The version in a user-agent header, such as stomp.py/8.1: no other header of a client has one."""

BY = {
    "client_product": CLIENT, "client_version": CLIENT, "server_product": SERVER, "server_version": SERVER, "version": "",
}  # fmt: skip
"""What may be named, and the side that it is about; `version` is the protocol's."""


@dataclass(frozen=True)
class Subjects:
    """The columns by which sessions are told apart, the first of which has a value, and the side whose rules are compared."""

    by: tuple[str, ...]
    side: str


def subjects_of(text: str) -> Subjects:
    """From names between commas; raises UsageError for others, or where they are about no side or both."""
    names = tuple(name.strip().lower() for name in text.split(","))
    if wrong := [name for name in names if name not in BY]:
        raise UsageError(f"--by {wrong[0]}: must be {one_of(tuple(BY))}")
    sides = {BY[name] for name in names} - {""}
    if len(sides) != 1:
        raise UsageError(f"--by {text}: compare clients or brokers, such as --by client_product,client_version")
    if len(set(names)) < len(names):
        raise UsageError(f"--by {text}: names a column twice")
    named = next(name for name in names if BY[name])
    return Subjects((named, *(name for name in names if name != named)), sides.pop())
