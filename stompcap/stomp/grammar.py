"""The grammar of STOMP as data: commands, who sends them, which have bodies, escapes, names of headers.

No code acts here. Kernels read the arrays at the end, which are derived from the tables above them. Versions are numbered
0 = 1.0, 1 = 1.1, 2 = 1.2. Sources: STOMP 1.0, 1.1 and 1.2, sections Augmented BNF, Value Encoding, Client and Server Frames.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stompcap.codes import V1_0, V1_1
from stompcap.columns import I64, U8

NUL, TAB, LF, CR, SPACE, COLON, BACKSLASH, STAR = 0, 9, 10, 13, 32, 58, 92, 42



@dataclass(frozen=True)
class Command:
    """One command: its name, the side that sends it, the version that introduced it, whether 1.1 and 1.2 allow it a body."""

    name: str
    sender: str
    since: int = V1_0
    body: bool = False


COMMANDS = (
    Command("CONNECT", "client"),
    Command("STOMP", "client", since=V1_1),
    Command("SEND", "client", body=True),
    Command("SUBSCRIBE", "client"),
    Command("UNSUBSCRIBE", "client"),
    Command("ACK", "client"),
    Command("NACK", "client", since=V1_1),
    Command("BEGIN", "client"),
    Command("COMMIT", "client"),
    Command("ABORT", "client"),
    Command("DISCONNECT", "client"),
    Command("CONNECTED", "server"),
    Command("MESSAGE", "server", body=True),
    Command("RECEIPT", "server"),
    Command("ERROR", "server", body=True),
)
NAMES = tuple(c.name for c in COMMANDS)
CONNECT, STOMP, SEND, SUBSCRIBE, UNSUBSCRIBE, ACK, NACK, BEGIN, COMMIT, ABORT, DISCONNECT = range(11)
CONNECTED, MESSAGE, RECEIPT, ERROR = range(11, 15)
UNKNOWN_COMMAND = -1

HANDSHAKE = (CONNECT, STOMP, CONNECTED)
"""Frames whose headers are never unescaped, and whose line ends no version governs yet (1.2, Value Encoding and Connecting)."""

COMMAND_LIMIT = 64
"""Longest line that may be a command line; the known ones have at most 11 octets."""

ESCAPES: tuple[dict[str, str], ...] = (
    {},
    {"n": "\n", "c": ":", "\\": "\\"},
    {"n": "\n", "c": ":", "\\": "\\", "r": "\r"},
)
"""By version: the octet behind the backslash and the character that both stand for."""

PROMOTED = (
    "destination", "id", "subscription", "message-id", "ack", "transaction", "receipt", "receipt-id", "content-type",
    "content-length",
)
"""Headers with a column of their own in `frames`, in the order of the columns."""

STRUCTURAL = (
    *PROMOTED, "accept-version", "heart-beat", "host", "login", "message", "passcode", "server", "session", "version",
)
"""All headers that the specifications name: a repeat with another value is a conflict."""

LENIENT_NAMES = (*STRUCTURAL, "username")
"""Headers that peers of 1.0 match in any case; one of its documents has `username` for `login`."""

UNPADDED = ("ack", "content-length", "heart-beat", "id", "transaction", "receipt", "version", "message")
"""Headers whose padding is a deviation worth a flag (FR-24); other headers may have leading blanks of their own."""

SECRET = "passcode"
MASK = "***"


def pack(words: tuple[str, ...]) -> tuple[U8, I64]:
    """Words as rows of octets, padded with zeros, and their lengths: the form that kernels compare with."""
    lengths = np.array([len(w) for w in words], dtype=np.int64)
    packed = np.zeros((len(words), int(lengths.max())), dtype=np.uint8)
    for row, word in enumerate(words):
        packed[row, : len(word)] = np.frombuffer(word.encode(), dtype=np.uint8)
    return packed, lengths


COMMAND_OCTETS, COMMAND_LENGTHS = pack(NAMES)
LONGEST_COMMAND = int(COMMAND_LENGTHS.max())
BODY_ALLOWED = np.array([c.body for c in COMMANDS])
FROM_SERVER = np.array([c.sender == "server" for c in COMMANDS])
NO_VOTE, VOTE_CLIENT, VOTE_SERVER = 0, 1, -1
"""Roles of a direction's sender; roles add up, so that the sign of a sum shows which one prevails."""
ROLE_OF = np.where(FROM_SERVER, VOTE_SERVER, VOTE_CLIENT)

ESCAPE_VALUES = np.zeros((3, 256), dtype=np.uint8)
for _version, _table in enumerate(ESCAPES):
    for _key, _value in _table.items():
        ESCAPE_VALUES[_version, ord(_key)] = ord(_value)

# octets of a command line: it begins with letters, digits and a few marks may follow, blanks may end it
COMMAND_OCTET = np.zeros(256, dtype=np.bool_)
COMMAND_OCTET[[ord(c) for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."]] = True
