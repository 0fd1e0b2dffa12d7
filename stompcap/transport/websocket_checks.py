"""How the sides of a WebSocket keep to RFC 6455, from what is kept of the connection.

A mistake counts where the frames from the beginning of the direction up to it are known; that there was none, where all frames are. A hole
within a payload hides no frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stompcap.codes import NOBODY
from stompcap.columns import I64
from stompcap.transport import websocket_frames as frames
from stompcap.transport.checks import Check
from stompcap.transport.websocket_state import first_close

UTF8 = "utf8"
MASK, RESERVED, LENGTH, CONTROL, FRAGMENTS, AFTER_CLOSE, CLOSE_CODE, CLOSE_ANSWER, ACCEPT, SUBPROTOCOL, VERSION = (
    "mask", "reserved", "length", "control", "fragments", "after_close", "close_code", "close_answer", "accept", "subprotocol", "version",
)  # fmt: skip
OF_NOTE = {
    frames.WRONG_MASK: MASK, frames.BEHIND_CLOSE: AFTER_CLOSE, frames.LONG_FORM: LENGTH, frames.LARGE_CONTROL: CONTROL,
    frames.SPLIT_CONTROL: CONTROL, frames.NOTHING_TO_CONTINUE: FRAGMENTS, frames.NOT_CONTINUED: FRAGMENTS, frames.WRONG_BIT: RESERVED,
}  # fmt: skip
"""What is broken where stompcap.transport.websocket_frames notes something."""

NOT_SENT = frozenset((1004, 1005, 1006, 1015))
"""Close codes that no Close may have (7.4.1); those below 1000 and from 5000 on mean nothing (7.4.2)."""


def may_be_sent(octets: int, code: int) -> bool:
    """Whether a Close may have a payload of so many octets that begins with this code (5.5.1)."""
    return octets >= 2 and 1000 <= code < 5000 and code not in NOT_SENT


def of_handshake(said: Mapping[str, Any]) -> list[Check]:
    """How the server's answer keeps to what was asked for (4.2.2)."""
    answer, client, columns = said.get("answer"), said["client"], said["columns"]
    if not answer or client == NOBODY:
        return []
    server, (ts_ns, accepted) = 1 - client, answer
    found = []
    if accepted is not None:
        seen = "" if accepted else "Sec-WebSocket-Accept does not answer the key"
        found.append(Check(ACCEPT, server, "kept" if accepted else "broken", 0, ts_ns, seen))
    if chosen := columns.get("subprotocol"):
        asked = [one for one in (columns.get("subprotocols_asked") or "").split(", ") if one]
        hidden = "*" in chosen or (columns.get("http_path") is None and not asked)  # the request was not captured
        outcome = "unknown" if hidden else "kept" if chosen in asked else "broken"
        seen = f"{chosen} of {', '.join(asked) or 'none'}" if outcome == "broken" else ""
        found.append(Check(SUBPROTOCOL, server, outcome, 0, ts_ns, seen))  # type: ignore[arg-type]
        found.append(Check(VERSION, server, "unknown" if "*" in chosen else "kept", 0, ts_ns, chosen))
    return found


def of_frames(said: Mapping[str, Any], state: I64, lost: tuple[int, int]) -> list[Check]:
    """How the frames of both sides keep to sections 5, 7 and 8; `state` is that of stompcap.transport.websocket_frames.

    `lost` are the units of each side that were not read whole.
    """
    found = []
    for side in (0, 1):
        s, blind, broken = state[side], said["blind"][side], said["broken"][side]
        if not s[frames.FRAMES] and not broken:
            continue
        there = dict.fromkeys((MASK, RESERVED, LENGTH, FRAGMENTS), True)
        there |= {CONTROL: s[frames.CONTROLS] > 0, AFTER_CLOSE: s[frames.CLOSED] > 0}
        for what, any_ in there.items():
            if what in broken:
                found.append(Check(what, side, "broken", *broken[what]))
            elif any_:
                found.append(Check(what, side, "unknown" if blind else "kept"))
        if UTF8 in broken:
            found.append(Check(UTF8, side, "broken", *broken[UTF8]))
        elif (text := said.get("text", (None, None))[side]) and text[2]:
            found.append(Check(UTF8, side, "unknown" if blind or lost[side] else "kept"))
        if (close := said["closes"][side]) and close[4] and close[2]:
            offset, ts_ns, octets, code, _ = close
            fine = may_be_sent(octets, code)
            found.append(Check(CLOSE_CODE, side, "kept" if fine else "broken", offset, ts_ns, f"{code}" if octets > 1 else "one octet"))
        found += _answered(said, state, side)
    return found


def _answered(said: Mapping[str, Any], state: I64, side: int) -> list[Check]:
    """Whether a side answers the other's Close (5.5.1); `broken` says that it has not so far."""
    first, close = first_close(said)[0], said["closes"][1 - side]
    if first != 1 - side or not close or not close[4]:
        return []
    answered = bool(state[side][frames.CLOSED])
    return [Check(CLOSE_ANSWER, side, "kept" if answered else "unknown" if said["blind"][side] else "broken", 0, close[1])]
