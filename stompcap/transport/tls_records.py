"""Where the records of TLS are in the octets of a direction (RFC 8446, 5.1; RFC 5246, 6.2.1), also behind octets that are missing."""

from __future__ import annotations

from stompcap.columns import I64, Octets
from stompcap.kernel import inline, kernel

CHANGE_CIPHER_SPEC, ALERT, HANDSHAKE, APPLICATION_DATA, HEARTBEAT = range(20, 25)
"""Content types (RFC 8446, 5.1; RFC 6520)."""

HEAD = 5
LONGEST = (1 << 14) + 2048
"""Octets of a protected record in TLS 1.2; those of TLS 1.3 have fewer."""

SHORTEST = 16
"""Octets of a protected record, its head left out, that are the fewest in any suite but those with short tags."""

FULL, MORE, BROKEN = range(3)
"""Why a walk ended: no room, the next record is not whole, or what follows is no head."""


@inline
def is_head(octets: Octets, at: int) -> bool:
    """Whether a record's head may be there: a type, a version up to TLS 1.2's, a length."""
    kind, length = octets[at], octets[at + 3] << 8 | octets[at + 4]
    return bool(CHANGE_CIPHER_SPEC <= kind <= HEARTBEAT and octets[at + 1] == 3 and octets[at + 2] <= 4 and length <= LONGEST)


@kernel
def heads(octets: Octets, at: int, kinds: I64, begins: I64, lengths: I64) -> tuple[int, int, int]:
    """Fill in the whole records from `at` on, begins being those of their bodies: (records, next offset, why it ended)."""
    count, end = 0, len(octets)
    while count < len(begins):
        if at + HEAD > end:
            for k in range(at, end):  # as much of a head as there is
                if (k == at and not CHANGE_CIPHER_SPEC <= octets[k] <= HEARTBEAT) or (k == at + 1 and octets[k] != 3):
                    return count, at, BROKEN
            return count, at, MORE
        if not is_head(octets, at):
            return count, at, BROKEN
        length = int(octets[at + 3]) << 8 | int(octets[at + 4])
        if at + HEAD + length > end:
            return count, at, MORE
        kinds[count], begins[count], lengths[count] = octets[at], at + HEAD, length
        count += 1
        at += HEAD + length
    return count, at, FULL


@kernel
def find_head(octets: Octets, at: int) -> tuple[int, bool]:
    """Where from `at` on a protected record may begin, and whether all of it is there: `17 03 03` with a length that leads to another head.

    Where the octets end before this is known, it is undecided: the first such place is returned. Chance is excluded by the tag alone.
    """
    end = len(octets)
    while at + HEAD <= end:
        if octets[at] == APPLICATION_DATA and octets[at + 1] == 3 and octets[at + 2] == 3:
            length = int(octets[at + 3]) << 8 | int(octets[at + 4])
            behind = at + HEAD + length
            if SHORTEST <= length <= LONGEST:
                if behind == end:
                    return at, True
                if behind + HEAD > end:
                    return at, False
                if is_head(octets, behind):
                    return at, True
        at += 1
    return at, False
