r"""Frames to octets: as the specifications ask for, or again as they were parsed.

STOMP 1.2 (and 1.1), Augmented BNF and Value Encoding; 1.0 knows no escapes.
"""

from __future__ import annotations

from collections.abc import Iterable

from stompcap.stomp.frames import Frame
from stompcap.stomp.grammar import ESCAPES, HANDSHAKE, NAMES
from stompcap.stomp.syntax import Syntax
from stompcap.tables import words

RAW = frozenset(NAMES[code] for code in HANDSHAKE)  # commands whose headers are never escaped


def _escapes(command: str, version: str | None) -> dict[int, str]:
    """What stands for which character in the headers of a frame, as `str.translate` takes it."""
    if command.upper() in RAW:
        return {}
    table = ESCAPES[words.VERSIONS.index(version or "1.2")]
    return {ord(plain): "\\" + key for key, plain in table.items()}


def write_frame(
    command: str, headers: Iterable[tuple[str, str]] = (), body: bytes = b"", version: str | None = "1.2", eol: bytes = b"\n"
) -> bytes:
    r"""A frame as that version has it: escapes where it knows them; no header is added.

    Raises:
        ValueError: for what the frame cannot hold: an LF or a NUL in a header of a version or command without escapes, a colon in
            such a name, an empty name; another version or EOL.

    >>> write_frame("SEND", [("destination", "/queue/a:b")], b"hello")
    b'SEND\ndestination:/queue/a\\cb\n\nhello\x00'
    """
    if eol not in (b"\n", b"\r\n"):
        raise ValueError("an EOL is LF or CRLF")
    escapes = _escapes(command, version)
    lines = [command]
    for name, value in headers:
        line_name, line_value = name.translate(escapes), value.translate(escapes)
        if not name or ":" in line_name or any(c in line_name + line_value for c in "\n\0"):
            raise ValueError(f"no {command} of STOMP {version} can hold the header {name!r}")
        lines.append(f"{line_name}:{line_value}")
    return b"".join(line.encode() + eol for line in [*lines, ""]) + body + b"\0"


def serialise(frame: Frame) -> bytes:
    r"""The octets of a frame that was parsed, with its own line ends, order, padding, repeats and length.

    They are the same octets as were parsed, where the frame leaves no choice. It leaves one where undecodable octets were replaced
    (`Syntax.NON_UTF8`), where lines end in both ways, where a 1.0 head ends in a line of blanks, and where escapes stand beside
    what should have been escaped: what is written then reads alike.

    >>> from stompcap.stomp import parse
    >>> serialise(parse(b"ACK\r\nid:a\\cb\r\n\r\n\x00")[0])
    b'ACK\r\nid:a\\cb\r\n\r\n\x00'
    """
    crlf = bool(frame.syntax & Syntax.CRLF_LINE) and not frame.syntax & Syntax.LF_LINE
    eol = b"\r\n" if crlf else b"\n"
    # without a backslash nothing was escaped, whatever the version asks for
    escapes = _escapes(frame.command, frame.version) if frame.syntax & Syntax.BACKSLASH else {}
    kept = frame.version in ("1.0", "1.1") and frame.command not in RAW  # their values hold the CR of their line
    parts = [frame.command_raw.encode() + eol]
    for name, value in frame.headers:
        line = name.translate(escapes).encode()
        if value is None:
            parts.append(line + eol)
        else:
            parts.append(line + b":" + value.translate(escapes).encode() + (b"\n" if kept else eol))
    return b"".join(parts) + eol + frame.body + b"\0"
