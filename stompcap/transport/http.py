"""Heads of HTTP/1.1 messages (RFC 9112), as far as an upgrade to WebSocket needs them (RFC 6455, 4).

What may be a secret is never kept of them: the query, path parameters (`;jsessionid=`), Authorization, Cookie, and sub-protocols that are
none of STOMP, for tokens are smuggled there.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""What is appended to Sec-WebSocket-Key (RFC 6455, 1.3)."""
LONGEST = 1 << 16
"""Octets of a head; servers refuse heads an eighth as long."""
END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
REQUEST = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}) (\S+) HTTP/1\.([01])\Z")
ANSWER = re.compile(rb"HTTP/1\.([01]) ([0-9]{3})(?: .*)?\Z")
FIRST_LETTERS = re.compile(rb"[A-Z]{0,10}(?: \S*)?\Z|HTTP/(?:1(?:\.(?:[01] ?)?)?)?\Z")
FIRST_WORDS = re.compile(rb"HTTP/1\.[01] [0-9]|[A-Z]{3,10} \S")
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
PROTOCOL = re.compile(r"(?:v1[0-9]\.)?stomp\Z")
"""Sub-protocols of STOMP (STOMP 1.2 and IANA's registry): `v10.stomp` to `v12.stomp`; ActiveMQ answers `stomp`."""
LONGEST_VALUE = 200
"""Characters of a value in a table."""
PARAMETERS = {"server_no_context_takeover", "client_no_context_takeover", "server_max_window_bits", "client_max_window_bits"}
"""Those of permessage-deflate (RFC 7692, 7.1)."""


@dataclass(frozen=True)
class Head:
    """A head: of a request its method and target, of an answer its status; the values of fields by their names in lower case."""

    length: int
    method: str = ""
    target: str = ""
    status: int = 0
    minor: int = 1
    fields: Mapping[str, str] = field(default_factory=dict)

    def has(self, name: str, word: str) -> bool:
        """Whether a field's list has this word, in either case."""
        return word in (one.strip().lower() for one in self.fields.get(name, "").split(","))

    @property
    def upgrades(self) -> bool:
        """Whether it asks for WebSocket, or answers that it is spoken from here on (RFC 6455, 4.1 and 4.2.2)."""
        return self.has("upgrade", "websocket") and (self.status == 101 or (self.method == "GET" and self.has("connection", "upgrade")))

    @property
    def chunked(self) -> bool:
        """Whether its body is in chunks (RFC 9112, 6.1)."""
        return self.has("transfer-encoding", "chunked")

    @property
    def content_length(self) -> int | None:
        """How long its body is, if it says so."""
        said = self.fields.get("content-length", "").split(",")[0].strip()
        return int(said) if said.isascii() and said.isdigit() and len(said) < 19 else None


def head_of(octets: bytes) -> Head | None:
    """The head that these octets begin with; None where none is whole. One that is none has the length 0."""
    found = END_OF_HEAD.search(octets[:LONGEST])
    if found is None:
        return Head(0) if len(octets) >= LONGEST or not begins(octets) else None
    lines = octets[: found.start()].replace(b"\r\n", b"\n").split(b"\n")
    fields: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(b":")
        if colon:
            key, text = name.decode("latin-1").strip().lower(), value.decode("utf-8", "replace").strip()
            fields[key] = f"{fields[key]}, {text}" if key in fields else text
    if request := REQUEST.match(lines[0]):
        return Head(found.end(), request[1].decode(), request[2].decode("utf-8", "replace"), 0, int(request[3]), fields)
    if answer := ANSWER.match(lines[0]):
        return Head(found.end(), status=int(answer[2]), minor=int(answer[1]), fields=fields)
    return Head(0)


def begins(octets: bytes) -> bool:
    """Whether a head may begin so, as far as its first octets are there."""
    first = octets[:12]
    return FIRST_WORDS.match(first) is not None or (len(first) < 12 and FIRST_LETTERS.match(first) is not None)


def accepts(key: str, accept: str) -> bool:
    """Whether Sec-WebSocket-Accept is the answer to this Sec-WebSocket-Key (RFC 6455, 4.2.2, 5.4)."""
    digest = hashlib.sha1(key.encode() + GUID, usedforsecurity=False).digest()
    return base64.b64encode(digest).decode() == accept.strip()


# what is kept of them


def path_of(target: str) -> str:
    """The path without its query and parameters, of an absolute target too; segments of other characters than usual are masked."""
    path = re.sub(r"\A[a-z]+://[^/?#]*", "", target, flags=re.IGNORECASE).split("?")[0].split("#")[0] or "/"
    segments = [one.split(";")[0] for one in path.split("/")]
    return "/".join(one if re.fullmatch(r"[A-Za-z0-9._~-]{0,64}", one) else "*" for one in segments)


def value_of(head: Head, name: str) -> str | None:
    """The value of a field that is no secret, cut where it is long; None where there is none."""
    return head.fields[name][:LONGEST_VALUE] if name in head.fields else None


def subprotocols(said: str | None) -> str | None:
    """Sub-protocols as tables have them: those of STOMP, and an asterisk for each of the others."""
    if said is None:
        return None
    return ", ".join(one if PROTOCOL.match(one) else "*" for one in (part.strip() for part in said.split(",")))


@dataclass(frozen=True)
class Deflate:
    """What was agreed on for permessage-deflate: whether each side keeps its window, and the bits of its window (RFC 7692, 7.1)."""

    client_takeover: bool = True
    server_takeover: bool = True
    client_bits: int = 15
    server_bits: int = 15


def deflate_of(accepted: str | None) -> Deflate | None:
    """What a server's Sec-WebSocket-Extensions says of permessage-deflate; None where it does not accept it."""
    for extension in (accepted or "").split(","):
        name, *parameters = (part.strip() for part in extension.split(";"))
        if name.lower() != "permessage-deflate":
            continue
        said = {key.strip().lower(): value.strip().strip('"') for key, _, value in (one.partition("=") for one in parameters)}
        bits = {side: _bits(said.get(f"{side}_max_window_bits")) for side in ("client", "server")}
        return Deflate(
            "client_no_context_takeover" not in said, "server_no_context_takeover" not in said, bits["client"], bits["server"]
        )  # fmt: skip
    return None


def _bits(said: str | None) -> int:
    return int(said) if said is not None and said.isdigit() and 8 <= int(said) <= 15 else 15


def extensions_of(accepted: str | None) -> str | None:
    """The extensions that a server accepted, as tables have them: names, and the parameters that RFC 7692 knows."""
    if accepted is None:
        return None
    found = []
    for extension in accepted.split(","):
        name, *parameters = (part.strip() for part in extension.split(";"))
        known = [one.replace(" ", "") for one in parameters if one.partition("=")[0].strip().lower() in PARAMETERS]
        found.append("; ".join([name if TOKEN.fullmatch(name) and len(name) < 40 else "*", *known]))
    return ", ".join(found)[:LONGEST_VALUE]


def origin_of(head: Head) -> tuple[bytes, int | None, str] | None:
    """The client that Forwarded (RFC 7239) or else X-Forwarded-For claims: address, port, and which of words.ORIGIN_SOURCES says it."""
    if "forwarded" in head.fields:
        first = head.fields["forwarded"].split(",")[0]
        for pair in first.split(";"):
            name, _, value = pair.partition("=")
            if name.strip().lower() == "for" and (found := _address(value.strip().strip('"'))):
                return *found, "forwarded"
    if (claimed := head.fields.get("x-forwarded-for")) and (found := _address(claimed.split(",")[0].strip())):
        return *found, "x_forwarded_for"
    return None


def _address(said: str) -> tuple[bytes, int | None] | None:
    """An address with or without a port: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`."""
    found = re.fullmatch(r"\[([0-9A-Fa-f:.]+)\](?::([0-9]{1,5}))?|([0-9.]+):([0-9]{1,5})|([0-9A-Fa-f:.]+)", said)
    if found is None:
        return None
    port = found[2] or found[4]
    try:
        address = ipaddress.ip_address(found[1] or found[3] or found[5]).packed
    except ValueError:
        return None
    return address, int(port) if port and int(port) < 1 << 16 else None


# bodies


@dataclass
class Body:
    """What is left of a message's body: `left` octets, -1 for all that comes; or chunks, of which `line` has begun (RFC 9112, 7.1)."""

    left: int = 0
    chunked: bool = False
    line: bytes = b""
    trailer: bool = False

    def skip(self, octets: bytes) -> int:
        """How many of these octets are its own; it is over where `over` then says so."""
        if not self.chunked:
            size = len(octets) if self.left < 0 else min(self.left, len(octets))
            self.left -= size if self.left >= 0 else 0
            return size
        at = 0
        while at < len(octets) and self.chunked:
            if self.left:
                size = min(self.left, len(octets) - at)
                self.left -= size
                at += size
                continue
            end = octets.find(b"\n", at)
            self.line += octets[at : end + 1 if end >= 0 else len(octets)]
            at = end + 1 if end >= 0 else len(octets)
            if end >= 0 or len(self.line) > LONGEST:
                self._line(self.line.strip())
                self.line = b""
        return at

    def _line(self, line: bytes) -> None:
        if self.trailer:
            self.chunked = bool(line)
            return
        size = line.split(b";")[0].strip()
        if not line:
            return  # behind a chunk
        if not re.fullmatch(rb"[0-9A-Fa-f]{1,12}", size):
            self.chunked, self.left = False, -1
            return
        self.left = int(size, 16)
        self.trailer = self.left == 0

    @property
    def over(self) -> bool:
        """Whether nothing of it is left."""
        return not self.chunked and self.left == 0


def body_of(head: Head, asked: str = "GET") -> Body:
    """The body behind a head; of an answer, to a request with this method (RFC 9112, 6.3)."""
    if head.status and (asked == "HEAD" or head.status in (204, 304) or head.status < 200):
        return Body()
    if head.chunked:
        return Body(chunked=True)
    if (length := head.content_length) is not None:
        return Body(length)
    return Body(-1 if head.status else 0)
