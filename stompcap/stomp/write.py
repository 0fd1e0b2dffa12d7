r"""Frames to octets: as the specifications require, or as they were parsed.

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
    """Which text replaces which character in the headers of a frame, as `str.translate` takes it."""
    if command.upper() in RAW:
        return {}
    table = ESCAPES[words.VERSIONS.index(version or "1.2")]
    return {ord(plain): "\\" + key for key, plain in table.items()}


def write_frame(
    command: str, headers: Iterable[tuple[str, str]] = (), body: bytes = b"", version: str | None = "1.2", eol: bytes = b"\n"
) -> bytes:
    r"""A frame as that version requires: with its escapes; no header is added.

    Raises:
        ValueError: for what the frame cannot contain: an LF or a NUL in a header of a version or command without escapes, a colon in
            such a name, an empty name; another version or EOL.

    >>> write_frame("SEND", [("destination", "/queue/a:b")], b"hello")
    b'SEND\ndestination:/queue/a\\cb\n\nhello\x00'
    """
    if eol not in (b"\n", b"\r\n"):
        raise ValueError("the EOL must be LF or CRLF")
    escapes = _escapes(command, version)
    lines = [command]
    for name, value in headers:
        line_name, line_value = name.translate(escapes), value.translate(escapes)
        if not name or ":" in line_name or any(c in line_name + line_value for c in "\n\0"):
            raise ValueError(f"a {command} of STOMP {version} cannot contain the header {name!r}")
        lines.append(f"{line_name}:{line_value}")
    return b"".join(line.encode() + eol for line in [*lines, ""]) + body + b"\0"


def serialise(frame: Frame) -> bytes:
    r"""The octets of a parsed frame, with its own line ends, order, padding, repeats and length.

    They equal the parsed octets, unless the frame is ambiguous: where undecodable octets were replaced
    (`Syntax.NON_UTF8`), where lines end in both LF and CRLF, where a 1.0 head ends in a line of blanks, and where escapes occur beside
    characters that should have been escaped. Then the result reads alike.

    >>> from stompcap.stomp import parse
    >>> serialise(parse(b"ACK\r\nid:a\\cb\r\n\r\n\x00")[0])
    b'ACK\r\nid:a\\cb\r\n\r\n\x00'
    """
    crlf = bool(frame.syntax & Syntax.CRLF_LINE) and not frame.syntax & Syntax.LF_LINE
    eol = b"\r\n" if crlf else b"\n"
    # without a backslash nothing was escaped, whatever the version requires
    escapes = _escapes(frame.command, frame.version) if frame.syntax & Syntax.BACKSLASH else {}
    kept = frame.version in ("1.0", "1.1") and frame.command not in RAW  # their values include the CR of their line
    parts = [frame.command_raw.encode() + eol]
    for name, value in frame.headers:
        line = name.translate(escapes).encode()
        if value is None:
            parts.append(line + eol)
        else:
            parts.append(line + b":" + value.translate(escapes).encode() + (b"\n" if kept else eol))
    return b"".join(parts) + eol + frame.body + b"\0"
