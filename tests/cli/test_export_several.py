"""`stompcap export` of several streams, around a frame, of an incident, and for others to see."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pyarrow as pa
import pytest

from stompcap.cli import exporting
from stompcap.errors import UsageError
from stompcap.lake import tables as lakes
from stompcap.options import Options
from stompcap.tables import TABLES
from tests.capture.packaging import frames, pcap
from tests.cli.exported import START, Lake, conversation, ether, mixed, packets, tshark
from tests.e2e.pure import tables_of
from tests.e2e.truth import DATA
from tests.export.test_anonymised import said

STEP = 1_000_000_000
RECORDINGS = DATA / "transports"


@pytest.fixture
def three(tmp_path: Path) -> Lake:
    talks = [[ether(p) for p in conversation(port=40000 + i)] for i in range(3)]
    lake = Lake(tmp_path, [pcap(tmp_path / "a.pcap", frames(mixed(*talks), STEP))])
    lakes.append(lake.where, "raw_frames", lake.tables["raw_frames"], ["batch"], "r")
    return lake


def test_several_streams_come_in_order_of_time(three: Lake) -> None:
    first, second, _ = [row["stream_id"] for row in three.streams()]
    out, told = three.export(first, "out.pcap", second[:12], first)
    assert (told["streams"], told["packets"], told["format"]) == ([first, second], 22, "pcap")
    times = [ts for ts, _, _, _ in packets(out)]
    assert times == sorted(times)
    whole = {octets for _, octets, _, _ in packets(three.paths[0])}
    assert {octets for _, octets, _, _ in packets(out)} < whole
    assert set(tshark(out, "-T", "fields", "-e", "tcp.srcport")) == {"40000", "40001", "61613"}


def test_the_seconds_around_a_frame(three: Lake) -> None:
    row = three.streams()[0]
    sent = next(r for r in three.tables["raw_frames"].to_pylist() if r["stream_id"] == row["stream_id"] and r["direction"] == "s2c")
    name = f"{row['stream_id']}:s2c:{sent['stream_offset']}"
    out, told = three.export(three.streams()[1]["stream_id"], "out.pcap", "--around", name, "--seconds", "4")
    at = [ts for ts, _, _, _ in packets(three.paths[0]) if sent["first_ns"] - 4 * STEP <= ts <= sent["last_ns"] + 4 * STEP]
    assert told["streams"][1] == row["stream_id"]
    assert {ts for ts, _, _, _ in packets(out)} < set(at)
    assert told["packets"] == 6


@pytest.mark.parametrize(("frame", "says"), [
    ("{id}", "say STREAM_ID:OFFSET"),
    ("{id}:up:3", "say STREAM_ID:OFFSET"),
    ("{id}:9999", "no frame at this offset"),
    ("{id}:0", "both sides have a frame there; say .*:c2s:0 or .*:s2c:0"),
])  # fmt: skip
def test_a_frame_that_is_none_is_told(three: Lake, frame: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        exporting.around(three.where, frame.format(id=three.streams()[0]["stream_id"]), 5)


def test_the_streams_of_an_incident(three: Lake) -> None:
    ids = [row["stream_id"] for row in three.streams()][1:]
    said = {
        "kind": "backlog", "subject_kind": "destination", "subject": "queue/a", "source": "default", "begin_ns": START, "level": "note",
        "confidence": "proven", "messages": 1, "sentence": "queue/a waits",
    }  # fmt: skip
    rows = [{**said, "incident_id": "ab12cd", "streams": ids}, {**said, "incident_id": "ab99", "streams": []}]
    lakes.append(three.where, "incidents", pa.Table.from_pylist(rows, TABLES["incidents"].arrow), ["batch"], "r")
    assert exporting.named(three.where, [], "ab1", None) == ids
    refused = [("ab", "2 incidents begin with that"), ("ff", "no such incident"), ("ab9", "names no stream"), ("'", "not an incident")]
    for name, says in refused:
        with pytest.raises(UsageError, match=says):
            exporting.named(three.where, [], name, None)


def test_anonymised_for_others_to_see_with_a_table_of_names_for_its_owner(tmp_path: Path) -> None:
    lake = Lake(tmp_path, [DATA / "rabbitmq_dialogue.pcap"])
    ids = [row["stream_id"] for row in lake.streams()][:3]
    out, told = lake.export(ids[0], "out.pcap", *ids[1:], "--anonymise")
    assert told["streams"] == ids
    assert len(packets(out)) == told["packets"]
    written = f"{out}.names.csv"
    assert os.stat(written).st_mode & 0o777 == 0o600
    with open(written) as file:
        names = list(csv.DictReader(file))
    assert {row["kind"] for row in names} == {"address", "login", "destination"}
    octets = Path(out).read_bytes()
    for row in names:
        assert row["name"] != row["written"]
        assert row["name"].encode() not in octets
        if row["kind"] != "address":
            assert row["written"].encode() in octets
    assert not list(tmp_path.glob(".export-*"))
    again, _ = lake.export(ids[0], "again.pcap", *ids[1:], "--anonymise")
    assert Path(again).read_bytes() == octets, "the names are the lake's"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "keys"), [("rabbitmq_websocket.pcap", ""), ("rabbitmq_proxy.pcap", "rabbitmq_proxy.keys.txt")])
def test_what_is_inside_other_layers_is_anonymised_as_plain_tcp(name: str, keys: str, tmp_path: Path) -> None:
    lake = Lake(tmp_path, [RECORDINGS / name], Options(keylog=(str(RECORDINGS / keys),) if keys else ()))
    for table in ("raw_frames", "transports"):
        lakes.append(lake.where, table, lake.tables[table], ["batch"], "r")
    for stream in [row for row in lake.streams() if row["protocol"] == "stomp"][:4]:
        out, _ = lake.export(stream["stream_id"], "out.pcap", "--anonymise")
        mine = {
            table: rows.filter(pa.compute.equal(rows.column("stream_id"), stream["stream_id"])) for table, rows in lake.tables.items()
        }
        again, wanted = said(tables_of([out])), said(mine)
        for table in ("raw_frames", "deliveries", "receipts", "subscriptions", "transactions"):
            assert again[table] == wanted[table], table
        octets = Path(out).read_bytes()
        for row in mine["sessions"].to_pylist():
            assert not [text for text in (row["login"], row["client_ip"]) if text and len(text) > 5 and text.encode() in octets]


def test_what_shows_no_stomp_is_not_anonymised(tmp_path: Path) -> None:
    talk = [ether(p) for p in conversation()]
    for p in talk:
        if p.lastlayer().name == "Raw":
            p.lastlayer().load = b"\x16\x03\x01" + bytes(60)
    lake = Lake(tmp_path, [pcap(tmp_path / "a.pcap", frames(talk, start_ns=START))])
    with pytest.raises(UsageError, match="shows no STOMP"):
        lake.export(lake.streams()[0]["stream_id"], "out.pcap", "--anonymise")


def test_none_named_is_told(three: Lake) -> None:
    with pytest.raises(UsageError, match="no stream is named"):
        three.export("--quiet")
