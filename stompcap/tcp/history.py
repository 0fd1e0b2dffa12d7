"""A connection's history in Zeek's letters (conn.log, `history`): each letter once per side, in order; upper case for one side.

One letter is added to Zeek's: `u`, octets marked urgent, which stay in line (RFC 9293, 3.8.5; RFC 6093).
"""

from __future__ import annotations

from collections.abc import Iterable

from stompcap.capture.integers import Int
from stompcap.columns import U8
from stompcap.kernel import callee
from stompcap.tcp.state import HISTORY_BITS, LETTERS, SIDES, WIDTH, State

HISTORY_LETTERS = b"shadfrtwqiu"
H_SYN, H_SYNACK, H_ACK, H_DATA, H_FIN, H_RST, H_AGAIN, H_ZERO, H_MULTI, H_ODD, H_URGENT = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
HISTORY_WIDTH = 2 * len(HISTORY_LETTERS)


@callee
def note(state: State, history: U8, stream: Int, side: Int, letter: Int) -> None:
    """Add a letter to a connection's history, once per side: code in the low bits, side in bit 7."""
    bits = SIDES + side * WIDTH + HISTORY_BITS
    if not state[stream, bits] >> letter & 1:
        state[stream, bits] |= 1 << letter
        history[stream, state[stream, LETTERS]] = letter | side << 7
        state[stream, LETTERS] += 1


def spell(codes: bytes, gaps: Iterable[bool]) -> str:
    """A history as letters: the low endpoint's in upper case; `g` where a side has gaps."""
    letters = [chr(HISTORY_LETTERS[code & 0x7F]) for code in codes]
    words = [letter if code & 0x80 else letter.upper() for letter, code in zip(letters, codes, strict=True)]
    return "".join(words) + "".join(g for g, missing in zip("Gg", gaps, strict=True) if missing)


def history_for(history: str, client: int) -> str:
    """A history with the client's letters in upper case, `client` being its side."""
    return history.swapcase() if client == 1 else history
