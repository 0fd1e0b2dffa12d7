"""The case before the rules: the analysed sessions as masks and columns, each computed once for all rules.

Everything here is a whole column at a time. Rules ask by name: `of` for commands, `bits` for what the decoder noticed,
`has` and `lacks` for headers, `distinct` for what takes Python to decide and has few different values.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.places import END
from stompcap.rules import trust
from stompcap.rules.columns import decided, matched, truth, unicode
from stompcap.rules.ends import Ends
from stompcap.rules.record import Units
from stompcap.session.analysis import Analysis
from stompcap.session.dialogue import (
    CLIENT,
    COMMANDS,
    CONNECTED,
    ERROR,
    FRAME,
    I8,
    I32,
    I64,
    JUNK,
    MESSAGE,
    OTHER,
    PARTIAL,
    RECEIPT,
    SERVER,
    Bools,
)
from stompcap.session.wire import integers
from stompcap.settings import Thresholds
from stompcap.stomp.syntax import Syntax
from stompcap.tables import words

TEXTS = (
    "destination", "id", "subscription", "message_id", "ack", "transaction", "receipt", "receipt_id", "content_type",
    "command", "command_raw", "body_preview", "delimited_by",
)  # columns of the table frames; any other name is a header
VALUE_CHARACTERS = 80  # of a quoted value in evidence


class Case:
    """Sessions to be judged.

    d, n, s   dialogue, its annotations, the annotations of sessions
    tables    the tables of the analysis, by name; of sessions that come in pieces what is new, but all of `sessions`
    progress  what of the sessions is new, where they come in pieces; for the engine
    limits    thresholds
    memory    for how many frames names are known (stompcap.session.analysis.Options)
    ends      what is known of the ends of sessions
    frames    the dialogue's frames as units
    rows      the raw rows as units (a gap's time is -1)
    """

    def __init__(self, analysis: Analysis, limits: Thresholds) -> None:
        self.limits = limits
        self.memory = analysis.memory
        self.d = analysis.dialogue
        self.n = analysis.notes
        self.s = analysis.notes.sessions
        self.tables = analysis.tables
        self.progress = analysis.progress
        d, raw = self.d, self.d.rows
        self.frames = Units(d.session, d.side, d.offset, d.at_ns, d.version)
        self.rows = Units(raw.session, raw.side, raw.offset, raw.first_ns, self.s.version[raw.session])
        self.ends = Ends(self.d, self.n)
        self._masks: dict[tuple[str, ...], Bools] = {}

    # frames by what they are

    def none(self) -> Bools:
        """No frame."""
        return np.zeros(len(self.d), bool)

    def of(self, *commands: str) -> Bools:
        """Frames of one of these commands, whatever their case, from the side that may send it (FR-06 has the others)."""
        if commands not in self._masks:
            chosen = np.zeros(OTHER + 1, bool)
            chosen[[COMMANDS.index(command) for command in commands]] = True
            self._masks[commands] = chosen[self.d.command] & ~self.misplaced
        return self._masks[commands]

    @cached_property
    def misplaced(self) -> Bools:
        """Frames whose command belongs to the other side."""
        servers = np.zeros(OTHER + 1, bool)
        servers[[CONNECTED, MESSAGE, RECEIPT, ERROR]] = True
        wrong: Bools = (self.d.command != OTHER) & (servers[self.d.command] != (self.d.side == SERVER))
        return wrong

    def bits(self, facts: Syntax) -> Bools:
        """Frames of which the decoder noticed any of these facts."""
        noticed: Bools = (self.d.syntax & int(facts)) != 0
        return noticed

    @cached_property
    def opening(self) -> Bools:
        """The first CONNECT or STOMP of each session."""
        return self._first(self.s.connect)

    @cached_property
    def greeting(self) -> Bools:
        """The first CONNECTED of each session."""
        return self._first(self.s.connected)

    def _first(self, index: I64) -> Bools:
        mask = self.none()
        mask[index[index >= 0]] = True
        return mask

    @cached_property
    def handshake(self) -> Bools:
        """Frames sent before a version is agreed: CONNECT, STOMP, CONNECTED."""
        return self.of("CONNECT", "STOMP", "CONNECTED")

    @cached_property
    def with_body(self) -> Bools:
        """SEND, MESSAGE and ERROR frames that have a body."""
        return self.of("SEND", "MESSAGE", "ERROR") & (self.d.body_octets > 0)

    @cached_property
    def sized(self) -> Bools:
        """Frames with a content-length header, be it a good one or not."""
        return self.has("content-length")

    @cached_property
    def missed(self) -> Bools:
        """Frames before which octets of their own direction may be missing."""
        return np.where(self.d.side == 0, self.n.missed_c2s, self.n.missed_s2c)

    @property
    def lapse(self) -> I64:
        """Per frame the place behind which nothing is waited for (stompcap.session.horizon); END where the session did not get there."""
        return self.progress.lapse

    @cached_property
    def clear(self) -> I64:
        """Per frame the place by which the other side was captured beyond it: only then `missed_*` says whether octets are missing."""
        c2s, s2c = self.progress.heard
        return np.where(self.d.side == CLIENT, s2c, c2s)

    def place(self, frames: I64) -> I64:
        """Places on the wire of the frames of these indices, END where the index is -1."""
        return np.where(frames >= 0, self.d.position[frames], END) if len(self.d) else np.full(len(frames), END)

    def decided(self, told: I64) -> Bools:
        """Frames that what happened by these places has decided, before their lapse; END is the close."""
        in_time: Bools = (told <= self.lapse) & ((told < END) | self.progress.closing[self.d.session])
        return in_time

    def unseen(self) -> Bools:
        """Frames behind which octets of the server may be missing, as far as what comes behind them is looked at."""
        n, lapsed = self.n, self.lapse < END
        if not lapsed.any():
            return n.missing_later_s2c
        silent = self.progress.heard[SERVER] >= self.lapse
        return np.where(lapsed, silent | (n.gap_later_s2c < self.lapse), n.missing_later_s2c)

    # headers: `among` restricts the look, and the answer, to some frames

    def has(self, name: str, among: Bools | None = None) -> Bools:
        """Frames that have the header, be it empty."""
        return self._among(among, lambda at: truth(self.at(at, name).is_valid()))

    def lacks(self, name: str, among: Bools | None = None) -> Bools:
        """Frames that lack the header or have it empty."""
        return self._among(among, lambda at: ~truth(pc.greater(pc.binary_length(self.at(at, name)), 0)))

    def matches(self, name: str, pattern: str, among: Bools | None = None) -> Bools:
        """Frames whose header matches a regular expression (RE2); false where it is absent."""
        return self._among(among, lambda at: matched(self.at(at, name), pattern))

    def distinct(self, name: str, decide: Callable[[str], bool], among: Bools | None = None) -> Bools:
        """Frames whose header satisfies `decide`, which sees each different value once; false where it is absent."""
        return self._among(among, lambda at: decided(self.at(at, name), decide))

    def _among(self, among: Bools | None, judge: Callable[[I64], Bools]) -> Bools:
        if among is None:
            return judge(self._all)
        answer, at = self.none(), np.flatnonzero(among)
        if len(at):
            answer[at] = judge(at)
        return answer

    @cached_property
    def _all(self) -> I64:
        return np.arange(len(self.d), dtype=np.int64)

    def at(self, index: I64, name: str) -> pa.Array:
        """A header's effective value, or a text column, on the frames of these indices; null where the index is -1."""
        column = name.replace("-", "_")
        if column in TEXTS:
            return self.d.column(column) if index is self._all else self.d.some(column, index)
        if index is self._all:
            return self.d.header(name)
        real = np.flatnonzero(index >= 0)
        if len(real) == len(index):
            return self.d.some_header(name, index)
        place = np.full(len(index), -1, np.int64)
        place[real] = np.arange(len(real))
        return self.d.some_header(name, index[real]).take(pa.array(place, mask=place < 0))

    def of_session(self, name: str) -> pa.Array:
        """A column of the table sessions, one entry per session."""
        column = self.tables["sessions"].column(name)
        return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column

    @cached_property
    def outcome(self) -> I8:
        """What became of CONNECT, per session: index in words.OUTCOMES."""
        return np.asarray(pc.index_in(self.of_session("outcome"), pa.array(words.OUTCOMES))).astype(np.int8)

    def keyed(self, session: I32 | I64, values: pa.Array) -> pa.Array:
        """Values made different per session, to look them up within a session; null stays null."""
        return pc.binary_join_element_wise(pa.array(session).cast(pa.string()), values, " ")

    # raw rows and their neighbours

    @cached_property
    def row_follows(self) -> Bools:
        """Raw rows that have a row before them in their own direction."""
        raw = self.d.rows
        same = np.zeros(len(raw), bool)
        same[1:] = (raw.session[1:] == raw.session[:-1]) & (raw.side[1:] == raw.side[:-1])
        return same

    @cached_property
    def headless(self) -> Bools:
        """Raw rows that have whole lines and then a NUL, but no blank line: frames whose headers never end."""
        lines, nul = int(Syntax.LF_LINE | Syntax.CRLF_LINE), int(Syntax.NUL_IN_HEAD)
        syntax = self.d.rows.syntax
        without_end: Bools = ((syntax & nul) != 0) & ((syntax & lines) != 0)
        return without_end

    @cached_property
    def stray(self) -> Bools:
        """Raw rows that are neither frames, nor heads of frames, nor EOLs, nor gaps."""
        raw = self.d.rows
        cut = (raw.kind == PARTIAL) & ((raw.syntax & int(Syntax.NUL_IN_HEAD)) != 0)
        astray: Bools = ((raw.kind == JUNK) | cut) & ~self.headless
        return astray

    @cached_property
    def frame_of_row(self) -> I64:
        """The frame a raw row of kind frame holds, -1 for other kinds."""
        d, raw = self.d, self.d.rows
        order = np.lexsort((d.offset, d.side, d.session))
        places = np.flatnonzero(raw.kind == FRAME)
        if len(places) != len(order) or not np.array_equal(raw.offset[places], d.offset[order]):
            raise ValueError("raw rows of kind frame and frames are not the same")
        found = np.full(len(raw), -1, np.int64)
        found[places] = order
        return found

    @cached_property
    def row_of_frame(self) -> I64:
        """The raw row that holds each frame."""
        found = np.empty(len(self.d), np.int64)
        places = np.flatnonzero(self.frame_of_row >= 0)
        found[self.frame_of_row[places]] = places
        return found

    @cached_property
    def trusted_rows(self) -> Bools:
        """Raw rows that are surely what they seem (stompcap.rules.trust)."""
        return trust.trusted(self.d.rows)

    @cached_property
    def trusted(self) -> Bools:
        """Frames that surely are frames."""
        return self.trusted_rows[self.row_of_frame]

    @cached_property
    def possible(self) -> I64:
        """Per session the versions that fit what was captured of it, as bits 1 << version: several where it was inferred from little."""
        every, known = (1 << len(words.VERSIONS)) - 1, self.s.version
        told = integers(pc.index_in(self.of_session("possible_versions"), pa.array(words.POSSIBLE_VERSIONS)))
        alone = np.where(known >= 0, 1 << np.maximum(known, 0).astype(np.int64), every)
        return np.where(told >= 0, told + 1, alone)

    @cached_property
    def ambiguous(self) -> Bools:
        """Frames of sessions of which more than one version fits: what is wrong by the version inferred may be right by another."""
        several: Bools = (self.possible & (self.possible - 1)) != 0
        return several[self.d.session]

    # what is said of them

    def say(self, template: str, index: I64) -> pa.Array:
        """The template filled for the frames of these indices; `{name}` is a header, `{body_octets}` a number."""
        pieces: list[pa.Array | pa.Scalar] = []
        for place, piece in enumerate(re.split(r"\{([^{}]+)\}", template)):
            if place % 2 == 0:
                pieces.append(pa.scalar(piece))
            elif piece == "body_octets":
                pieces.append(pa.array(self.d.body_octets[index]).cast(pa.string()))
            else:
                pieces.append(pc.utf8_slice_codeunits(unicode(self.at(index, piece)), 0, VALUE_CHARACTERS))
        if len(pieces) == 1:
            return pa.repeat(pieces[0], len(index))
        return pc.binary_join_element_wise(*pieces, "")

    def lines(self, index: I64, wanted: Callable[[pa.Array, pa.Array], Bools]) -> pa.Array:
        """Per frame the first header line that `wanted` (of names, values) chooses, as name:value; never a passcode."""
        headers = self.d.some("headers", index)
        parents = np.asarray(pc.list_parent_indices(headers))
        flat = pc.list_flatten(headers)
        names, values = pc.struct_field(flat, "name"), pc.struct_field(flat, "value")
        chosen = np.flatnonzero(wanted(names, values) & ~matched(names, r"(?i)^\s*passcode"))
        owners, first = np.unique(parents[chosen], return_index=True)
        place = np.full(len(index), -1, np.int64)
        place[owners] = chosen[first]
        shown = pc.coalesce(pc.binary_join_element_wise(names, values, ":"), unicode(names))
        shown = pc.utf8_slice_codeunits(shown, 0, VALUE_CHARACTERS)
        return pc.fill_null(shown.take(pa.array(place, mask=place < 0)), "")
