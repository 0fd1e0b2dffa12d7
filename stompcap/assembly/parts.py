"""What assembly hands on: rows by table, and the sessions made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.columns import I64, coded, flat

SESSION_TABLES = ("raw_frames", "frames", "segments", "stalls")  # the rows of a session, beside its stream
HEAVY = ("raw",)  # sessions and rules do not need it
LEARNED = ("spoken", "client", "protocol", "transport", "version", "version_source", "possible")
"""What is learned of a connection from its first octets and frames."""


@dataclass(frozen=True)
class Sessions:
    """Rows of STOMP streams without their octets: what the session machine takes.

    The streams are whole where `upto` is None. Else these are pieces, `streams` with each as far as it is known: `upto` is, per row of
    `streams`, a number in wire order: all later rows have this one or larger ones (stompcap.wire_order.END where it is the last piece).
    """

    streams: pa.Table
    raw_frames: pa.Table
    frames: pa.Table
    segments: pa.Table
    stalls: pa.Table
    upto: I64 | None = None


@dataclass(frozen=True)
class Part:
    """Some rows, by table; and the sessions made of them, if any. `going_on`: ids of streams that later captures may go on with."""

    tables: Mapping[str, pa.Table]
    sessions: Sessions | None = None
    going_on: pa.Array | None = None


def only_stomp(sessions: Sessions) -> Sessions:
    """The rows of the streams that speak STOMP."""
    return only(sessions, pc.equal(sessions.streams.column("protocol"), "stomp"))


def only(sessions: Sessions, which: pa.Array | pa.ChunkedArray) -> Sessions:
    """The rows of the streams for which `which` is true."""
    if pc.all(which).as_py():
        return sessions
    streams = sessions.streams.filter(which)
    names = streams.column("stream_id").combine_chunks()
    rest = {name: (table := getattr(sessions, name)).filter(pc.is_in(table.column("stream_id"), names)) for name in SESSION_TABLES}
    upto = None if sessions.upto is None else sessions.upto[np.asarray(which)]
    return replace(sessions, streams=streams, **rest, upto=upto)


def by_stream(sessions: Sessions) -> Iterator[Sessions]:
    """The sessions one by one, in the order of their streams."""
    ids, upto = flat(sessions.streams.column("stream_id")), sessions.upto
    found = [split(getattr(sessions, name), ids) for name in SESSION_TABLES]
    for at, tables in enumerate(zip(*found, strict=True)):
        own = None if upto is None else upto[at : at + 1]
        yield replace(sessions, streams=sessions.streams.slice(at, 1), **dict(zip(SESSION_TABLES, tables, strict=True)), upto=own)


def split(table: pa.Table, ids: pa.Array) -> list[pa.Table]:
    """The rows of each of these streams; of others none are left."""
    codes = coded(table.column("stream_id"), ids)
    if (np.diff(codes) < 0).any():
        order = np.argsort(codes, kind="stable")
        table, codes = table.take(pa.array(order)).combine_chunks(), codes[order]
    edges = np.searchsorted(codes, np.arange(len(ids) + 1))
    return [table.slice(begin, end - begin) for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)]


def joined(found: Sequence[Mapping[str, pa.Table]]) -> dict[str, pa.Table]:
    """Rows by table, for the tables of the first; of those that not all have, what there is."""
    return {name: pa.concat_tables([tables[name] for tables in found if name in tables]) for name in found[0]}
