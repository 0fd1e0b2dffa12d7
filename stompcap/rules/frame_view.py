"""The frames of a step as rules ask for them: by command, by what the decoder noticed, by header.

Everything here is a whole column at a time. `of` chooses by command, `bits` by what the decoder noticed, `has` and `lacks` by header,
`distinct` by what takes Python to decide and has few different values.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import SERVER
from stompcap.columns import I64, Bools, flat, integers, take_or
from stompcap.rules.text_masks import decided, matched, unicode
from stompcap.session.dialogue import COMMANDS, OTHER, Dialogue
from stompcap.stomp import grammar
from stompcap.stomp.syntax import Syntax

TEXTS = (
    "destination", "id", "subscription", "message_id", "ack", "transaction", "receipt", "receipt_id", "content_type",
    "command", "command_raw", "body_preview", "delimited_by",
)  # columns of the table frames; any other name is a header
VALUE_CHARACTERS = 80  # of a quoted value in evidence
BYTES = " bytes"
FEW = 4
"""Where this is the part of the frames that a pattern is looked for in, or less of them, their values are compared as they stand."""
SENT_BY_SERVER = np.append(grammar.FROM_SERVER, False)  # the last is no command that is known


def filled(template: str, count: int, value: Callable[[str], pa.Array]) -> pa.Array:
    """The template with each `{name}` replaced by what `value` has of that name, one entry each, shortened; of 1 it says byte."""
    pieces: list[pa.Array | pa.Scalar] = []
    for number, piece in enumerate(re.split(r"\{([^{}]+)\}", template)):
        if number % 2 == 0:
            rest = piece.removeprefix(BYTES)
            one = number > 0 and rest != piece
            pieces.append(pc.if_else(pc.equal(pieces[-1], "1"), f" byte{rest}", piece) if one else pa.scalar(piece))
        else:
            pieces.append(_shortened(unicode(value(piece))))
    if len(pieces) == 1:
        return pa.repeat(pieces[0], count)
    return pc.binary_join_element_wise(*pieces, "")


def _shortened(texts: pa.Array) -> pa.Array:
    """Texts of VALUE_CHARACTERS at most; mostly all are."""
    longest = pc.max(pc.binary_length(texts)).as_py() or 0
    return texts if longest <= VALUE_CHARACTERS else pc.utf8_slice_codeunits(texts, 0, VALUE_CHARACTERS)


def _column(name: str) -> str:
    """The column of table frames that a header would have."""
    return name.replace("-", "_")


class FrameView:
    """Frames of a dialogue as masks and columns, one entry per frame."""

    def __init__(self, dialogue: Dialogue) -> None:
        self.dialogue = dialogue
        self._masks: dict[tuple[str, ...], Bools] = {}
        self._lengths: dict[str, I64] = {}
        self._coded: dict[str, tuple[pa.Array, I64]] = {}

    def none(self) -> Bools:
        """No frame."""
        return np.zeros(len(self.dialogue), bool)

    def of(self, *commands: str) -> Bools:
        """Frames of one of these commands, whatever their case, from the side that may send it (FR-06 has the others)."""
        if commands not in self._masks:
            picked = np.zeros(OTHER + 1, bool)
            picked[[COMMANDS.index(command) for command in commands]] = True
            self._masks[commands] = picked[self.dialogue.command] & ~self.misplaced
        return self._masks[commands]

    @cached_property
    def misplaced(self) -> Bools:
        """Frames whose command belongs to the other side."""
        dialogue = self.dialogue
        wrong: Bools = (dialogue.command != OTHER) & (SENT_BY_SERVER[dialogue.command] != (dialogue.side == SERVER))
        return wrong

    def bits(self, facts: Syntax) -> Bools:
        """Frames of which the decoder noticed any of these facts."""
        noticed: Bools = (self.dialogue.syntax & int(facts)) != 0
        return noticed

    @cached_property
    def handshake(self) -> Bools:
        """Frames sent before a version is agreed: CONNECT, STOMP, CONNECTED."""
        return self.of("CONNECT", "STOMP", "CONNECTED")

    @cached_property
    def with_body(self) -> Bools:
        """SEND, MESSAGE and ERROR frames that have a body."""
        return self.of("SEND", "MESSAGE", "ERROR") & (self.dialogue.body_octets > 0)

    @cached_property
    def sized(self) -> Bools:
        """Frames with a content-length header, be it a good one or not."""
        return self.has("content-length")

    # headers: `among` restricts the search, and the answer, to some frames

    def has(self, name: str, among: Bools | None = None) -> Bools:
        """Frames that have the header, be it empty."""
        there: Bools = self._length(name) >= 0
        return there if among is None else there & among

    def lacks(self, name: str, among: Bools | None = None) -> Bools:
        """Frames that lack the header or have it empty."""
        lacking: Bools = self._length(name) <= 0
        return lacking if among is None else lacking & among

    def matches(self, name: str, pattern: str, among: Bools | None = None) -> Bools:
        """Frames whose header matches a regular expression (RE2); false where it is absent."""
        if among is not None and FEW * np.count_nonzero(among) < len(among):
            return self._among(among, lambda at: matched(self.at(at, name), pattern))
        values, codes = self._different(name)
        found: Bools = np.append(matched(values, pattern), False)[codes]  # -1 for absent is the last
        return found if among is None else found & among

    def distinct(self, name: str, decide: Callable[[str], bool], among: Bools | None = None) -> Bools:
        """Frames whose header satisfies `decide`, which sees each different value once; false where it is absent."""
        return self._among(among, lambda at: decided(self.at(at, name), decide))

    def _length(self, name: str) -> I64:
        """How many octets the header, or the text column, has on each frame; -1 where it is absent."""
        if name not in self._lengths:
            dialogue, column = self.dialogue, _column(name)
            if column in TEXTS:
                self._lengths[name] = take_or(integers(pc.binary_length(flat(dialogue.frames.column(column)))), dialogue.row)
            else:
                self._lengths[name] = dialogue.header_lengths(name)
        return self._lengths[name]

    def _different(self, name: str) -> tuple[pa.Array, I64]:
        """The different values that a header, or a text column, has, and which of them each frame has; -1 where it is absent."""
        if name not in self._coded:
            coded = self.at(self._all, name).dictionary_encode()
            self._coded[name] = coded.dictionary, integers(coded.indices)
        return self._coded[name]

    def _among(self, among: Bools | None, judge: Callable[[I64], Bools]) -> Bools:
        if among is None:
            return judge(self._all)
        answer, at = self.none(), np.flatnonzero(among)
        if len(at):
            answer[at] = judge(at)
        return answer

    @cached_property
    def _all(self) -> I64:
        return np.arange(len(self.dialogue), dtype=np.int64)

    def at(self, index: I64, name: str) -> pa.Array:
        """A header's effective value, or a text column, on the frames of these indices; null where the index is -1."""
        column = _column(name)
        if column in TEXTS:
            return self.dialogue.column(column) if index is self._all else self.dialogue.some(column, index)
        if index is self._all:
            return self.dialogue.header(name)
        real = np.flatnonzero(index >= 0)
        if len(real) == len(index):
            return self.dialogue.some_header(name, index)
        back = np.full(len(index), -1, np.int64)
        back[real] = np.arange(len(real))
        return self.dialogue.some_header(name, index[real]).take(pa.array(back, mask=back < 0))

    # what is said of them

    def say(self, template: str, index: I64) -> pa.Array:
        """The template filled for the frames of these indices; `{name}` is a header, `{body_octets}` a number."""

        def value(name: str) -> pa.Array:
            return pa.array(self.dialogue.body_octets[index]) if name == "body_octets" else self.at(index, name)

        return filled(template, len(index), value)

    def lines(self, index: I64, wanted: Callable[[pa.Array, pa.Array], Bools]) -> pa.Array:
        """Per frame the first header line that `wanted` (of names, values) chooses, as name:value; never a passcode."""
        headers = self.dialogue.some("headers", index)
        parents = np.asarray(pc.list_parent_indices(headers))
        flat = pc.list_flatten(headers)
        names, values = pc.struct_field(flat, "name"), pc.struct_field(flat, "value")
        picked = np.flatnonzero(wanted(names, values) & ~matched(names, r"(?i)^\s*passcode"))
        owners, first = np.unique(parents[picked], return_index=True)
        line = np.full(len(index), -1, np.int64)
        line[owners] = picked[first]
        texts = pc.coalesce(pc.binary_join_element_wise(names, values, ":"), unicode(names))
        return pc.fill_null(_shortened(texts).take(pa.array(line, mask=line < 0)), "")
