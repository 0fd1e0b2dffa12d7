"""The first frame of each kind in a session: it decides version and product, and how the session began and ended. States contain it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import CLIENT, SERVER
from stompcap.columns import I64, Bools, coded, flat, integers, spread
from stompcap.session.dialogue import ACK, BEGIN, CONNECT, CONNECTED, DISCONNECT, ERROR, MESSAGE, RECEIPT, SEND, STOMP, SUBSCRIBE, Dialogue
from stompcap.session.gaps import Gaps
from stompcap.session.header_values import header_entries, values_at
from stompcap.tables import TABLES, words

LATEST = "last_error"
KINDS: Mapping[str, tuple[int, tuple[int, ...]]] = {
    "connect": (CLIENT, (CONNECT, STOMP)),
    "connected": (SERVER, (CONNECTED,)),
    "disconnect": (CLIENT, (DISCONNECT,)),
    "error": (SERVER, (ERROR,)),
    LATEST: (SERVER, (ERROR,)),
    "message": (SERVER, (MESSAGE,)),
    "receipt": (SERVER, (RECEIPT,)),
    "send": (CLIENT, (SEND,)),
    "subscribe": (CLIENT, (SUBSCRIBE,)),
    "ack": (CLIENT, (ACK,)),
    "begin": (CLIENT, (BEGIN,)),
}
"""Side and commands of each kind. LATEST is the last such frame, not the first."""
NUMBERS = ("ordinal", "gaps_c2s", "gaps_s2c", "trusted")
FRAMES = [field.with_nullable(True) for field in TABLES["frames"].arrow if field.name != "raw"]
SCHEMA = pa.schema([("kind", pa.string()), *((name, pa.int64()) for name in NUMBERS), *FRAMES])


class OfSessions:
    """The first frame of one kind in each session: columns of one entry per session, -1 or null where it has none.

    `there`: the session has one; `gaps`, shape (sessions, 2): how many gaps ended before it; `trusted`: it is certainly a frame
    (stompcap.session.trust). `at` is its row in `frames`.
    """

    def __init__(self, frames: pa.Table, at: I64, ordinal: I64, gaps: I64, trusted: Bools) -> None:
        self.frames, self.at, self.ordinal, self.gaps, self.trusted = frames, at, ordinal, gaps, trusted
        self.there = at >= 0
        self._index = pa.array(at, mask=at < 0)
        self._columns, self._headers = dict[str, pa.Array](), dict[str, pa.Array]()
        self.first_ns, self.last_ns, self.offset = (integers(self.column(name)) for name in ("first_ns", "last_ns", "stream_offset"))

    def column(self, name: str) -> pa.Array:
        """A column of the table frames."""
        if name not in self._columns:
            self._columns[name] = flat(self.frames.column(name)).take(self._index)
        return self._columns[name]

    def header(self, name: str) -> pa.Array:
        """The effective value of a header."""
        if name not in self._headers:
            present, maps = np.flatnonzero(self.there), flat(self.frames.column("header"))
            self._headers[name] = values_at(maps, spread(len(self.at), present, header_entries(maps, name, self.at[present])))
        return self._headers[name]


def first_frames(dialogue: Dialogue, gaps: Gaps, trusted: Bools, before: pa.Table) -> Mapping[str, OfSessions]:
    """The first frames of all sessions by kind; `before` is the state table with those of earlier steps.

    `trusted` per frame: it is certainly a frame (stompcap.session.trust).
    """
    frames, found = dialogue.frames, {}
    known = coded(before.column("stream_id"), dialogue.ids)
    if before.num_rows:
        frames = pa.concat_tables([_columns(frames), before.select([field.name for field in FRAMES])]).combine_chunks()
    for kind, (side, commands) in KINDS.items():
        row, ordinal, missed = np.full(dialogue.sessions, -1, np.int64), np.full(dialogue.sessions, -1, np.int64), _none(dialogue)
        sure = np.zeros(dialogue.sessions, np.bool_)
        at = dialogue.new(side, *commands)[:: 1 if kind == LATEST else -1]
        session = dialogue.session[at]
        row[session], ordinal[session], missed[session], sure[session] = dialogue.row[at], dialogue.ordinal[at], gaps.ended[at], trusted[at]
        if before.num_rows:
            own = np.flatnonzero((known >= 0) & np.asarray(pc.equal(before.column("kind"), kind)))
            own = own[row[known[own]] < 0] if kind == LATEST else own
            session = known[own]
            sure[session] = integers(before.column("trusted"))[own] == 1
            row[session] = dialogue.frames.num_rows + own
            ordinal[session] = integers(before.column("ordinal"))[own]
            missed[session] = np.stack([integers(before.column(f"gaps_{suffix}"))[own] for suffix in words.DIRECTIONS], axis=1)
        found[kind] = OfSessions(frames, row, ordinal, missed, sure)
    return found


def _none(dialogue: Dialogue) -> I64:
    return np.full((dialogue.sessions, 2), -1, np.int64)


def _columns(frames: pa.Table) -> pa.Table:
    """The columns of frames that the state table contains, in its types."""
    return pa.Table.from_arrays([frames.column(field.name).cast(field.type) for field in FRAMES], schema=pa.schema(FRAMES))


def state(found: Mapping[str, OfSessions], ids: pa.Array, which: Bools) -> pa.Table:
    """The state table of the sessions selected by `which`; `ids` are their stream ids."""
    tables = [SCHEMA.empty_table()]
    for kind, first in found.items():
        session = np.flatnonzero(first.there & which)
        frames = first.frames.take(pa.array(first.at[session]))
        columns = {"kind": pa.repeat(pa.scalar(kind), len(session)), "ordinal": pa.array(first.ordinal[session])}
        columns["trusted"] = pa.array(first.trusted[session].astype(np.int64))
        columns |= {f"gaps_{suffix}": pa.array(first.gaps[session, side]) for side, suffix in enumerate(words.DIRECTIONS)}
        arrays = [columns[field.name] if field.name in columns else frames.column(field.name).cast(field.type) for field in SCHEMA]
        tables.append(pa.Table.from_arrays(arrays, schema=SCHEMA))
    return pa.concat_tables(tables).combine_chunks()
