"""What adds up over a session: frames, gaps, when each side spoke. And what came before each frame, as far as it can be counted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stompcap.codes import CLIENT, GAP
from stompcap.columns import I64, Bools
from stompcap.kernel import kernel
from stompcap.session.dialogue import CONNECT, CONNECTED, DISCONNECT, ERROR, STOMP, SUBSCRIBE, Dialogue
from stompcap.session.layout import Layout, Records
from stompcap.stomp.syntax import Syntax
from stompcap.tables import words

PER_DIRECTION = {
    "frames": 0, "gaps": 0, "greeted": 0, "leaks": 0, "untrusted": 0, "spoke_ns": -1,
}
LAYOUT = Layout(
    {f"{name}_{suffix}": initial for name, initial in PER_DIRECTION.items() for suffix in words.DIRECTIONS}
    | {
        "connects": 0, "disconnects": 0, "errors": 0, "subscribes": 0, "nameless": 0, "connected_ns": -1, "heard_ns": -1,
        "given_up": 0, "hidden": 0, "ambiguous": 0, "renewed": 0, "unread": 0, "needless": 0, "unmeasured": 0,
    }
)
"""One row per session. Per direction: frames; gaps passed; whether it began with a frame that opens it; whether a passcode was there;
whether its latest rows are not trusted (stompcap.session.trust); when octets came last. Then frames by kind, SUBSCRIBEs
without id, when CONNECTED came, when anything came last before the first ERROR, how much was given up as unknown (Options.open_limit),
how many octets of the client's gaps may hide frames (stompcap.session.gaps), and how many ACKs were ambiguous, named a delivery of a
subscription that may have been renewed, or were not read (deliveries.outstanding.Habits); MESSAGEs with an ack header that ask for no
ACK (`needless`), and how many durations could not be told (stompcap.session.clocks).
"""


def both(counters: Records, name: str) -> I64:
    """A counter of both directions, shape (sessions, 2)."""
    return np.stack([counters[f"{name}_{suffix}"] for suffix in words.DIRECTIONS], axis=1)


def keep(counters: Records, name: str, values: I64 | Bools) -> None:
    """Set a counter of both directions."""
    for side, suffix in enumerate(words.DIRECTIONS):
        counters[f"{name}_{suffix}"] = values[:, side].astype(np.int64)


class Before(NamedTuple):
    """What came before each frame in its session; indices of frames are -1 where there is none."""

    previous: I64
    latest_client: I64
    connects: I64
    disconnects: I64
    errors: I64
    subscribes: I64
    nameless: I64
    connected_ns: I64


class _So(NamedTuple):
    """The counters of sessions that the walk goes on with."""

    connects: I64
    disconnects: I64
    errors: I64
    subscribes: I64
    nameless: I64
    connected_ns: I64


@kernel
def _walk(session: I64, side: I64, command: I64, last_ns: I64, earlier: Bools, nameless: Bools, so: _So, found: Before) -> None:
    """Fill `found` frame by frame; `so` is counted on, `nameless` marks SUBSCRIBEs without id."""
    last = -1
    client = server = -1
    for i in range(len(session)):
        s = session[i]
        if s != last:
            last, client, server = s, -1, -1
        found.previous[i] = client if side[i] == CLIENT else server
        found.latest_client[i] = client
        found.connects[i], found.disconnects[i], found.errors[i] = so.connects[s], so.disconnects[s], so.errors[s]
        found.subscribes[i], found.nameless[i], found.connected_ns[i] = so.subscribes[s], so.nameless[s], so.connected_ns[s]
        c = command[i]
        if side[i] == CLIENT:
            client = i
        else:
            server = i
        if earlier[i]:
            continue
        if side[i] == CLIENT:
            so.connects[s] += c == CONNECT or c == STOMP
            so.disconnects[s] += c == DISCONNECT
            so.subscribes[s] += c == SUBSCRIBE
            so.nameless[s] += nameless[i]
        elif c == CONNECTED and so.connected_ns[s] < 0:
            so.connected_ns[s] = last_ns[i]
        elif c == ERROR:
            so.errors[s] += 1


def follow(dialogue: Dialogue, counters: Records) -> Before:
    """Count the frames and rows of a step; gives what came before each frame."""
    count = len(dialogue)
    subscribes = dialogue.new(CLIENT, SUBSCRIBE)
    ids = dialogue.some("id", subscribes)
    nameless = np.zeros(count, np.bool_)
    nameless[subscribes] = np.asarray(ids.fill_null("")) == ""
    found = Before(*(np.full(count, -1, np.int64) for _ in Before._fields))
    so = _So(*(counters[name] for name in _So._fields))
    _walk(dialogue.session, dialogue.side, dialogue.command, dialogue.last_ns, dialogue.earlier, nameless, so, found)

    _directions(dialogue, counters, np.flatnonzero(~dialogue.earlier))
    return found


def _directions(dialogue: Dialogue, counters: Records, new: I64) -> None:
    """Count per direction."""
    raw = dialogue.rows
    frames, leaks, spoke = (both(counters, name) for name in ("frames", "leaks", "spoke_ns"))
    session, side = dialogue.session[new], dialogue.side[new]
    np.add.at(frames, (session, side), 1)
    secret = (dialogue.syntax[new] & int(Syntax.PASSCODE)) != 0
    leaks[session[secret], side[secret]] = 1
    rows = np.flatnonzero(~raw.beside)
    masked = rows[raw.redacted[rows]]
    leaks[raw.session[masked], raw.side[masked]] = 1
    seen = rows[raw.kind[rows] != GAP]
    np.maximum.at(spoke, (raw.session[seen], raw.side[seen]), raw.last_ns[seen])
    for name, values in (("frames", frames), ("leaks", leaks), ("spoke_ns", spoke)):
        keep(counters, name, values)


def heard(dialogue: Dialogue, counters: Records, error_ns: I64) -> None:
    """When either side was heard last before the session's first ERROR (its `first_ns`, -1 where there is none)."""
    raw = dialogue.rows
    seen = np.flatnonzero(~raw.beside & (raw.kind != GAP))
    limit = error_ns[raw.session[seen]]
    seen = seen[(limit < 0) | (raw.last_ns[seen] < limit)]
    np.maximum.at(counters["heard_ns"], raw.session[seen], raw.last_ns[seen])

