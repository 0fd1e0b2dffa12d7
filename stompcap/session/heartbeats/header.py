"""The heart-beat header and what two of them negotiate (STOMP 1.1 and 1.2, "Heart-beating")."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.columns import I64

if TYPE_CHECKING:
    from stompcap.session.firsts import OfSessions


PATTERN = r"^(?P<can>[0-9]{1,18}),(?P<wants>[0-9]{1,18})$"  # two non-negative integers and nothing else; 63 bits at most


def parse(headers: pa.Array) -> tuple[I64, I64]:
    """What each sender can do and what it wants, in milliseconds; 0 and 0 where the header is absent or malformed."""
    found = pc.extract_regex(headers.cast(pa.string()), PATTERN)

    def number(field: str) -> I64:
        digits = pc.struct_field(found, field)
        digits = pc.if_else(pc.fill_null(pc.not_equal(digits, ""), False), digits, "0")
        values: I64 = digits.cast(pa.int64()).to_numpy(zero_copy_only=False)
        return values

    return number("can"), number("wants")


def negotiate(can: I64, wants: I64) -> I64:
    """The interval from a side that can to a side that wants: the larger of the two, 0 if either is 0."""
    return np.where((can > 0) & (wants > 0), np.maximum(can, wants), 0)


def intervals(connect: OfSessions, connected: OfSessions, version: I64) -> tuple[I64, I64, I64]:
    """What client and server can do and want, and what was agreed; milliseconds, each of shape (sessions, 2).

    1.0 knows no heart-beats, whatever the headers say; without CONNECTED nothing is agreed.
    """
    client, server = (np.stack(parse(frame.header("heart-beat")), axis=1) for frame in (connect, connected))
    agreed = np.stack([negotiate(client[:, 0], server[:, 1]), negotiate(server[:, 0], client[:, 1])], axis=1)
    agreed[(version == 0) | ~connected.there] = 0
    return client, server, agreed
