"""Whether the text messages of a WebSocket are UTF-8 (RFC 6455, 5.6 and 8.1). Where all octets are ASCII it costs a look at the largest."""

from __future__ import annotations

import codecs

import numpy as np

from stompcap.columns import I64, Bools, Octets
from stompcap.transport import websocket_frames as frames

NONE, TEXT, OTHER = range(3)
"""What the message under way is: none, a text of which nothing is missing so far, another."""
KIND, PENDING, SEEN, WITHIN = range(4)
"""What goes on: the message under way, the octet that stands for what its last character lacks, whether there was a text, and whether more
is to come of a frame."""

NO_ASCII = 128
NO_UTF8 = "a text message that is no UTF-8"
CARRIERS = frames.PLAIN, frames.PACKED, frames.SKIPPED, frames.UNKNOWN
ANY_OF_TWO, ANY_OF_THREE, ANY_OF_FOUR = 0xC2, 0xE1, 0xF1
"""First octets behind which any one, two or three others may follow."""


class Text:
    """One direction; `state` is what goes on of it. It has no octet of a message, but what kind of octets may follow."""

    def __init__(self, state: list[int] | None = None) -> None:
        self.state = state or [OTHER, 0, 0, 0]

    def lose(self, *, within: bool) -> None:
        """Something of the message under way is missing; `within`: more is to come of the frame."""
        self.state[KIND], self.state[PENDING], self.state[WITHIN] = OTHER, 0, int(within)

    def follow(self, spans: I64, octets: Octets) -> tuple[Bools, list[int]]:
        """Take the spans of frames; gives whether each is of a text, and those with which a text that lies there proves to be no UTF-8."""
        kind, first, ends = (spans[:, column] for column in (frames.SPAN_KIND, frames.SPAN_FIRST, frames.SPAN_ENDS))
        mine = np.flatnonzero(np.isin(kind, CARRIERS))
        is_text = np.zeros(len(spans), np.bool_)
        if not mine.size:
            return is_text, []
        opcode, over = first[mine] & 15, (ends[mine] & frames.ENDS_MESSAGE) != 0
        after_end = np.append(self.state[KIND] == NONE, over[:-1])  # what is continued began with a frame without octets
        whole = (ends[mine] & frames.ENDS_FRAME) != 0
        anew = np.append(not self.state[WITHIN], whole[:-1])
        begins = anew & ((opcode != frames.CONTINUATION) | after_end)
        of = np.where(opcode == frames.TEXT, TEXT, OTHER)
        latest = np.maximum.accumulate(np.where(begins, np.arange(mine.size), -1))
        of = np.where(latest >= 0, of[latest], self.state[KIND])
        is_text[mine] = of == TEXT
        plain = (of == TEXT) & (kind[mine] == frames.PLAIN) & (spans[mine, frames.SPAN_LENGTH] > 0)
        wrong = self._wrong(spans, octets, mine[plain], begins[plain])
        if wrong or kind[mine[-1]] in (frames.SKIPPED, frames.UNKNOWN):
            of[-1] = OTHER
        self.state[KIND] = NONE if over[-1] else int(of[-1])
        self.state[SEEN] |= int(is_text.any())
        self.state[WITHIN] = int(not whole[-1])
        return is_text, wrong

    def _wrong(self, spans: I64, octets: Octets, texts: I64, begins: Bools) -> list[int]:
        """The spans, of these, with which a text proves to be no UTF-8; whether a message begins with each."""
        begin = spans[texts, frames.SPAN_POSITION]
        edges = np.stack([begin, begin + spans[texts, frames.SPAN_LENGTH]], axis=1).reshape(-1)
        within = edges[:-1] if edges.size and edges[-1] == octets.size else edges
        if not self.state[PENDING] and (not within.size or np.maximum.reduceat(octets, within)[::2].max() < NO_ASCII):
            return []
        wrong = []
        for span, anew in zip(texts.tolist(), begins.tolist(), strict=True):
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
