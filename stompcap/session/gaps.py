"""Where octets are missing: per frame, how many gaps of each direction ended and how many began before it.

The missing octets crossed the wire at some time between the rows around the gap. A delivery or a requested receipt is recorded with the
number of gaps that had ended before its frame. The frame that settles or answers it is compared with the number of gaps that had begun
before it. Equal numbers mean that nothing was missed between the two. A direction whose beginning was not captured lacks octets before
all its frames.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stompcap.codes import CLIENT, GAP, JUNK, PARTIAL, SERVER
from stompcap.columns import I64, Bools, first_above, rising, truth
from stompcap.session.dialogue import CONNECT, CONNECTED, STOMP, Dialogue, RawRows

UNSUBSCRIBING, SUBSCRIBING = len("UNSUBSCRIBE\nid:\n\n\0"), len("SUBSCRIBE\nid:\ndestination:/\n\n\0")  # octets beside the id
LEAST = UNSUBSCRIBING


@dataclass(frozen=True)
class Gaps:
    """Gaps of both directions; arrays of shape (frames, 2) and (sessions, 2), the second index a side code.

    ended, begun  per frame: gaps that had ended, that had begun before it
    lost          per frame: octets before it are missing, or the beginning of the direction is
    missing       per frame: octets before it may be missing: `lost`, or the other side was not captured for long behind it
    total         per session: gaps among all rows of the steps so far
    start         per session: the true beginning of the direction was captured
    hidden        per frame: octets of the client's gaps that had ended, and that had begun, before it, with the frames they cut
    all_hidden    per session: the same for all gaps so far
    """

    ended: I64
    begun: I64
    lost: Bools
    missing: Bools
    total: I64
    start: Bools
    hidden: I64
    all_hidden: I64

    def epoch(self, frames: I64, *, opens: bool) -> I64:
        """Per frame, gaps of both directions: those that ended before it if it `opens` an exchange, else those that began before it."""
        found: I64 = (self.ended if opens else self.begun)[frames].sum(axis=1)
        return found


def find_gaps(dialogue: Dialogue, before: I64, hidden_before: I64, started: Bools, closing: Bools) -> Gaps:
    """The gaps of a step.

    `before` (sessions, 2): gaps of earlier steps; `hidden_before`: octets that those of the client may hide; `started` (sessions, 2): the
    direction began with CONNECT, STOMP or CONNECTED.
    """
    rows, count = dialogue.rows, dialogue.sessions
    gap = np.flatnonzero(rows.kind == GAP)
    first, last = _edges(rows, gap)
    direction = rows.direction[gap]
    first, last = rising(direction, first), rising(direction, last)
    ended, begun, hidden = (np.empty((len(dialogue), 2), np.int64) for _ in range(3))
    holes = _holes(rows, gap)
    for side in (CLIENT, SERVER):
        of = np.flatnonzero(direction % 2 == side)
        ended[:, side] = _passed(dialogue, rows.session[gap[of]], last[of] - 1)
        begun[:, side] = _passed(dialogue, rows.session[gap[of]], first[of])
        if side == CLIENT:
            so_far = np.append(0, np.cumsum(holes[of]))
            base = np.searchsorted(rows.session[gap[of]], dialogue.session)
            for which, passed in enumerate((ended, begun)):
                hidden[:, which] = hidden_before[dialogue.session] + so_far[base + passed[:, side]] - so_far[base]
        ended[:, side] += before[dialogue.session, side]
        begun[:, side] += before[dialogue.session, side]
    all_hidden = hidden_before.copy()
    of = gap[(rows.side[gap] == CLIENT) & ~rows.context[gap]]
    np.add.at(all_hidden, rows.session[of], _holes(rows, of))
    total = before.copy()
    np.add.at(total, (rows.session[gap], rows.side[gap]), (~rows.context[gap]).astype(np.int64))

    present = np.zeros((count, 2), np.bool_)
    present[rows.session, rows.side] = True
    seen = np.stack([truth(dialogue.streams.column(name)) for name in ("syn_seen", "synack_seen")], axis=1)
    start = started | seen
    start[:, CLIENT] &= started[:, CLIENT] | present[:, CLIENT] | ~closing  # a client of which nothing was captured may have sent octets
    has_frames = np.zeros((count, 2), np.bool_)
    has_frames[dialogue.session, dialogue.side] = True
    blind = ~present & has_frames[:, ::-1] & closing[:, None] & ~start
    total += blind
    silent = np.flatnonzero(dialogue.of_rows(rows.peer_unseen))
    other = 1 - dialogue.side[silent]
    begun[silent, other] = ended[silent, other]  # the step takes the frame before it knows of later gaps
    of_server = silent[other == CLIENT]
    hidden[of_server, 1] = hidden[of_server, 0]
    lost = (begun > 0) | ~start[dialogue.session]
    missing = lost.copy()
    missing[silent, other] = True
    return Gaps(ended, begun, lost, missing, total, start, hidden, all_hidden)


def _holes(rows: RawRows, gap: I64) -> I64:
    """Per gap how many octets may hide frames: its own and those of the frames cut by it; 0 if they are too few for a frame."""
    if len(gap) == 0:
        return np.zeros(0, np.int64)
    before, behind = np.maximum(gap - 1, 0), np.minimum(gap + 1, len(rows) - 1)
    torn = rows.follows[gap] & (rows.kind[before] == PARTIAL)
    rest = (behind > gap) & (rows.direction[behind] == rows.direction[gap]) & np.isin(rows.kind[behind], (JUNK, PARTIAL))
    octets = rows.length[gap] + np.where(torn, rows.length[before], 0) + np.where(rest, rows.length[behind], 0)
    return np.where(octets < LEAST, 0, octets)


def greeted(dialogue: Dialogue) -> Bools:
    """Per session and side: the direction begins, at offset 0, with CONNECT, STOMP or CONNECTED."""
    found = np.zeros((dialogue.sessions, 2), np.bool_)
    first = dialogue.offset == 0
    for side, commands in ((CLIENT, (CONNECT, STOMP)), (SERVER, (CONNECTED,))):
        opens = first & (dialogue.side == side) & np.isin(dialogue.command, commands)
        found[dialogue.session[opens], side] = True
    return found


def _edges(rows: RawRows, gap: I64) -> tuple[I64, I64]:
    """Per gap the wire order of the octet before it and of the one behind it; -1 and END where there is none."""
    first = np.where(rows.follows[gap], rows.rising_order[np.maximum(gap - 1, 0)], -1)
    return first, rows.wire_order[gap]


def _passed(dialogue: Dialogue, session: I64, at: I64) -> I64:
    """Per frame, how many events of its session come before it in wire order; events are sorted by session and wire order."""
    if len(session) == 0:
        return np.zeros(len(dialogue), np.int64)
    bounds = np.searchsorted(session, np.arange(dialogue.sessions + 1))
    behind = first_above(dialogue.session, dialogue.wire_order - 1, session, at)
    return np.where(behind < 0, bounds[dialogue.session + 1], behind) - bounds[dialogue.session]
