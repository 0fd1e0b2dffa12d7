"""What adds up over a session: frames, gaps, when each side spoke. And what came before each frame, as far as it can be counted."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
import pyarrow as pa

from stompcap.codes import CLIENT, GAP, STALL_CONTROL_FRAME, STALL_RETRANSMISSION
from stompcap.columns import I64, Bools, coded, integers
from stompcap.kernel import kernel
from stompcap.session.dialogue import CONNECT, CONNECTED, DISCONNECT, ERROR, STOMP, SUBSCRIBE, Dialogue
from stompcap.session.layout import Field, Layout, Records
from stompcap.session.wire import directions
from stompcap.stomp.syntax import Syntax
from stompcap.tables import words


class Counters(NamedTuple):
    """What adds up over sessions, as columns of numbers; `_c2s` and `_s2c` are counters of a direction."""

    session: I64
    frames_c2s: Annotated[I64, Field(0)]
    frames_s2c: Annotated[I64, Field(0)]
    gaps_c2s: Annotated[I64, Field(0)]  # gaps of the capture that steps have passed
    gaps_s2c: Annotated[I64, Field(0)]
    greeted_c2s: Annotated[I64, Field(0)]  # it began with a frame that opens it
    greeted_s2c: Annotated[I64, Field(0)]
    leaks_c2s: Annotated[I64, Field(0)]  # a passcode was there
    leaks_s2c: Annotated[I64, Field(0)]
    untrusted_c2s: Annotated[I64, Field(0)]  # its latest rows are not trusted (stompcap.session.trust)
    untrusted_s2c: Annotated[I64, Field(0)]
    spoke_ns_c2s: Annotated[I64, Field()]  # when octets came last
    spoke_ns_s2c: Annotated[I64, Field()]
    connects: Annotated[I64, Field(0)]  # frames by kind
    disconnects: Annotated[I64, Field(0)]
    errors: Annotated[I64, Field(0)]
    subscribes: Annotated[I64, Field(0)]
    nameless: Annotated[I64, Field(0)]  # SUBSCRIBEs without id
    connected_ns: Annotated[I64, Field()]  # when the first CONNECTED was complete
    heard_ns: Annotated[I64, Field()]  # when anything came last before the first ERROR
    given_up: Annotated[I64, Field(0)]  # how much was evicted as unknown (Options.open_limit)
    hidden: Annotated[I64, Field(0, before=0)]  # octets of the client's gaps that may hide frames (stompcap.session.gaps)
    ambiguous: Annotated[I64, Field(0)]  # ACKs that may be cumulative, and nobody knows from which delivery on
    renewed: Annotated[I64, Field(0, before=0)]  # ACKs of deliveries whose subscription may have been renewed
    unread: Annotated[I64, Field(0, before=0)]  # ACKs that name nothing by the version, which is not sure
    needless: Annotated[I64, Field(0, before=0)]  # MESSAGEs with an ack header that ask for no ACK
    sends: Annotated[I64, Field(0, before=-1)]  # SENDs that the broker has counted; -1 where that is not sure (stompcap.session.sends)
    unmeasured: Annotated[I64, Field(0, before=0)]  # durations that were not measurable (stompcap.session.clocks)
    lost_at_c2s: Annotated[I64, Field(before=-1)]  # stream offset of the latest gap
    lost_at_s2c: Annotated[I64, Field(before=-1)]
    again1_ns_c2s: Annotated[I64, Field(before=-1)]  # when octets were retransmitted last
    again1_ns_s2c: Annotated[I64, Field(before=-1)]
    again2_ns_c2s: Annotated[I64, Field(before=-1)]  # the time before that
    again2_ns_s2c: Annotated[I64, Field(before=-1)]
    again3_ns_c2s: Annotated[I64, Field(before=-1)]  # and before that
    again3_ns_s2c: Annotated[I64, Field(before=-1)]
    sign_ns: Annotated[I64, Field(before=-1)]  # when a layer below STOMP gave a sign of life last


COUNTERS = Layout(Counters)


def both(counters: Records, name: str) -> I64:
    """A counter of both directions, shape (sessions, 2)."""
    return np.stack([counters[f"{name}_{suffix}"] for suffix in words.DIRECTIONS], axis=1)


def set_both(counters: Records, name: str, values: I64 | Bools) -> None:
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


@kernel
def _walk(session: I64, side: I64, command: I64, last_ns: I64, earlier: Bools, nameless: Bools, so_far: Counters, found: Before) -> None:
    """Fill `found` frame by frame, and count on; `nameless` marks SUBSCRIBEs without id."""
    last = -1
    client = server = -1
    for i in range(len(session)):
        s = session[i]
        if s != last:
            last, client, server = s, -1, -1
        found.previous[i] = client if side[i] == CLIENT else server
        found.latest_client[i] = client
        found.connects[i], found.disconnects[i], found.errors[i] = so_far.connects[s], so_far.disconnects[s], so_far.errors[s]
        found.subscribes[i], found.nameless[i], found.connected_ns[i] = so_far.subscribes[s], so_far.nameless[s], so_far.connected_ns[s]
        c = command[i]
        if side[i] == CLIENT:
            client = i
        else:
            server = i
        if earlier[i]:
            continue
        if side[i] == CLIENT:
            so_far.connects[s] += c == CONNECT or c == STOMP
            so_far.disconnects[s] += c == DISCONNECT
            so_far.subscribes[s] += c == SUBSCRIBE
            so_far.nameless[s] += nameless[i]
        elif c == CONNECTED and so_far.connected_ns[s] < 0:
            so_far.connected_ns[s] = last_ns[i]
        elif c == ERROR:
            so_far.errors[s] += 1


def follow_counters(dialogue: Dialogue, counters: Records) -> Before:
    """Count the frames and rows of a step; gives what came before each frame."""
    count = len(dialogue)
    subscribes = dialogue.new(CLIENT, SUBSCRIBE)
    ids = dialogue.some("id", subscribes)
    nameless = np.zeros(count, np.bool_)
    nameless[subscribes] = np.asarray(ids.fill_null("")) == ""
    found = Before(*(np.full(count, -1, np.int64) for _ in Before._fields))
    _walk(dialogue.session, dialogue.side, dialogue.command, dialogue.last_ns, dialogue.earlier, nameless, COUNTERS.kernel(counters), found)

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
    rows = np.flatnonzero(~raw.context)
    masked = rows[raw.leaky[rows]]
    leaks[raw.session[masked], raw.side[masked]] = 1
    seen = rows[raw.kind[rows] != GAP]
    np.maximum.at(spoke, (raw.session[seen], raw.side[seen]), raw.last_ns[seen])
    gap, lost = rows[raw.kind[rows] == GAP], both(counters, "lost_at")
    np.maximum.at(lost, (raw.session[gap], raw.side[gap]), raw.offset[gap])
    for name, values in (("frames", frames), ("leaks", leaks), ("spoke_ns", spoke), ("lost_at", lost)):
        set_both(counters, name, values)


def count_heard(dialogue: Dialogue, counters: Records, error_ns: I64) -> None:
    """Count on when either side was heard last before the session's first ERROR (its `first_ns`, -1 where there is none)."""
    raw = dialogue.rows
    seen = np.flatnonzero(~raw.context & (raw.kind != GAP))
    limit = error_ns[raw.session[seen]]
    seen = seen[(limit < 0) | (raw.last_ns[seen] < limit)]
    np.maximum.at(counters["heard_ns"], raw.session[seen], raw.last_ns[seen])


def count_stalls(counters: Records, stalls: pa.Table, ids: pa.Array) -> None:
    """Keep the latest three retransmissions of each direction, and the latest sign of life of a layer below STOMP; `stalls` are new."""
    if stalls.num_rows == 0:
        return
    direction, at = directions(stalls, ids), integers(stalls.column("end_ns"))
    kind = coded(stalls.column("kind"), words.STALLS)
    own = np.flatnonzero((direction >= 0) & (kind == STALL_CONTROL_FRAME))
    np.maximum.at(counters["sign_ns"], direction[own] // 2, at[own])
    own = np.flatnonzero((direction >= 0) & (kind == STALL_RETRANSMISSION))
    names = [f"again{number}_ns" for number in (1, 2, 3)]
    kept = np.stack([both(counters, name).reshape(-1) for name in names])
    of = np.concatenate([np.tile(np.arange(kept.shape[1]), len(names)), direction[own]])
    times = np.concatenate([kept.reshape(-1), at[own]])
    order = np.lexsort((-times, of))
    rank = np.arange(len(order)) - np.searchsorted(of[order], of[order])
    for number, name in enumerate(names):
        set_both(counters, name, times[order[rank == number]].reshape(-1, 2))
