"""What one may send on: no name of the original in it, and all that stompcap says of it as before."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.export.names import Names
from stompcap.export.permutation import DIGITS, LOWER, Permutation
from stompcap.export.rows import anonymised
from stompcap.export.segments import write_anonymised
from tests.cli.exported import tshark
from tests.e2e.pure import tables_of
from tests.e2e.truth import DATA
from tests.examples import every

KEY = b"k" * 32
RECORDINGS = sorted(
    (path for path in DATA.iterdir() if path.suffix in (".pcap", ".pcapng")),
    key=lambda path: ("violations" not in path.name, path.stem.split("_")[1], path.name),
)
PASSCODE = 1 << 29
"""A bit of syntax: a secret was there. None is any more."""

SAID = {
    "streams": ("history", "close_kind", "closed_by", "protocol", "gap_octets_c2s", "gap_octets_s2c", "retransmitted_octets_c2s", "final"),
    "raw_frames": ("direction", "stream_offset", "length_octets", "kind", "delimited_by", "syntax"),
    "frames": ("direction", "stream_offset", "content_length", "body_octets", "version", "syntax"),
    "stalls": ("direction", "kind", "begin_ns", "end_ns"),
    "sessions": ("version", "outcome", "close_cause", "end_kind", "server_product", "server_version", "client_product", "heartbeat_c2s_ms"),
    "deliveries": ("status", "settlement", "redelivered", "ack_latency_us", "body_octets", "producer_number", "transaction_outcome"),
    "subscriptions": ("status", "delivered", "acked", "nacked", "unsettled", "prefetch", "limited_since_ns"),
    "receipts": ("status", "answer", "latency_us"),
    "transactions": ("outcome", "sends", "acks", "nacks"),
    "heartbeats": ("direction", "interval_ms", "beats", "verdict"),
    "compliance": ("rule_id", "applicable", "passed", "failed", "not_evaluable"),
    "compliance_findings": ("rule_id", "level", "side", "direction", "stream_offset"),
}


def said(tables: Mapping[str, pa.Table]) -> dict[str, Counter[tuple[str, ...]]]:
    """Statuses and verdicts, whoever they are of."""
    found = {}
    for name, columns in SAID.items():
        rows = tables[name].select(columns).to_pylist()
        found[name] = Counter(tuple(str(row[c] & ~PASSCODE if c == "syntax" else row[c]) for c in columns) for row in rows)
    return found


def originals(path: Path) -> dict[str, set[bytes]]:
    """What must not be in the file, by the recording's truth: logins, passcodes, destinations; and bodies, by its frames."""
    found: dict[str, set[bytes]] = {"login": set(), "passcode": set(), "destination": set(), "body": set()}
    for line in path.with_name(path.name.split(".")[0] + ".truth.jsonl").read_text().splitlines():
        one: dict[str, Any] = json.loads(line)
        for kind in ("login", "passcode"):
            if one.get(kind):
                found[kind].add(one[kind].encode())
        for name, value in one.get("headers") or ():
            if name == "destination" and value:
                found["destination"].add(value.encode())
    for row in tables_of([str(path)])["frames"].to_pylist():
        if row["body_octets"] >= 6 and row["body_preview"]:
            found["body"].add(row["body_preview"].encode())
    return found


@pytest.mark.slow
@pytest.mark.parametrize("path", every(2, RECORDINGS), ids=lambda path: str(path.name))
def test_no_name_of_a_recording_is_left_and_statuses_and_verdicts_are_the_same(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.pcap"
    names = Names(KEY)
    write_anonymised(str(path), str(out), "default", names)
    octets, before = out.read_bytes(), tables_of([str(path)])
    for kind, values in originals(path).items():
        assert not [value for value in values if len(value) >= 6 and value in octets], kind
    addresses = {row[name] for row in before["streams"].to_pylist() for name in ("client_ip", "server_ip")}
    assert not [address for address in addresses if address.encode() in octets]
    assert not addresses & set(itertools.chain(*(line.split("\t") for line in tshark(out, "-T", "fields", "-e", "ip.src", "-e", "ip.dst"))))
    again, wanted = said(tables_of([str(out)])), said(before)
    for name in SAID:
        assert again[name] == wanted[name], name
    checked = ("-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-Y")
    assert not tshark(out, *checked, "tcp.checksum.status == 0 or ip.checksum.status == 0")


@given(st.from_regex(r"[A-Za-z0-9]{1,40}", fullmatch=True), st.binary(min_size=8, max_size=32))
def test_a_word_becomes_another_of_its_shape(word: str, key: bytes) -> None:
    other = Permutation(key).word(word)
    assert other != word
    assert [(c.isdigit(), c.isupper()) for c in other] == [(c.isdigit(), c.isupper()) for c in word]


@pytest.mark.parametrize(("alphabet", "length"), [(DIGITS, 1), (DIGITS, 3), (LOWER, 1), (LOWER, 2)])
def test_no_two_words_become_one(alphabet: str, length: int) -> None:
    words = ["".join(some) for some in itertools.product(alphabet, repeat=length)]
    permutation = Permutation(KEY)
    assert sorted(map(permutation.word, words)) == sorted(words)


@pytest.mark.parametrize(("name", "text", "stays"), [
    ("destination", "/queue/orders.eu", "/queue/......."),
    ("destination", "/exchange/amq.topic/a.*.#", "/exchange/amq.topic/."),
    ("destination", "jms.topic.prices", "jms.topic."),
    ("destination", "/queue/a?consumer.prefetchSize=10", "?consumer.prefetchSize=10"),
    ("session", r"ID\chost-45123-17-2\c1", r"ID\c"),
    ("message-id", "ID:host-45123-17-2:1:-1:1:52", "-45123-17-2:1:-1:1:52"),
    ("message-id", "T_sub-7@@session-abcdefghijklmnopqrstuv@@12", "@@session-"),
    ("server", "RabbitMQ/3.10.8", "RabbitMQ/3.10.8"),
    ("server", "ActiveMQ-Artemis/2.42.0 ActiveMQ Artemis Messaging Engine", "ActiveMQ-Artemis/2.42.0 "),
    ("content-type", "application/json;charset=utf-8", "application/json;charset=utf-8"),
    ("heart-beat", "10000,5000", "10000,5000"),
    ("redelivered", "true", "true"),
])  # fmt: skip
def test_what_tells_brokers_kinds_and_numbers_stays(name: str, text: str, stays: str) -> None:
    written = Names(KEY).value(name, text)
    assert len(written) == len(text)
    assert stays.strip(".") in written
    assert Names(KEY).value(name, text) == written


def test_the_same_name_is_the_same_everywhere() -> None:
    names = Names(KEY)
    assert names.value("receipt-id", "r-orders-7") == names.value("receipt", "r-orders-7")
    assert names.value("id", "billing") in names.value("message-id", "T_billing@@session-x@@1")
    assert names.destination("queue/orders").split("/")[1] == names.destination("/queue/orders").split("/")[2]


def test_an_error_keeps_the_words_of_brokers_and_no_quoted_name() -> None:
    names = Names(KEY)
    raw = b"ERROR\nmessage:Access refused for user 'user'\n\nUnknown command of host 'host' at 10.1.2.3\0"
    written = anonymised(raw, "frame", names)
    assert len(written) == len(raw)
    assert b"Access refused for user '" in written
    assert b"'user'" not in written
    assert b"'host'" not in written
    assert b"10.1.2.3" not in written


@given(st.binary(max_size=200), st.sampled_from(["frame", "junk", "partial"]))
def test_any_octets_keep_their_number_and_their_nuls(octets: bytes, kind: str) -> None:
    for raw in (octets, b"SEND\ndestination:/queue/a\n\n" + octets + b"\0"):
        written = anonymised(raw, kind, Names(KEY))
        assert len(written) == len(raw)
        assert [i for i, c in enumerate(raw) if not c] == [i for i, c in enumerate(written) if not c]
