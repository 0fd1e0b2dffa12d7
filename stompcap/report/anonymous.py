"""A report that one may send on: its answers with other names, by the key and the function of `stompcap export --anonymise`.

Columns of names and texts are replaced, bodies and bytes left out, numbers and words of the tables kept. A text column of which nothing
is said here is left out. In texts the names that the lake has are replaced wherever they stand; of what brokers say, and of what a finding
shows, only words that brokers, or the catalogue of rules, use of themselves stay.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from stompcap.export.names import COUNTERS, NUMBERS, QUAD, SERVERS, Names
from stompcap.export.rows import COMMANDS, error_text
from stompcap.lake.query import Query
from stompcap.rules import catalogue_table
from stompcap.visible import visible

Text = Callable[[str], str | None]

MOST = 200_000  # names of a kind that texts are searched for
LONGEST = 60  # characters of a name in a sentence
PREFIX = re.compile(r"^/?(?:queue|topic)/")
EXTENSIONS = re.compile(r"(?i)\.(?:pcapng|pcap|cap|snoop|erf|gz|zst|xz|bz2|lz4)\b")
LAYERS = re.compile(r"(?i)\b(?:TLS|SSL)[_A-Za-z0-9.]*|v1[0-2]\.stomp|permessage-deflate|(?:server|client)_[a-z_]+")
QUOTED = re.compile(r'"[^"]*"')

KEPT = (
    "ack_mode", "clause", "close_cause", "close_kind", "closed_by", "column_name", "confidence", "direction", "end_kind", "ended_by",
    "excused", "expectation", "explanation", "format", "kind", "level", "numbers", "outcome", "protocol", "rst_by", "rule_id", "rules",
    "settled_by", "severity", "side", "status", "subject_kind", "table_name", "title", "transport", "verdict",
)  # fmt: skip
"""Columns of text that hold words of our own."""

OUT = ("body", "octets", "observed", "frames")
"""Columns that are left out: bodies, bytes, and examples of values."""

NAMED = (
    ("sessions", "login", "login"), ("sessions", "client_id", "client-id"), ("sessions", "user_agent", "user-agent"),
    ("sessions", "client_ip", "address"), ("sessions", "server_ip", "address"), ("sessions", "origin_ip", "address"),
    ("streams", "client_ip", "address"), ("streams", "server_ip", "address"), ("sessions", "host", "host"),
    ("deliveries", "destination", "destination"), ("sends", "destination", "destination"), ("subscriptions", "destination", "destination"),
    ("deliveries", "destination_name", "destination"), ("sends", "destination_name", "destination"),
    ("subscriptions", "destination_name", "destination"), ("captures", "source", "source"), ("captures", "path", "path"),
)  # fmt: skip
"""Where names are: tables, columns, kinds. What is of two kinds is of the first, as in incidents."""

QUERIES = tuple(
    Query(f"{kind} {table} {column}", (table,), f"SELECT DISTINCT {column} AS name FROM {table} WHERE {column} <> '' LIMIT {MOST}")  # noqa: S608
    for table, column, kind in NAMED
)


OFTEN = frozenset(
    ("sent", "got", "after", "before", "agreed", "ended", "unencrypted", "nothing", "silence", "delivered", "ms", "octets", "bytes",
     "reset", "passcode")
)  # fmt: skip
"""Words of findings besides those of the catalogue."""


class Anonymous:
    """Replaces what tells whose traffic it is in the answers of a report; `known` are names and their kinds."""

    def __init__(self, names: Names, known: Iterable[tuple[str, str]]) -> None:
        self.names = names
        self._kinds: dict[str, str] = {}
        self._written: dict[str, str] = {}
        self._lengths: dict[str, list[int]] = {}
        texts = (row[name] or "" for row in catalogue_table().to_pylist() for name in ("title", "explanation"))
        self._vocabulary = {word.lower() for text in texts for word in _words(text)} | OFTEN
        for kind, name in known:
            self._know(kind, name)
        for found in self._lengths.values():
            found.sort(reverse=True)
        self.columns: dict[str, Text] = {
            "client": self.name, "client_ip": self.address, "client_product": self._of("user-agent"), "command": self._command,
            "damage": self.sentence, "destination": self.names.destination, "destination_name": self.names.destination,
            "details": self._layer, "error_message": self._error, "evidence": self._evidence, "example": self._error,
            "id": self._of("id"), "incident_id": self.names.words, "login": self.names.login, "path": self._path, "product": self._product,
            "reason": self._evidence, "sentence": self.sentence, "server": self.name, "server_ip": self.address,
            "server_product": self._of("server"), "server_version": lambda text: self.names.words(text, NUMBERS), "source": self.source,
            "stream_id": self._session, "subject": self.name, "subscription": self._of("id"), "text": self._error, "version": self._layer,
            "who": self.name, "would_change": self.sentence,
        }  # fmt: skip

    def tables(self, answers: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        """The answers, with other names."""
        return {name: self._table(name, rows) for name, rows in answers.items()}

    def _table(self, answer: str, rows: pa.Table) -> pa.Table:
        for place, field in enumerate(rows.schema):
            values = rows.column(place)
            if not _tells(field.type) or field.name in KEPT or (field.name == "who" and answer in ("broken", "product_judged")):
                continue
            if field.name in ("streams", "packets"):
                changed = pa.array([self._listed(one) for one in values.to_pylist()], field.type)
            elif (function := self.columns.get(field.name)) is None or field.name in OUT:
                changed = pa.nulls(len(rows), field.type)
            else:
                once: dict[str, str | None] = {text: function(text) for text in values.unique().to_pylist() if text is not None}
                changed = pa.array([None if text is None else once[text] for text in values.to_pylist()], field.type)
            rows = rows.set_column(place, field.name, changed)
        return rows

    def _listed(self, values: Sequence[Any] | None) -> list[Any]:
        """Sessions, or packets with the names of their captures."""
        return [self._session(one) if isinstance(one, str) else one | {"capture": self._path(one["capture"] or "")} for one in values or ()]

    def _know(self, kind: str, name: str) -> None:
        if kind == "path":
            name = os.path.basename(name)
        if name in self._kinds or not name or (kind == "source" and name == "default"):
            return
        self._kinds[name] = kind
        for form in {name, visible(name, LONGEST), PREFIX.sub("", name) if kind == "destination" else name}:
            words = list(re.finditer(r"\w+", form))
            if not words or (form.isdigit() and len(form) < 4):
                continue
            bare = form[words[0].start() : words[-1].end()]
            whole = self._named(kind, form if form in (name, visible(name, LONGEST)) else name)
            self._written.setdefault(bare, whole[len(whole) - len(form) :][words[0].start() :][: len(bare)] if kind != "address" else whole)
            lengths = self._lengths.setdefault(words[0][0], [])
            if len(bare) not in lengths:
                lengths.append(len(bare))

    def _named(self, kind: str, name: str) -> str:
        if kind == "address":
            return self.address(name)
        found = self._path(name) if kind == "path" else self.source(name) if kind == "source" else self.names.value(kind, name)
        self.names.replaced[kind, name] = found
        return found

    def address(self, text: str) -> str:
        """An address; what is none, word by word."""
        try:
            return self.names.address(text)
        except ValueError:
            return self.names.words(text)

    def name(self, text: str) -> str:
        """The name of a login, client, destination, capture point, or of an address with its port."""
        if (kind := self._kinds.get(text)) is not None:
            return self._named(kind, text)
        before, colon, port = text.rpartition(":")
        if colon and port.isdigit() and _is_address(before):
            return f"{self.address(before)}:{port}"
        return self.address(text)

    def source(self, text: str) -> str:
        """The name of a capture point, but for that which it has unless it is given one."""
        return text if text == "default" else self.names.words(text)

    def sentence(self, text: str) -> str:
        """A sentence of ours, with names in it, and in quotation marks what others said."""
        found, at = [], 0
        for match in QUOTED.finditer(text):
            found += [self._but(text[at : match.start()], str), self._error(match[0])]
            at = match.end()
        return "".join((*found, self._but(text[at:], str)))

    def _error(self, text: str) -> str:
        return self._but(text, lambda rest: error_text(rest, self.names))

    def _evidence(self, text: str) -> str:
        def rest(part: str) -> str:
            kept = re.compile("|".join(map(re.escape, sorted({w for w in _words(part) if self._own(w)}, key=len, reverse=True))) or r"(?!)")
            return self.names.words(part, re.compile(rf"(?<![A-Za-z0-9])(?:{kept.pattern})(?![A-Za-z0-9])"), COUNTERS)

        return self._but(text, rest)

    def _own(self, word: str) -> bool:
        return word.lower() in self._vocabulary or word.encode() in COMMANDS

    def _but(self, text: str, rest: Callable[[str], str]) -> str:
        """A text in which known names, and addresses, are replaced, and what is between them as `rest` does."""
        found, at = [], 0
        for word in re.finditer(r"\w+", text):
            begin = word.start()
            if begin < at:
                continue
            if (end := self._known_at(text, begin, word[0])) or ((quad := QUAD.match(text, begin)) and _is_address(quad[0])):
                end = end or begin + len(quad[0])  # type: ignore[index]
                name = text[begin:end]
                found += [rest(text[at:begin]), self._written[name] if name in self._written else self.address(name)]
                at = end
        return "".join((*found, rest(text[at:])))

    def _known_at(self, text: str, begin: int, word: str) -> int:
        """Where the longest known name ends that begins here; 0 where none does."""
        for length in self._lengths.get(word, ()):
            end = begin + length
            if text[begin:end] in self._written and not re.match(r"\w", text[end : end + 1]):
                return end
        return 0

    def _of(self, header: str) -> Text:
        return lambda text: self.names.value(header, text)

    def _product(self, text: str) -> str:
        return self.names.value("server" if SERVERS.search(text) else "user-agent", text)

    def _layer(self, text: str) -> str:
        return self.names.words(text, LAYERS, NUMBERS)

    def _command(self, text: str) -> str:
        return text if text.encode() in COMMANDS else self.names.words(text)

    def _path(self, text: str) -> str:
        return self.names.words(os.path.basename(text), EXTENSIONS)

    def _session(self, text: str) -> str:
        found = self.names.replaced["session", text] = self.names.words(text)
        return found


def _words(text: str) -> list[str]:
    return re.findall(r"[A-Za-z]+", text)


def _tells(kind: pa.DataType) -> bool:
    """Whether values of this type are texts, octets or lists, all of which may have names."""
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_list(kind))


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
