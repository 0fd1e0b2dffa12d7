"""Whether the text messages of a WebSocket are UTF-8 (RFC 6455, 5.6 and 8.1). Where all octets are ASCII it costs a look at their bits."""

from __future__ import annotations

import codecs

import numpy as np

from stompcap.columns import I64, Bools, Octets
from stompcap.kernel import kernel
from stompcap.transport import websocket_frames as frames

NONE, TEXT, OTHER = range(3)
"""What the message under way is: none, a text of which nothing is missing so far, another."""
KIND, PENDING, SEEN, WITHIN = range(4)
"""What goes on: the message under way, the octet that stands for what its last character lacks, whether there was a text, and whether more
is to come of a frame."""

NO_ASCII = 128
NO_UTF8 = "a text message that is no UTF-8"
ANY_OF_TWO, ANY_OF_THREE, ANY_OF_FOUR = 0xC2, 0xE1, 0xF1
"""First octets behind which any one, two or three others may follow."""


@kernel
def texts(spans: I64, octets: Octets, state: I64, is_text: Bools, begins: Bools) -> int:
    """Mark the spans that are of a text, and those with which a message begins; gives all bits of the texts that lie there."""
    kind, within, after_end, bits = state[KIND], state[WITHIN], state[KIND] == NONE, 0
    for k in range(len(spans)):
        carrier, ends = spans[k, frames.SPAN_KIND], spans[k, frames.SPAN_ENDS]
        if carrier < frames.PLAIN or carrier > frames.UNKNOWN:
            continue
        opcode = spans[k, frames.SPAN_FIRST] & 15
        if not within and (opcode != frames.CONTINUATION or after_end):  # what is continued began with a frame without octets
            begins[k] = True
            kind = TEXT if opcode == frames.TEXT else OTHER
        if kind == TEXT:
            is_text[k], state[SEEN] = True, 1
            if carrier == frames.PLAIN:
                part = octets[spans[k, frames.SPAN_POSITION] : spans[k, frames.SPAN_POSITION] + spans[k, frames.SPAN_LENGTH]]
                for i in range(part.size):
                    bits |= part[i]
        within, after_end = not ends & frames.ENDS_FRAME, ends & frames.ENDS_MESSAGE != 0
        last = OTHER if carrier == frames.SKIPPED or carrier == frames.UNKNOWN else kind
        state[KIND], state[WITHIN] = NONE if after_end else last, within
    return bits


class Text:
    """One direction; `state` is what goes on of it. It has no octet of a message, but what kind of octets may follow."""

    def __init__(self, state: list[int] | None = None) -> None:
        self.state = state or [OTHER, 0, 0, 0]

    def lose(self, *, within: bool) -> None:
        """Something of the message under way is missing; `within`: more is to come of the frame."""
        self.state[KIND], self.state[PENDING], self.state[WITHIN] = OTHER, 0, int(within)

    def follow(self, spans: I64, octets: Octets) -> tuple[Bools, list[int]]:
        """Take the spans of frames; gives whether each is of a text, and those with which a text that lies there proves to be no UTF-8."""
        is_text, begins = np.zeros((2, len(spans)), np.bool_)
        numbers = np.array(self.state)
        bits = texts(spans, octets, numbers, is_text, begins)
        before, self.state = self.state, numbers.tolist()
        if bits < NO_ASCII and not before[PENDING]:
            return is_text, []
        plain = is_text & (spans[:, frames.SPAN_KIND] == frames.PLAIN) & (spans[:, frames.SPAN_LENGTH] > 0)
        wrong = self._wrong(spans, octets, np.flatnonzero(plain), begins[plain])
        if wrong and self.state[KIND] != NONE:
            self.state[KIND] = OTHER
        return is_text, wrong

    def _wrong(self, spans: I64, octets: Octets, which: I64, begins: Bools) -> list[int]:
        """The spans, of these, with which a text proves to be no UTF-8; whether a message begins with each."""
        wrong = []
        for span, anew in zip(which.tolist(), begins.tolist(), strict=True):
            where, count, _, ends = (int(spans[span, column]) for column in range(frames.SPAN_POSITION, frames.SPAN))
            before = bytes([self.state[PENDING]] if self.state[PENDING] and not anew else [])
            reader = codecs.getincrementaldecoder("utf-8")()
            try:
                reader.decode(before + octets[where : where + count].tobytes(), final=bool(ends & frames.ENDS_MESSAGE))
                self.state[PENDING] = standing_for(reader.getstate()[0])
            except UnicodeDecodeError:
                wrong.append(span)
                self.state[PENDING] = 0
        return wrong


def is_utf8(octets: bytes) -> bool:
    """Whether octets are UTF-8."""
    try:
        octets.decode()
    except UnicodeDecodeError:
        return False
    return True


def standing_for(begun: bytes) -> int:
    """The octet behind which the same octets may follow as behind a character that is not whole; 0 for none."""
    if not begun:
        return 0
    first = begun[0]
    if len(begun) > 1:
        return (ANY_OF_TWO, ANY_OF_THREE)[(4 if first >= 0xF0 else 3) - len(begun) - 1]
    if first < 0xE0 or first in (0xE0, 0xED, 0xF0, 0xF4):
        return ANY_OF_TWO if first < 0xE0 else first
    return ANY_OF_THREE if first < 0xF0 else ANY_OF_FOUR
