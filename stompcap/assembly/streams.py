"""Rows of the tables streams and stalls: one row per connection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.assembly import addresses
from stompcap.assembly.rows import as_table, constant
from stompcap.capture.outer import encapsulation, vlan_ids
from stompcap.codes import BOTH, STALL_CLOCK_STEP, STALL_CONTROL_FRAME, STALL_RETRANSMISSION, STALL_ZERO_WINDOW
from stompcap.columns import I8, I32, I64, U8, Bools, timestamps, worded
from stompcap.tables import words
from stompcap.tcp import history_for
from stompcap.tcp.results import ClockSteps, Reassembly, Retransmissions, Streams, ZeroWindows
from stompcap.tcp.state import UNBOUNDED
from stompcap.transport.summary import Summary, origin_of


def stream_rows(
    reassembly: Reassembly,
    which: I64,
    client: I8,
    protocol: I8,
    transport: I8,
    octets: I64,
    conflicts: I64,
    final: Bools,
    summaries: Mapping[int, Sequence[Summary]],
    given: I64,
    source: str,
    batch_id: str,
) -> pa.Table:
    """Rows of table streams for the streams `which`; what follows, up to `final`, is of all streams.

    `octets` are what the innermost layer gives, or TCP where there is none, and `given` those of them that can be read, -1 where TCP
    carries STOMP itself; `summaries` are those of the layers of streams that have some.
    """
    s = reassembly.streams
    low_is_client = client[which] == 0
    low, high = addresses.texts(s.low[which]), addresses.texts(s.high[which])
    ends = np.concatenate((s.low[which], _port(s.low_port[which]), s.high[which], _port(s.high_port[which])), axis=1)
    first, last = s.first_ns[which], s.last_ns[which]
    closer = np.where(s.closed_by[which] < 0, -1, np.where(s.closed_by[which] == 2, 2, s.closed_by[which] ^ client[which]))
    resetter = s.rst_by[which]
    rst_ns = np.where(resetter < 0, -1, s.sides.rst_ns[which, np.maximum(resetter, 0)])
    columns: dict[str, pa.Array] = {
        "stream_id": s.stream_id.take(pa.array(which)),
        "source": constant(source, which.size),
        "client_ip": pc.if_else(pa.array(low_is_client), low, high),
        "client_port": pa.array(np.where(low_is_client, s.low_port[which], s.high_port[which])),
        "server_ip": pc.if_else(pa.array(low_is_client), high, low),
        "server_port": pa.array(np.where(low_is_client, s.high_port[which], s.low_port[which])),
        **_origins(which, summaries),
        "community_id": addresses.community_ids(ends),
        "encapsulation": _spelled(s.outer[which], encapsulation),
        "vlan": _spelled(s.outer[which], vlan_ids),
        "transport": worded(transport[which], words.TRANSPORTS),
        "protocol": worded(protocol[which], words.PROTOCOLS),
        "first_ns": pa.array(first),
        "last_ns": pa.array(last),
        "first_ts": timestamps(first),
        "last_ts": timestamps(last),
        "syn_seen": pa.array(s.syn_seen[which]),
        "synack_seen": pa.array(s.synack_seen[which]),
        "history": pa.array([history_for(s.history[i], int(client[i])) for i in which.tolist()], pa.string()),
        "close_kind": worded(s.close_kind[which], words.CLOSE_KINDS),
        "closed_by": worded(closer, words.CLOSERS),
        "rst_by": worded(np.where(resetter < 0, -1, resetter ^ client[which]), words.SIDES),
        "rst_ns": pa.array(rst_ns, mask=rst_ns < 0),
        "asked_by": _asked_by(s, which, client, summaries),
        **_round_trips(s, which),
        "final": pa.array(final[which]),
        "acks_against_time": pa.array(s.acks_against_time[which]),
        "clock_steps_back": pa.array(s.clock_steps_back[which]),
        **_bounds(s.clock_min_ns[which], s.clock_max_ns[which], client[which], s.last_ns[which] > 0),
        "batch_id": constant(batch_id, which.size),
    }
    for index, suffix in enumerate(words.DIRECTIONS):
        side = client[which].astype(np.int64) ^ index
        columns |= _side(reassembly, which, side, suffix, octets, given, conflicts)
    return as_table("streams", columns)


def _asked_by(s: Streams, which: I64, client: I8, summaries: Mapping[int, Sequence[Summary]]) -> pa.Array:
    """Who asked for the end, by the first Close of WebSocket or close_notify of TLS, whichever is next to STOMP, before TCP was closed.

    The other side answers, and either closes TCP behind it: that of WebSocket is closed by the server (RFC 6455, 7.1.1; RFC 8446, 6.1).
    """
    found = dict[int, str]()
    for stream, layers in summaries.items():
        ends = [one for one in layers if one.kind in ("tls", "websocket")]
        if ends and _ended(s, stream, ends[-1]):
            found[stream] = words.SIDES[ends[-1].closed_by ^ int(client[stream])]
    return pa.array([found.get(stream) for stream in which.tolist()], pa.string())


def _ended(s: Streams, stream: int, layer: Summary) -> bool:
    """Whether a layer was closed before TCP was, in wire order."""
    closed, order = s.close_ns[stream] >= 0 and layer.closed_order >= 0, layer.closed_order
    return bool(closed) and all(end < 0 or order <= end for end in s.sides.close_order[stream].tolist())


def _round_trips(s: Streams, which: I64) -> dict[str, pa.Array]:
    """The round trips of the handshake; null where the clocks of the directions differ."""
    compared = (s.clock_min_ns[which] <= 0) & (s.clock_max_ns[which] >= 0)
    return {
        name: pa.array(ns // 1000, mask=(ns < 0) | ~compared)
        for name, ns in (("rtt_client_us", s.synack_rtt_ns[which]), ("rtt_server_us", s.syn_rtt_ns[which]))
    }


def _origins(which: I64, summaries: Mapping[int, Sequence[Summary]]) -> dict[str, pa.Array]:
    """Who opened the connections, where a layer says so."""
    found = [origin_of(summaries[stream]) if stream in summaries else None for stream in which.tolist()]
    return {
        "origin_ip": pa.array([addresses.text(one.address) if one and one.address else None for one in found], pa.string()),
        "origin_port": pa.array([one and one.port for one in found], pa.int32()),
        "origin_source": pa.array([one and one.source for one in found], pa.string()),
    }


def _side(reassembly: Reassembly, which: I64, side: I64, suffix: str, octets: I64, given: I64, conflicts: I64) -> dict[str, pa.Array]:
    """The counters of one direction; `side` is the endpoint that sends it."""
    sides = reassembly.streams.sides
    fin, closed = sides.fin_ns[which, side], sides.close_order[which, side]
    return {
        f"octets_{suffix}": pa.array(octets[which, side]),
        f"inner_gap_octets_{suffix}": pa.array((octets - given)[which, side], mask=given[which, side] < 0),
        f"outer_octets_{suffix}": pa.array(sides.octets[which, side]),
        f"segments_{suffix}": pa.array(sides.segments[which, side]),
        f"retransmitted_octets_{suffix}": pa.array(sides.retransmitted_octets[which, side]),
        f"overlap_conflict_octets_{suffix}": pa.array(conflicts[which, side]),
        f"duplicate_segments_{suffix}": pa.array(sides.duplicate_segments[which, side]),
        f"bad_checksum_segments_{suffix}": pa.array(sides.bad_checksum_segments[which, side]),
        f"out_of_order_segments_{suffix}": pa.array(sides.out_of_order_segments[which, side]),
        f"stray_segments_{suffix}": pa.array(sides.stray_segments[which, side]),
        f"stray_octets_{suffix}": pa.array(sides.stray_octets[which, side]),
        f"gap_octets_{suffix}": pa.array(sides.gap_octets[which, side]),
        f"truncated_octets_{suffix}": pa.array(sides.truncated_octets[which, side]),
        f"fin_ns_{suffix}": pa.array(fin, mask=fin < 0),
        f"close_order_{suffix}": pa.array(closed, mask=closed < 0),
    }


def stall_rows(
    stream_ids: pa.Array,
    closed: ZeroWindows,
    again: Retransmissions,
    signs: Retransmissions,
    steps: ClockSteps,
    which: Bools,
    client: I8,
    batch_id: str,
) -> pa.Table:
    """Rows of table stalls for the streams of a mask: closed windows, retransmissions, signs of life, and steps of clocks."""
    steps = _by_side(steps)
    stream = np.concatenate((closed.stream, again.stream, signs.stream, steps.stream))
    side = np.concatenate((closed.side, again.side, signs.side, steps.side))
    kinds = STALL_ZERO_WINDOW, STALL_RETRANSMISSION, STALL_CONTROL_FRAME, STALL_CLOCK_STEP
    kind = np.repeat(kinds, [one.stream.size for one in (closed, again, signs, steps)])
    begin = np.concatenate((closed.begin_ns, again.ts_ns, signs.ts_ns, steps.ts_ns))
    end = np.concatenate((closed.end_ns, again.ts_ns, signs.ts_ns, steps.ts_ns))
    step = np.maximum(np.arange(len(stream)) - len(stream) + steps.stream.size, -1)  # its index among the steps, -1 for others
    kept = np.flatnonzero(which[stream])
    stream, side, kind, begin, end, step = stream[kept], side[kept], kind[kept], begin[kept], end[kept], step[kept]
    wire_order, least, most = (np.append(values, otherwise)[step] for values, otherwise in (
        (steps.place, 0), (steps.min_ns, -UNBOUNDED), (steps.max_ns, UNBOUNDED),
    ))  # fmt: skip
    columns: dict[str, pa.Array] = {
        "stream_id": stream_ids.take(pa.array(stream)),
        "direction": worded(side ^ client[stream], words.DIRECTIONS),
        "kind": worded(kind, words.STALLS),
        "begin_ns": pa.array(begin),
        "end_ns": pa.array(end),
        "place": pa.array(wire_order),
        **_bounds(least, most, client[stream], begin > 0),
        "batch_id": constant(batch_id, kept.size),
    }
    return as_table("stalls", columns)


def _by_side(steps: ClockSteps) -> ClockSteps:
    """Steps, those of which it is not known whose clock stepped once for either side."""
    both = steps.side == BOTH
    side = np.concatenate((np.where(both, 0, steps.side), np.ones(np.count_nonzero(both)))).astype(np.int8)
    columns = (np.concatenate((values, values[both])) for values in (steps.stream, steps.ts_ns, steps.place, steps.min_ns, steps.max_ns))
    stream, ts_ns, wire_order, least, most = columns
    return ClockSteps(stream, side, ts_ns, wire_order, least, most)


def _bounds(least_ns: I64, most_ns: I64, client: I8, timed: Bools) -> dict[str, pa.Array]:
    """The difference between the directions' clocks, from the high endpoint's less the low one's; whole microseconds, outwards.

    Null where it has no bound, and where nothing is `timed`.
    """
    low_is_client, none = client == 0, least_ns > most_ns
    least, most = np.where(low_is_client, least_ns, -most_ns), np.where(low_is_client, most_ns, -least_ns)
    return {
        "clock_difference_min_us": pa.array(np.where(none, 1, least // 1000), mask=(least == -UNBOUNDED) | ~timed),
        "clock_difference_max_us": pa.array(np.where(none, -1, -(-most // 1000)), mask=(most == UNBOUNDED) | ~timed),
    }


def _spelled(outer: I64, spell: Callable[[int], str | None]) -> pa.Array:
    """What `spell` says of each number, of which there are few different ones."""
    different, which = np.unique(outer, return_inverse=True)
    return pa.array([spell(one) for one in different.tolist()], pa.string()).take(pa.array(which))


def _port(ports: I32) -> U8:
    """Ports as two octets, big endian."""
    return ports.astype(">u2").view(np.uint8).reshape(-1, 2)


