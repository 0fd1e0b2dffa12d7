"""Where a rule's clause can be read: the address of its section in the specification's own text."""

from __future__ import annotations

import re

from stompcap.rules.record import Rule

STOMP = "https://stomp.github.io/stomp-specification-{version}.html"
RFC = "https://www.rfc-editor.org/rfc/rfc{number}"
PROXY = "https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt"
SUBPROTOCOLS = "https://www.iana.org/assignments/websocket/websocket.xhtml#subprotocol-name"

_BOTH = (
    "STOMP Frames", "Repeated Header Entries", "Connecting", "CONNECT or STOMP Frame", "CONNECTED Frame", "Protocol Negotiation",
    "Heart-beating", "Client Frames", "SEND", "SUBSCRIBE", "SUBSCRIBE id Header", "SUBSCRIBE ack Header", "UNSUBSCRIBE", "ACK", "NACK",
    "BEGIN", "COMMIT", "ABORT", "DISCONNECT", "Standard Headers", "Header content-length", "Header content-type", "Header receipt",
    "Server Frames", "MESSAGE", "RECEIPT", "ERROR", "Augmented BNF",
)  # fmt: skip
SECTIONS = {
    "1.2": frozenset({*_BOTH, "Value Encoding", "Body", "Size Limits", "Connection Lingering"}),
    "1.1": frozenset({*_BOTH, "Once Connected"}),
    "1.0": frozenset[str](),
}
"""Headings that can be addressed, by version; those of 1.0 have no anchors."""

_VERSIONS = re.compile(r"(?:(?:, | and )?\d\.\d)+ ")


def url(rule: Rule, version: str | None = None) -> str | None:
    """The address of a rule's clause, in the specification of a version if that has it, else in the newest that does."""
    found = addresses(rule.clause)
    return found.get(version or "") or next((found[name] for name in ("1.2", "1.1", "1.0", "") if name in found), None)


def addresses(clause: str) -> dict[str, str]:
    """Addresses by version of STOMP; those of other documents by an empty name."""
    found: dict[str, str] = {}
    sections: list[str] = []
    for part in clause.split("; "):
        if number := re.match(r"RFC (\d+), ([\d.]*\d)", part):
            found.setdefault("", f"{RFC.format(number=number[1])}#section-{number[2]}")
        elif part.startswith("The PROXY protocol"):
            found.setdefault("", PROXY)
        elif part.startswith("IANA"):
            found.setdefault("", SUBPROTOCOLS)
        elif versions := _VERSIONS.match(part):
            named = re.sub(r"\(.*?\)", "", part[versions.end():])
            sections = sections if named == "the same" else [one.strip() for one in re.split(r", | and ", named)]
            for version in re.findall(r"\d\.\d", versions[0]):
                section = next((one for one in sections if one in SECTIONS[version]), None)
                anchor = f"#{section.replace(' ', '_')}" if section else ""
                found.setdefault(version, STOMP.format(version=version) + anchor)
    return found
