r"""Names in captures and reports that go to others: each becomes another of the same length, the same one everywhere.

Words (runs of letters and digits) go through a keyed permutation; what stands between them, escapes such as \c and %2F, and the words by
which brokers know a kind of destination (`/queue/`, `jms.topic.`, `amq.topic`) stay. So what was equal, a prefix, or a pattern
that tells a broker still is.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
from dataclasses import dataclass, field

from stompcap.export.permutation import Permutation

Patterns = tuple[re.Pattern[str], ...]

WORD = re.compile(r"[A-Za-z0-9]+")
OTHER = re.compile(r"[^\x00-\x7f]")
ESCAPES = re.compile(r"\\[a-zA-Z\\]|%[0-9A-Fa-f]{2}")
KINDS = re.compile(
    r"(?<![A-Za-z0-9])(?:remote-)?(?:temp-|reply-)?(?:queue|topic)(?=:?/)|(?<![A-Za-z0-9])(?:exchange|amq)(?=/)"
    r"|^jms\.(?:queue|topic)\.|(?<![A-Za-z0-9.])amq\.(?:topic|direct|fanout|headers|match)(?![A-Za-z0-9])"
    r"|(?<![A-Za-z0-9])(?:ActiveMQ\.DLQ|DLQ|VirtualTopic|Consumer(?=\.))(?![A-Za-z0-9])|\?consumer\.[A-Za-z.]+=(?:[0-9]+|true|false)?"
)
"""What tells the kind of a destination, or an option of it."""

MARKS = re.compile(r"^ID(?=:|\\c)|^T(?=_)|(?<![A-Za-z0-9])session(?=-)|(?<![A-Za-z0-9])sub(?=-)|^close(?=-)")
"""Words of brokers' and libraries' own ids."""

SERVERS = re.compile(r"(?i)^\s*(?:rabbitmq|activemq-artemis|activemq|apache-apollo|hornetq|coilmq)(?:/[0-9][0-9A-Za-z.-]*)?")
AGENTS = re.compile(r"(?i)\b(?:stomp\.py|stompest|stomp-?js|stomp\.js|go-stomp|vert\.?x|stomp[ -]?gem|stomp-?php|spring)\b(?:[/ ][0-9.]+)?")
MEDIA = re.compile(
    r"(?i)\b(?:text|application|plain|xml|json|html|csv|octet|stream|charset|utf|utf8|iso|us|ascii|latin1|8|16|32|8859|1|15)\b"
)
FLAGS = re.compile(r"(?i)^\s*(?:true|false|null|auto|client|client-individual)\s*$")
NUMBERS, COUNTERS = re.compile(r"[0-9]+"), re.compile(r"(?:(?<![A-Za-z0-9])|(?<=\\[a-z]))[0-9]+(?![A-Za-z0-9])")
UUID = re.compile(r"(?<![0-9A-Za-z])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9A-Za-z])")
QUAD = re.compile(r"(?<![0-9])(?:[0-9]{1,3}[.-]){3}[0-9]{1,3}(?![0-9])")

LOGINS = ("login", "username")
NUMERIC = (
    "content-length", "version", "accept-version", "heart-beat", "prefetch-count", "priority", "timestamp", "expires", "expiration",
    "activemq.prefetchsize", "consumer-window-size",
)  # fmt: skip
IDS = ("message-id", "id", "ack", "subscription", "session", "receipt", "receipt-id", "transaction", "client-id", "response-id")


def key_of(key: bytes) -> bytes:
    """The key of names, out of a lake's own."""
    return hashlib.blake2b(key, digest_size=32, person=b"stompcap-names").digest()


@dataclass
class Names:
    """Names by a key. `replaced` has what was: by kind (address, login, destination) and original, what stands for it."""

    key: bytes
    replaced: dict[tuple[str, str], str] = field(default_factory=dict)
    _known: dict[tuple[str, str], str] = field(default_factory=dict)
    _words: Permutation = field(init=False)

    def __post_init__(self) -> None:
        """The permutation of the key."""
        self._words = Permutation(self.key)

    def value(self, name: str, text: str) -> str:
        """The value of a header as it stands on the wire."""
        name = name.strip().lower()
        if (found := self._known.get((name, text))) is None:
            found = self._known[name, text] = self._value(name, text)
        return found

    def login(self, text: str) -> str:
        """A login."""
        return self.value("login", text)

    def destination(self, text: str) -> str:
        """A destination, or the one name of it that tables have."""
        return self.value("destination", text)

    def address(self, text: str) -> str:
        """An address of the packets: one of 10.0.0.0/8 (RFC 1918) or fd00::/8 (RFC 4193)."""
        if ("address", text) in self.replaced:
            return self.replaced["address", text]
        address = ipaddress.ip_address(text)
        size = 3 if address.version == 4 else 15
        for attempt in range(256):
            digest = hashlib.blake2b(address.packed + bytes([attempt]), key=self.key, digest_size=size).digest()
            found = str(ipaddress.ip_address((b"\x0a" if size == 3 else b"\xfd") + digest))
            if found != text and found not in (other for (kind, _), other in self.replaced.items() if kind == "address"):
                break
        self.replaced["address", text] = found
        return found

    def words(self, text: str, *kept: re.Pattern[str]) -> str:
        """A text with its words replaced, but for what the patterns find, and escapes. A UUID is one word."""
        found, at = [], 0
        for match in UUID.finditer(text):
            digits = iter(self._words.word(match[0].replace("-", "")))
            found += [self._but(text[at : match.start()], kept), "".join(c if c == "-" else next(digits) for c in match[0])]
            at = match.end()
        return "".join((*found, self._but(text[at:], kept)))

    def _but(self, text: str, kept: Patterns) -> str:
        """A text with its words replaced, but for what the patterns find, and escapes."""
        stay = [match.span() for pattern in (ESCAPES, *kept) for match in pattern.finditer(text)]
        found, at = [], 0
        for begin, end in sorted(stay):
            if end > at:
                found += [self._replaced(text[at:begin]), text[max(at, begin) : end]]
                at = end
        return "".join((*found, self._replaced(text[at:])))

    def _value(self, name: str, text: str) -> str:
        if name in LOGINS:
            found = self.words(text)
        elif FLAGS.search(text) and name != "destination":
            found = text
        elif name in NUMERIC:
            found = self.words(text, NUMBERS)
        elif name in IDS:
            found = self.words(text, KINDS, MARKS, *(() if "/" in text or "::" in text or QUAD.search(text) else (COUNTERS,)))
        elif name == "server":
            found = self.words(text, SERVERS)
        elif name == "user-agent":
            found = self.words(text, AGENTS)
        elif name == "content-type":
            found = self.words(text, MEDIA)
        else:
            found = self.words(text, KINDS)
        kind = "login" if name in LOGINS else name
        if kind in ("login", "destination") and text.strip():
            self.replaced[kind, text] = found
        return found

    def _replaced(self, text: str) -> str:
        found = WORD.sub(lambda match: self._words.word(match[0]), text)
        return found if found.isascii() else OTHER.sub(self._other, found)

    def _other(self, match: re.Match[str]) -> str:
        """Another character of as many octets in UTF-8; one that stands for an octet of none (surrogateescape) as the last of these."""
        if "\udc80" <= match[0] <= "\udcff":
            return "\udcff"
        drawn = int.from_bytes(hashlib.blake2b(match[0].encode(), key=self.key, digest_size=4).digest(), "big")
        first, count = {2: (0x100, 0x80), 3: (0x4E00, 0x5000), 4: (0x1F300, 0x100)}[len(match[0].encode())]
        return chr(first + drawn % count)
