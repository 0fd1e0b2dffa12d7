"""Puts the rows of a flow into the order in which they crossed the wire, as far as headers tell before reassembly.

If times never fall and no packet acknowledges octets that are captured behind it, the order of the captures is right as it is. Other
flows are merged. The packets of each direction of each capture stay in their order. Of those that are next, the earliest is taken, unless
it acknowledges or continues octets that another one brings: then it waits for these. So nothing depends on clocks that differ, files that
start at an earlier time than those before, or neighbours written in the wrong order. Between packets that neither acknowledge nor continue
each other, time decides, then rank of the capture and packet number. Where the clock is known to have stepped between two captures
(stompcap.capture.rotation), all packets of the later one follow those of the other, unless acknowledgements show that both were taken at
the same time.

A silence ends the flow (stompcap.tcp.idle), and merging forgets what was before it, so that cutting captures there changes nothing.
Acknowledged octets that no packet brings are missing from the captures; nothing waits for them. If packets wait for one another, the later
one is a copy, since its octets were acknowledged before it was captured; these octets come first.
"""

from __future__ import annotations

import numpy as np

from stompcap.capture.integers import Int
from stompcap.capture.rotation import SAME_CLOCK
from stompcap.capture.segment_columns import ACK, RST, SYN
from stompcap.columns import I64, Bools
from stompcap.kernel import allocating, callee, inline
from stompcap.tcp.capture_sequences import UNSEEN, Rows, apart, brings, sequences, size_of, stepped
from stompcap.tcp.finality import BLOCK
from stompcap.tcp.idle import LINGER_NS
from stompcap.tcp.state import CLOSE_BY

NEVER = 1 << 62


@callee
def unswapped(chain: I64, rows: Rows) -> None:
    """Put neighbours of one direction of one capture in order of time where they alone stand the other way: no clock was stepped there."""
    for i in range(1, len(chain)):
        before, at = chain[i - 1], chain[i]
        if rows.ts_ns[at] >= rows.ts_ns[before] or rows.capture[at] != rows.capture[before]:
            continue
        ends = i + 1 == len(chain) or rows.ts_ns[chain[i + 1]] >= rows.ts_ns[before]
        begins = i == 1 or rows.ts_ns[chain[i - 2]] <= rows.ts_ns[at]
        if ends and begins and (i + 1 < len(chain) or i > 1):
            chain[i - 1], chain[i] = at, before


@allocating
def steady(begin: Int, lines: I64, count: Int, rows: Rows) -> I64:
    """The time of each row of a flow by a clock that never steps back inside a direction of its sequence of captures.

    Where it did, later times of the sequence are moved by as much, until they are beyond all before them on their own. Where it stepped
    between captures, those of the later one are beyond all of the other in both directions.
    """
    ts_ns, forward, clocks, captures = rows.ts_ns, rows.forward, rows.clocks, rows.capture
    clock = np.full(count, SAME_CLOCK, np.int64)
    found = np.empty(len(lines), np.int64)
    top, tops, shift = np.full(count, -NEVER, np.int64), np.full((count, 2), -NEVER, np.int64), np.zeros(count, np.int64)
    for i in range(len(lines)):
        line, at, side = lines[i], ts_ns[begin + i], 0 if forward[begin + i] else 1
        if line < 0:
            found[i] = -NEVER
            continue
        if at >= top[line]:
            shift[line] = 0
        at += shift[line]
        now = clocks[captures[begin + i]]
        if stepped(clock[line], now) and at < top[line]:
            shift[line] += top[line] - at
            at = top[line]
        clock[line] = now
        if at < tops[line, side]:
            swapped = shift[line] == 0 and recovers(begin + i, tops[line, side], rows)
            if not swapped:
                shift[line] += tops[line, side] - at
                at = tops[line, side]
        found[i] = at
        top[line], tops[line, side] = max(top[line], at), max(tops[line, side], at)
    return found


@inline
def recovers(row: Int, top: Int, rows: Rows) -> bool:
    """Whether the next packet of the same direction and capture is at a time or later."""
    for after in range(row + 1, min(row + 64, len(rows.ts_ns))):
        if rows.capture[after] != rows.capture[row]:
            return False
        if rows.forward[after] == rows.forward[row]:
            return bool(rows.ts_ns[after] >= top)
    return False


@inline
def waits_for(chain: I64, begin: Int, ack: Int, reach: Int, rows: Rows) -> bool:
    """Whether the next packets of a direction, from `begin` on, have octets before `ack`, beyond those it has reached.

    Octets just before `ack` may be missing from the captures. A SYN whose number is behind what the direction has reached begins another
    connection.
    """
    for i in range(begin, min(begin + BLOCK, len(chain))):
        row = chain[i]
        size, left = size_of(np.int64(rows.flags[row]), rows.wire[row]), apart(ack, rows.seq[row])
        if not 0 < left <= CLOSE_BY:
            return False
        if brings(reach, rows.seq[row], size):
            return bool(left <= size or reach == UNSEEN or not rows.flags[row] & SYN)
    return False


@callee
def held_back(row: Int, line: Int, side: Int, heads: I64, chains: I64, edges: I64, reach: I64,
              lines: Int, rows: Rows) -> Int:  # fmt: skip
    """Whether a packet must wait for the next ones: 2 for octets before its own, 1 for octets that it acknowledges, 0 if not."""
    for other in range(lines):
        at = heads[other, side]
        if other == line or at >= edges[2 * other + side + 1]:
            continue
        next_one = chains[at]
        behind = apart(rows.seq[row], rows.seq[next_one])
        if not -CLOSE_BY < behind < CLOSE_BY:
            continue
        size = size_of(np.int64(rows.flags[next_one]), rows.wire[next_one])
        older_ack = rows.flags[row] & rows.flags[next_one] & ACK and apart(rows.ack[next_one], rows.ack[row]) > 0
        if behind > 0 and not older_ack and (size == 0 or brings(reach[side], rows.seq[next_one], size)):
            return 2
        if behind == 0 and 0 < apart(rows.ack[row], rows.ack[next_one]) < CLOSE_BY and rows.flags[next_one] & ACK:
            return 2
    flags, ack, peer = rows.flags[row], rows.ack[row], 1 - side
    if not flags & ACK or flags & RST:
        return 0
    if reach[peer] != UNSEEN and -CLOSE_BY <= apart(ack, reach[peer]) <= 0:
        return 0
    for other in range(lines):
        stop = edges[2 * other + peer + 1]
        if waits_for(chains[:stop], heads[other, peer], ack, reach[peer], rows):
            return 1
    return 0


@allocating
def merged(begin: Int, end: Int, rows: Rows) -> I64:
    """The rows of a flow in order."""
    lines, count = sequences(begin, end, rows)
    times = steady(begin, lines, count, rows)
    edges, chains = chained(begin, lines, count, rows)
    found, n = np.empty(end - begin, np.int64), 0
    for i in range(len(lines)):
        if lines[i] < 0:
            found[n] = begin + i
            n += 1
    heads, reach = edges[:-1].copy().reshape(count, 2), np.full(2, UNSEEN, np.int64)
    now = NEVER  # no time is behind it
    while n < len(found):
        if silent_since(now, heads, edges, chains, times, begin):
            reach[:] = UNSEEN
        best = latest = forced = np.int64(-1)
        for chain in range(2 * count):
            line, side = chain >> 1, chain & 1
            at = heads[line, side]
            if at >= edges[chain + 1]:
                continue
            row = chains[at]
            if best >= 0 and not earlier(row, chains[best_head(heads, best)], times, begin):
                continue
            why = held_back(row, line, side, heads, chains, edges, reach, count, rows)
            if why == 0:
                best = np.int64(chain)
            if why == 1 and (latest < 0 or earlier(chains[best_head(heads, latest)], row, times, begin)):
                latest = np.int64(chain)
            if why == 2 and (forced < 0 or earlier(row, chains[best_head(heads, forced)], times, begin)):
                forced = np.int64(chain)
        taken = best if best >= 0 else latest if latest >= 0 else forced
        row = chains[best_head(heads, taken)]
        of = taken & 1
        heads[taken >> 1, of] += 1
        found[n] = row
        n += 1
        now = times[row - begin] if now == NEVER else max(now, times[row - begin])
        size = size_of(np.int64(rows.flags[row]), rows.wire[row])
        if brings(reach[of], rows.seq[row], size):
            reach[of] = (rows.seq[row] + size) & 0xFFFFFFFF
        elif reach[of] == UNSEEN and not rows.flags[row] & RST:
            reach[of] = rows.seq[row]
    return found


@inline
def silent_since(now: Int, heads: I64, edges: I64, chains: I64, times: I64, begin: Int) -> bool:
    """Whether all packets that are next come behind a silence."""
    for chain in range(len(edges) - 1):
        at = best_head(heads, chain)
        if at < edges[chain + 1] and times[chains[at] - begin] - now <= LINGER_NS:
            return False
    return True


@inline
def best_head(heads: I64, chain: Int) -> Int:
    """The next row of a direction of a sequence of captures."""
    return heads[chain >> 1, chain & 1]


@inline
def earlier(row: Int, other: Int, times: I64, begin: Int) -> bool:
    """Whether a row is before another by time, then by its number."""
    mine, its = times[row - begin], times[other - begin]
    return bool(mine < its or (mine == its and row < other))


@allocating
def chained(begin: Int, lines: I64, count: Int, rows: Rows) -> tuple[I64, I64]:
    """The rows of each direction of each sequence of captures: (where each begins and the last ends, rows)."""
    edges = np.zeros(2 * count + 1, np.int64)
    for i in range(len(lines)):
        if lines[i] >= 0:
            edges[2 * lines[i] + (0 if rows.forward[begin + i] else 1) + 1] += 1
    for i in range(2 * count):
        edges[i + 1] += edges[i]
    chains, fill = np.empty(edges[2 * count], np.int64), edges.copy()
    for i in range(len(lines)):
        if lines[i] >= 0:
            chain = 2 * lines[i] + (0 if rows.forward[begin + i] else 1)
            chains[fill[chain]] = begin + i
            fill[chain] += 1
    for chain in range(2 * count):
        unswapped(chains[edges[chain] : edges[chain + 1]], rows)
    return edges, chains


@allocating
def crossed(begins: I64, doubtful: Bools, rows: Rows) -> I64:
    """All rows, those of doubtful flows in the order in which they crossed the wire."""
    found = np.arange(len(rows.ts_ns))
    for flow in range(len(begins) - 1):
        if doubtful[flow]:
            found[begins[flow] : begins[flow + 1]] = merged(begins[flow], begins[flow + 1], rows)
    return found
