"""The kernels' numbers as named columns: identity, endpoints, history and counters of connections."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np
import pyarrow as pa

from stompcap import codes
from stompcap.capture.outer import keyed_ids
from stompcap.columns import I8, I32, I64, U8, Bools
from stompcap.tcp import finality as t
from stompcap.tcp import state as s
from stompcap.tcp.history import spell
from stompcap.tcp.results import Sides, Streams


def as_streams(state: I64, letters: U8, tallies: I64, ends: U8, source: str) -> Streams:
    """The states, histories and tallies of connections between `ends` as named columns."""
    n = len(state)
    by_side = tallies.reshape(n, 2, t.TALLIES)
    own = state[:, s.SIDES :].reshape(n, 2, s.WIDTH)
    gap = by_side[:, :, t.OCTETS] - by_side[:, :, t.HAVE]
    sides = Sides(
        octets=by_side[:, :, t.OCTETS].copy(),
        segments=by_side[:, :, t.SEGMENTS].copy(),
        retransmitted_octets=by_side[:, :, t.AGAIN].copy(),
        duplicate_segments=own[:, :, s.COPIES].copy(),
        bad_checksum_segments=own[:, :, s.BAD_SUMS].copy(),
        out_of_order_segments=by_side[:, :, t.OUT_OF_ORDER].copy(),
        gap_octets=gap,
        truncated_octets=by_side[:, :, t.TRUNCATED].copy(),
        stray_segments=by_side[:, :, t.STRAY] + own[:, :, s.STRAYS],
        stray_octets=by_side[:, :, t.STRAYED] + own[:, :, s.STRAYED],
        synced=by_side[:, :, t.SYNCED] != 0,
        fin_ns=np.where(own[:, :, s.FIN_SEEN] != 0, own[:, :, s.FIN_NS], -1),
        rst_ns=np.where(own[:, :, s.RST_NS] != 0, own[:, :, s.RST_NS], -1),
        close_order=np.where(own[:, :, s.CLOSE_NUMBER] != 0, own[:, :, s.CLOSE_ORDER], -1),
    )
    return Streams(
        stream_id=_identified(source, ends, state),
        low=ends[:, :16].copy(),
        low_port=ports(ends, 16),
        high=ends[:, 18:34].copy(),
        high_port=ports(ends, 34),
        first_ns=state[:, s.FIRST_NS].copy(),
        last_ns=state[:, s.LAST_NS].copy(),
        initiator=state[:, s.INITIATOR].astype(np.int8),
        syn_seen=state[:, s.SYN_SEEN] != 0,
        synack_seen=state[:, s.SYNACK_SEEN] != 0,
        history=_histories(letters, state[:, s.LETTERS], gap > 0),
        close_kind=state[:, s.CLOSE_KIND].astype(np.int8),
        closed_by=_closers(state, own),
        rst_by=(state[:, s.RST_BY] - 1).astype(np.int8),
        close_ns=np.where(state[:, s.CLOSE_KIND] == codes.CLOSE_OPEN, -1, state[:, s.CLOSE_NS]),
        first_capture=state[:, s.FIRST_CAPTURE].astype(np.int32),
        first_packet=state[:, s.FIRST_PACKET].copy(),
        outer=state[:, s.OUTER].copy(),
        clock_steps_back=state[:, s.STEPS_BACK].copy(),
        acks_against_time=state[:, s.AGAINST].copy(),
        clock_min_ns=state[:, s.CLOCK_MIN].copy(),
        clock_max_ns=state[:, s.CLOCK_MAX].copy(),
        syn_rtt_ns=_between(state, s.SYN_NS, s.SYNS, s.SYNACK_NS),
        synack_rtt_ns=_between(state, s.SYNACK_NS, s.SYNACKS, s.SHAKEN_NS),
        after_idle=state[:, s.AFTER_IDLE] != 0,
        sides=sides,
    )


def _histories(letters: U8, counts: I64, gaps: Bools) -> list[str]:
    """The histories of connections, of which many are alike; a row has so many letters."""
    octets, width = letters.tobytes(), letters.shape[1]
    columns = zip(range(0, len(octets), width), counts.tolist(), *gaps.T.tolist(), strict=True)
    return [_spelled(octets[at : at + count], low, high) for at, count, low, high in columns]


@lru_cache(maxsize=1 << 12)
def _spelled(codes: bytes, *gaps: bool) -> str:
    return spell(codes, gaps)


def _between(state: I64, since: int, times: int, until: int) -> I64:
    """From a segment of the handshake to its answer; -1 where either was not captured, or the segment came again before (Karn)."""
    passed = state[:, until] - state[:, since]
    return np.where((state[:, times] == 1) & (state[:, since] > 0) & (state[:, until] > 0) & (passed >= 0), passed, -1)


def _closers(state: I64, own: I64) -> I8:
    """Which side closed each connection; nobody where a FIN of the other side may have come before and is not captured.

    That is possible where more of that side was acknowledged, or sent, than was captured. `own` has the columns of the sides.
    """
    closer = state[:, s.CLOSED_BY].astype(np.int8)
    end = np.where(own[:, :, s.DATA_SEEN] != 0, own[:, :, s.DATA_END], own[:, :, s.START])
    beyond = np.maximum(own[:, :, s.SENT], np.where(own[:, :, s.ACK_SEEN] != 0, own[:, :, s.ACKED], 0))
    known = (own[:, :, s.DATA_SEEN] != 0) | (own[:, :, s.SYNCED] != 0)
    unseen = known & (own[:, :, s.FIN_SEEN] == 0) & (beyond > end)
    for side in (codes.LOW, codes.HIGH):
        closer[(closer == side) & unseen[:, 1 - side]] = codes.NOBODY
    return closer


def ports(ends: U8, at: int) -> I32:
    """The port in two columns of the endpoints, big endian."""
    return ends[:, at].astype(np.int32) << 8 | ends[:, at + 1]


def _identified(source: str, ends: U8, state: I64) -> pa.StringArray:
    """The ids of connections, in the order of each flow; notes the number of each among those with the same first time and number."""
    ts_ns, seq, vlans = state[:, s.ORIGIN_NS], state[:, s.ORIGIN_SEQ], keyed_ids(state[:, s.OUTER])
    alike = stream_ids(source, ends, ts_ns, seq, vlans)
    if state[:, s.NUMBER].any() or alike.unique().nbytes < alike.nbytes:
        latest: dict[str, int] = {}
        for row, name in enumerate(alike.to_pylist()):
            state[row, s.NUMBER] = latest[name] = latest[name] + 1 if name in latest else int(state[row, s.NUMBER])
    return stream_ids(source, ends, ts_ns, seq, vlans, state[:, s.NUMBER]) if state[:, s.NUMBER].any() else alike


def stream_ids(source: str, ends: U8, ts_ns: I64, seq: I64, vlans: I64, numbers: I64 | None = None) -> pa.StringArray:
    """20 hexadecimal digits per connection: a hash of the capture point, its endpoints, time and sequence number of its first SYN.

    The hash includes its VLAN ids where these are part of the flow; 0 otherwise. `numbers` tell connections apart of which all this is the
    same, as in captures without times; 0 for the first of them.
    """
    tails = np.stack([ts_ns, seq], axis=1).astype(">i8")
    rows = np.concatenate([ends, tails.view(np.uint8).reshape(len(ends), tails.itemsize * 2)], axis=1)
    width, octets = rows.shape[1], rows.tobytes()
    of_vlans, of_numbers = vlans.tolist(), [0] * len(ends) if numbers is None else numbers.tolist()
    known = hashlib.blake2b(source.encode() + b"\0", digest_size=10)
    digests = []
    for i, (vlan, number) in enumerate(zip(of_vlans, of_numbers, strict=True)):
        digest = known.copy()
        digest.update(octets[i * width : (i + 1) * width])
        if vlan:
            digest.update(vlan.to_bytes(8, "big"))
        if number:
            digest.update(number.to_bytes(4, "big"))
        digests.append(digest.hexdigest())
    return pa.array(digests, pa.string())
