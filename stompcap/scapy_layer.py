"""STOMP as a layer of scapy: `from stompcap.scapy_layer import STOMP`.

    STOMP(command="SEND", headers=[("destination", "/queue/a")], body=b"hello").show()
    sniff(offline="trace.pcap", session=TCPSession, prn=lambda packet: packet.show())

A frame is one STOMP layer, the EOLs between two frames (heart-beats too) are one STOMPEOL; further ones are the payload. An incomplete
frame is Raw. Importing this module binds both to the ports of `stompcap.options`; `bind` adds others.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from scapy.config import conf
from scapy.fields import Field, StrField
from scapy.layers.inet import TCP
from scapy.packet import Packet, Padding, bind_bottom_up, bind_layers

from stompcap.options import STOMP_PORTS
from stompcap.stomp.grammar import ESCAPES, HANDSHAKE, NAMES
from stompcap.stomp.single_values import without_secrets
from stompcap.tables.words import VERSIONS

Headers = list[tuple[str, str | None]]

RAW = frozenset(NAMES[code] for code in HANDSHAKE)  # commands whose headers are never escaped
COMMAND_LINE = re.compile(rb"[A-Za-z][A-Za-z0-9._-]{0,63}[ \t]*\r?\n")  # stompcap.stomp.grammar.COMMAND_OCTET; unknown ones are frames too
BLANK_LINE = re.compile(rb"\n\r?\n")
EOLS = re.compile(rb"[\r\n]*\n")
MOST_OCTETS = 1 << 30
"""Of a body: a larger content-length is not waited for."""
LENGTH = re.compile(rb"\ncontent-length:[ \t]*([0-9]{1,18})[ \t]*\r?\n")


def frame_end(data: bytes) -> int:
    """Where the frame at the beginning ends, behind its NUL; -1 where more octets are needed.

    content-length counts where a NUL is behind so many octets of body, else the first NUL (STOMP 1.2, Body and Augmented BNF).
    """
    blank, nul = BLANK_LINE.search(data), data.find(b"\0")
    if blank is None or 0 <= nul < blank.start():
        return nul + 1 or -1
    end = declared_end(data)
    if end >= len(data):
        return -1
    if end >= 0 and not data[end]:
        return end + 1
    return data.find(b"\0", blank.end()) + 1 or -1


def declared_end(data: bytes) -> int:
    """Where the NUL must be by content-length; -1 where there is none that is believed, or the head is incomplete."""
    blank = BLANK_LINE.search(data)
    declared = LENGTH.search(data, 0, blank.end()) if blank else None
    return blank.end() + int(declared[1]) if blank and declared and int(declared[1]) <= MOST_OCTETS else -1


def _table(packet: Any) -> dict[str, str]:
    """What follows a backslash, and the character that both stand for, in the headers of this frame."""
    return {} if packet.getfieldval("command").upper() in RAW else ESCAPES[VERSIONS.index(packet.version)]


def _keeps_cr(packet: Any) -> bool:
    """Whether a CR at a line's end belongs to the value: 1.0 and 1.1 end lines in LF only."""
    return packet.version != "1.2" and packet.getfieldval("command").upper() not in RAW


def _unescaped(text: str, table: dict[str, str]) -> str:
    return re.sub(r"\\(.)", lambda found: table.get(found[1], found[0]), text, flags=re.DOTALL) if table else text


class AboutField(Field[Any, Any]):
    """What is known of a frame without octets of its own: its version, its EOL."""

    def addfield(self, pkt: Any, s: bytes, val: Any) -> bytes:
        """No octets."""
        return s


class VersionField(AboutField):
    """The session's version: the one given, else that of the frame before in the same octets, else 1.2."""

    def getfield(self, pkt: Any, s: bytes) -> tuple[bytes, Any]:
        """It is not in the octets."""
        before = pkt.underlayer
        while isinstance(before, STOMPEOL):
            before = before.underlayer
        inherited = before.agreed() if isinstance(before, STOMP) else self.default
        return s, pkt.fields.get(self.name, inherited)


class EOLField(AboutField):
    """The EOL of a frame's lines, as its first line has it."""

    def getfield(self, pkt: Any, s: bytes) -> tuple[bytes, bytes]:
        """CRLF or LF."""
        line = s[: s.find(b"\n") + 1]
        return s, b"\r\n" if line.endswith(b"\r\n") else b"\n"


class CommandField(Field[Any, Any]):
    """The command line."""

    def addfield(self, pkt: Any, s: bytes, val: Any) -> bytes:
        """The command and an EOL."""
        line: bytes = val.encode("utf-8", "surrogateescape")
        return s + line + bytes(pkt.eol)

    def getfield(self, pkt: Any, s: bytes) -> tuple[bytes, str]:
        """The first line."""
        line, _, rest = s.partition(b"\n")
        return rest, line.removesuffix(b"\r").decode("utf-8", "surrogateescape")

    def i2repr(self, pkt: Any, x: Any) -> str:
        """As text."""
        return repr(x)

    def any2i(self, pkt: Any, x: Any) -> Any:
        """Text, also of octets."""
        return x.decode("utf-8", "surrogateescape") if isinstance(x, bytes) else x


class HeadersField(Field[Any, Any]):
    """Header lines as a list of names and values, unescaped; a line without colon has the value None."""

    islist = 1

    def addfield(self, pkt: Any, s: bytes, val: Any) -> bytes:
        """The lines, escaped, and the blank line."""
        escapes = {ord(plain): "\\" + key for key, plain in _table(pkt).items()}
        eol = bytes(pkt.eol)
        lines = []
        for name, value in val:
            text = name.translate(escapes) if value is None else f"{name.translate(escapes)}:{value.translate(escapes)}"
            own = b"\n" if value is not None and _keeps_cr(pkt) else eol
            lines.append(text.encode("utf-8", "surrogateescape") + own)
        return s + b"".join(lines) + eol

    def getfield(self, pkt: Any, s: bytes) -> tuple[bytes, Headers]:
        """The lines up to the blank one."""
        table, found, keeps_cr = _table(pkt), [], _keeps_cr(pkt)
        while s and s[:1] != b"\0":
            line, _, s = s.partition(b"\n")
            if line in (b"", b"\r"):
                break
            name, colon, value = (line if keeps_cr else line.removesuffix(b"\r")).decode("utf-8", "surrogateescape").partition(":")
            found.append((_unescaped(name, table), _unescaped(value, table) if colon else None))
        return s, found

    def i2len(self, pkt: Any, x: Headers) -> int:
        """The octets of the lines."""
        return len(self.addfield(pkt, b"", x))

    def i2repr(self, pkt: Any, x: Headers) -> str:
        """With secrets masked."""
        return repr([(name, without_secrets(name, value)) for name, value in x])


class BodyField(Field[Any, Any]):
    """The octets between the blank line and the NUL."""

    def addfield(self, pkt: Any, s: bytes, val: Any) -> bytes:
        """The body and the NUL."""
        return s + bytes(val) + b"\0"

    def getfield(self, pkt: Any, s: bytes) -> tuple[bytes, bytes]:
        """By content-length where a NUL follows, else up to the first NUL."""
        declared = next((value for name, value in pkt.headers if name == "content-length" and value is not None), "").strip()
        length = int(declared) if re.fullmatch("[0-9]{1,18}", declared) else -1
        if not 0 <= length < len(s) or s[length]:
            length = s.find(b"\0")
        return s[length + 1 :], s[:length]


class STOMP(Packet):
    """One frame. `version` decides how headers are escaped; `headers` are (name, value) in wire order, none is added.

    As `command` is a method of every packet of scapy, the field is read by getfieldval("command").
    """

    name = "STOMP"
    fields_desc: ClassVar = [
        VersionField("version", "1.2", "0s"),
        EOLField("eol", b"\n", "0s"),
        CommandField("command", "SEND", "s"),
        HeadersField("headers", [], "s"),
        BodyField("body", b"", "s"),
    ]

    def __init__(self, _pkt: bytes = b"", *args: Any, **fields: Any) -> None:
        """As any packet; a version that is given with octets is what they are read by."""
        if _pkt and "version" in fields:
            super().__init__(b"", *args, **fields)
            self.dissect(bytes(_pkt))
        else:
            super().__init__(_pkt, *args, **fields)

    @classmethod
    def dispatch_hook(cls, _pkt: bytes | None = None, *_args: Any, **_kargs: Any) -> Any:
        """STOMPEOL for EOLs, Raw for octets that are no whole frame."""
        if not _pkt:
            return cls
        if EOLS.match(_pkt):
            return STOMPEOL
        return cls if COMMAND_LINE.match(_pkt) and frame_end(_pkt) > 0 else conf.raw_layer

    @classmethod
    def tcp_reassemble(cls, data: bytes, metadata: dict[str, Any], session: dict[str, Any]) -> Any:
        """The first frame or EOLs of a direction's octets, the rest as Padding; None until there is a whole one.

        The version of CONNECTED is kept for the frames after it, in both directions.
        """
        if eols := EOLS.match(data):
            packet: Any = STOMPEOL(eols[0])
            end = eols.end()
        else:
            end = frame_end(data) if data else -1
            if end < 0:
                metadata["tcp_min_len"] = declared_end(data) + 1 or None
                return conf.raw_layer(data) if data and metadata.get("tcp_end") else None
            if cls.dispatch_hook(data[:end]) is not cls:
                return conf.raw_layer(data)
            packet = cls(data[:end], version=session.get("stomp_version", "1.2"))
            if packet.getfieldval("command").upper() == "CONNECTED":
                session["stomp_version"] = packet.agreed()
        return packet / Padding(data[end:]) if end < len(data) else packet

    def guess_payload_class(self, payload: bytes) -> Any:
        """What follows a frame is STOMP too."""
        return STOMP

    def agreed(self) -> str:
        """The version of the frames behind this one: what CONNECTED says, else its own."""
        if self.getfieldval("command").upper() != "CONNECTED":
            return str(self.version)
        negotiated = self.header("version") or "1.0"
        return negotiated if negotiated in VERSIONS else str(self.version)

    def header(self, name: str) -> str | None:
        """The effective value of a header: the first entry."""
        return next((value for known, value in self.headers if known == name), None)

    def mysummary(self) -> str:
        """The command and its destination."""
        destination = self.header("destination")
        return f"STOMP {self.getfieldval('command')}{f' {destination!r}' if destination else ''}"


class STOMPEOL(Packet):
    """EOLs between frames: a heart-beat, or what follows a NUL."""

    name = "STOMP EOL"
    fields_desc: ClassVar = [StrField("eols", b"\n")]

    def extract_padding(self, s: bytes) -> tuple[bytes, None]:
        """All that follows is payload."""
        return s, None

    def do_dissect(self, s: bytes) -> bytes:
        """The EOLs at the beginning."""
        found = EOLS.match(s)
        end = found.end() if found else len(s)
        self.fields["eols"], self.raw_packet_cache = s[:end], s[:end]
        return s[end:]

    def guess_payload_class(self, payload: bytes) -> Any:
        """What follows is STOMP too."""
        return STOMP


def bind(*ports: int) -> None:
    """Read what TCP carries from and to these ports as STOMP; `scapy.packet.split_layers` undoes it."""
    for port in ports:
        bind_bottom_up(TCP, STOMP, sport=port)
        bind_bottom_up(TCP, STOMP, dport=port)


bind(*sorted(STOMP_PORTS))
bind_layers(TCP, STOMP, dport=61613)
