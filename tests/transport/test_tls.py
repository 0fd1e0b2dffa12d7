"""The same dialogues inside TLS give the tables that they give in plain TCP, where the key log has their keys."""

from __future__ import annotations

import gzip
import pickle
import re
import subprocess
from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from stompcap.assembly import key_logs as of_captures
from stompcap.capture.secrets_blocks import key_logs
from stompcap.capture.survey import survey
from stompcap.options import Options
from stompcap.transport.keys import KeyLog
from tests.assembly.test_flow import InBlocks, rows
from tests.e2e.cutting import cut
from tests.e2e.pure import Wire, wire_of
from tests.e2e.runs import Lake
from tests.e2e.truth import DATA
from tests.examples import slow_behind
from tests.mangler import segmentations as how
from tests.mangler.losses import lost
from tests.mangler.packagings import Packaging
from tests.mangler.segmentations import smaller
from tests.transport.made_up import Ended
from tests.transport.test_layers import inner
from tests.transport.tls_traffic import SUITES, inside

CAPTURE = "rabbitmq_heartbeats.pcap"
OF_THE_LAYER = ("transports", "transport_events")
NOT_COMPARED = re.compile(
    "order|^transport$|^asked_by$|^close_evidence$|^history$|^clock_difference|^segments_[cs]2|^inner_gap_|^cleartext_credentials$"
)
"""Columns that count what TCP carried, the handshake too, or say what is said by TLS alone."""

CLEAR_ONLY = pa.array(["CN-20"])
"""Rules that judge what is sent in clear."""


def wire(folder, *changes, name: str = CAPTURE) -> Wire:
    def change(packets):
        for one in changes:
            packets = one(packets)
        return packets

    folder.mkdir(exist_ok=True)
    return wire_of([str(path) for path in Packaging(change).files(DATA / name, folder)])


def carried(tables: dict[str, pa.Table]) -> dict[str, list]:
    """What tables say of the octets inside."""
    found = {name: table for name, table in inner(tables).items() if name not in OF_THE_LAYER}
    for name in ("compliance", "compliance_findings"):
        found[name] = found[name].filter(pc.invert(pc.is_in(found[name].column("rule_id"), CLEAR_ONLY)))
    left = {name: [one for one in table.column_names if not NOT_COMPARED.search(one)] for name, table in found.items()}
    return rows({name: table.select(left[name]) for name, table in found.items()})


def late(packets):
    """Of each flow the first packets are not there."""
    seen = Counter()
    return [one for one in packets if (seen.update([one.flow]) or seen[one.flow]) > 12]


def same(found: dict[str, list], expected: dict[str, list]) -> None:
    assert found.keys() == expected.keys()
    for name in expected:
        assert found[name] == expected[name], name


@pytest.mark.parametrize("record", [1 << 14, 7], ids=["records of segments", "small records"])
@pytest.mark.parametrize("suite", slow_behind(2, [*SUITES]))
def test_the_same_octets_give_the_same_tables(suite, record, tmp_path):
    log = str(tmp_path / "keys.log")
    plain = wire(tmp_path / "plain", inside(None))
    opened = wire(tmp_path / "tls", inside(log, suite, record, closing=True))
    found = opened.tables(Options(keylog=(log,)))
    same(carried(found), carried(plain.tables()))
    assert {row["status"] for row in found["transports"].to_pylist()} == {"read"}
    assert set(found["streams"].column("transport").to_pylist()) == {"tls"}


@pytest.mark.parametrize("suite", slow_behind(1, ["1.3 AES-256-GCM", "1.2 AES-256-GCM", "1.2 ChaCha20", "1.2 AES-128-CBC-SHA"]))
@pytest.mark.parametrize(
    "change", slow_behind(1, [lost(0.05, 2), lost(0.2, 7), smaller(50)]), ids=["5% lost", "20% lost", "records in several segments"]
)
def test_blocks_change_nothing(suite, change, tmp_path):
    log = str(tmp_path / "keys.log")
    found, options = wire(tmp_path / "tls", inside(log, suite, 60), change), Options(keylog=(log,))
    whole, in_blocks = (rows(found.tables(options, block=20, assembly=assembly)) for assembly in (Ended, InBlocks))
    for name in whole:
        assert in_blocks[name] == whole[name], name


@pytest.mark.parametrize("most", slow_behind(1, [0, 512]), ids=["few packets", "many packets"])
@pytest.mark.parametrize("suite", slow_behind(1, ["1.3 AES-256-GCM", "1.2 AES-128-GCM"]))
def test_runs_change_nothing(suite, most, tmp_path):
    """In several runs with one file each, all that is in one run, cut within records too."""
    log = str(tmp_path / "keys.log")
    files = Packaging(lambda packets: smaller(60)(inside(log, suite, 100, closing=True)(packets))).files(DATA / CAPTURE, tmp_path)
    options = Options(keylog=(log,))
    one, several = Lake(options), Lake(options, most=most)
    one.run([str(files[0])])
    for part in cut(files[0], tmp_path, [0.2, 0.5, 0.7, 0.8]):
        several.run([str(part)])
    expected, found = one.rows(), several.rows()
    for name in ("streams", "raw_frames", "frames", "sessions", "deliveries", "receipts", "compliance", "transports", "transport_events"):
        assert found.get(name) == expected.get(name), name


def test_without_keys_the_row_says_what_can_be_seen(tmp_path):
    log = str(tmp_path / "keys.log")
    opened = wire(tmp_path / "tls", inside(log))
    found = opened.tables()
    assert "frames" not in found
    assert set(found["streams"].column("protocol").to_pylist()) == {"tls"}
    names = ("status", "reason", "tls_version", "cipher_suite", "server_name", "resumed")
    assert {tuple(row[name] for name in names) for row in found["transports"].to_pylist()} == {
        ("not_decrypted", "there is no key log", "TLS 1.3", "TLS_AES_256_GCM_SHA384", "broker.example", False)
    }
    assert all(row["lost_units_c2s"] > 1 for row in found["transports"].to_pylist())
    (tmp_path / "others.log").write_text(f"CLIENT_RANDOM {bytes(32).hex()} {bytes(48).hex()}\n")
    [reason] = set(opened.tables(Options(keylog=(str(tmp_path / "others.log"),)))["transports"].column("reason").to_pylist())
    assert reason == "the key log does not have its secrets"


def test_a_key_log_that_a_task_cannot_read_is_what_the_row_says(tmp_path):
    """As on a worker of a cluster that does not have the file."""
    log = str(tmp_path / "keys.log")
    found = wire(tmp_path / "tls", inside(log)).tables(Options(keylog=(str(tmp_path / "not here.log"),)))
    assert {*zip(*(found["transports"].column(name).to_pylist() for name in ("status", "reason")), strict=True)} == {
        ("not_decrypted", "a key log cannot be read on the host of the task")
    }


def test_records_on_ports_of_others_are_counted_only_where_the_log_has_their_keys(tmp_path):
    log = str(tmp_path / "keys.log")

    def elsewhere(packets):
        return [replace(one, **{name: 8443 for name in ("sport", "dport") if getattr(one, name) == 61613}) for one in packets]

    found = wire(tmp_path / "tls", inside(log), elsewhere)
    assert set(found.tables()["transports"].column("lost_units_c2s").to_pylist()) == {None}
    assert found.tables(Options(keylog=(log,)))["frames"].num_rows


def test_no_secret_is_in_any_table_or_state(tmp_path):
    log = tmp_path / "keys.log"
    [file] = Packaging(lambda packets: inside(str(log))(packets)).files(DATA / CAPTURE, tmp_path)
    lake = Lake(Options(keylog=(str(log),)))
    for part in cut(file, tmp_path, [0.4, 0.7]):
        lake.run([part])
        tables = [table for part in (lake.open, lake.final) for each in part.values() for table in each]
        octets = b"".join(pickle.dumps(table.to_pylist()) for table in tables)
        for secret in KeyLog.of(log.read_bytes()).secrets.values():
            assert secret not in octets
            assert secret.hex().encode() not in octets


@pytest.mark.parametrize("share", slow_behind(1, [0.1, 0.01, 0.3]))
@pytest.mark.parametrize("suite", ["1.3 AES-256-GCM", "1.2 AES-128-GCM", "1.2 AES-128-CBC-SHA"])
def test_loss_invents_nothing(suite, share, tmp_path):
    """Every frame that is read is one of those that were sent, and rows tile the octets."""
    log = str(tmp_path / "keys.log")
    plain = wire(tmp_path / "plain", inside(None)).tables()
    found = wire(tmp_path / "tls", inside(log, suite, 200), smaller(300), lost(share, 11)).tables(Options(keylog=(log,)))
    ends: dict[tuple, int] = {}
    for row in found["raw_frames"].sort_by([(name, "ascending") for name in ("stream_id", "direction", "stream_offset")]).to_pylist():
        key = row["stream_id"], row["direction"]
        assert row["stream_offset"] == ends.get(key, 0), row
        ends[key] = row["stream_offset"] + row["length_octets"]

    def said(tables):
        return Counter((row["direction"], row["raw"]) for row in tables["raw_frames"].to_pylist() if row["kind"] == "frame")

    sent, read = said(plain), said(found)
    assert read
    assert not read - sent


def test_secrets_in_a_capture_open_it(tmp_path):
    """Where Wireshark's editcap puts them."""
    log = tmp_path / "keys.log"
    [file] = Packaging(inside(str(log))).files(DATA / CAPTURE, tmp_path)
    with_secrets = tmp_path / "with.pcapng"
    subprocess.run(["editcap", "--inject-secrets", f"tls,{log}", str(file), str(with_secrets)], check=True, capture_output=True)
    assert "frames" not in wire_of([str(file)]).tables()
    opened = wire_of([str(with_secrets)]).tables()
    assert opened["frames"].num_rows == wire_of([str(file)]).tables(Options(keylog=(str(log),)))["frames"].num_rows > 0


@pytest.mark.parametrize("at", [0, 0.5, 1], ids=["before the packets", "between them", "behind them"])
@pytest.mark.parametrize("compressed", [False, True])
def test_secrets_may_be_anywhere_in_a_capture(at, compressed, tmp_path, monkeypatch):
    log = tmp_path / "keys.log"
    [file] = Packaging(inside(str(log))).files(DATA / CAPTURE, tmp_path)
    pcapng = tmp_path / "none.pcapng"
    subprocess.run(["editcap", "-F", "pcapng", str(file), str(pcapng)], check=True, capture_output=True)
    octets, blocks, begin = pcapng.read_bytes(), [], 0
    while begin < len(octets):
        size = int.from_bytes(octets[begin + 4 : begin + 8], "little")
        blocks.append(octets[begin : begin + size])
        begin += size
    text = log.read_bytes()
    body = b"KSLT" + len(text).to_bytes(4, "little") + text + bytes(-len(text) % 4)
    size = (12 + len(body)).to_bytes(4, "little")
    blocks.insert(2 + int(at * (len(blocks) - 2)), (10).to_bytes(4, "little") + size + body + size)
    path = tmp_path / "with.pcapng"
    path.write_bytes(gzip.compress(b"".join(blocks)) if compressed else b"".join(blocks))
    assert set(key_logs(str(path))) == {text}
    assert [survey(str(one), "tap")["has_secrets"] for one in (path, pcapng, file)] == [True, False, False]
    assert wire_of([str(path)]).tables()["frames"].num_rows
    # of captures that are too large to be searched as a whole by every task, those before the packets are found
    monkeypatch.setattr(of_captures, "SEARCHED_OCTETS", 0)
    monkeypatch.setattr(of_captures, "_read", {})
    assert ("frames" in wire_of([str(path)]).tables()) == (at == 0)


@pytest.mark.parametrize("suite", slow_behind(2, ["1.3 AES-256-GCM", "1.2 AES-128-CBC-SHA", "1.2 AES-256-GCM", "1.2 ChaCha20"]))
def test_tshark_opens_the_same_octets(suite, tmp_path):
    log = tmp_path / "keys.log"
    [file] = Packaging(inside(str(log), suite, 500)).files(DATA / CAPTURE, tmp_path)
    asked = ["-o", f"tls.keylog_file:{log}", "-d", "tcp.port==61613,tls"]
    fields = [word for name in ("tcp.stream", "tcp.dstport", "data.data") for word in ("-e", name)]
    command = ["tshark", "-r", str(file), *asked, "-Y", "tls.app_data", "-T", "fields", *fields]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    theirs = Counter()
    for line in lines:
        _, port, data = line.split("\t")
        theirs["c2s" if port == "61613" else "s2c"] += sum(len(one) // 2 for one in data.split(","))
    found = wire_of([str(file)]).tables(Options(keylog=(str(log),)))["streams"].to_pylist()
    assert theirs == {way: sum(row[f"octets_{way}"] for row in found) for way in ("c2s", "s2c")}


@pytest.mark.parametrize("missed", slow_behind(1, [how.without_handshake, late]), ids=["no SYN", "joined midway"])
def test_a_capture_that_begins_midway_says_what_plain_tcp_says(missed, tmp_path):
    log = str(tmp_path / "keys.log")
    plain = wire(tmp_path / "plain", inside(None), missed, name="rabbitmq_dialogue.pcap").tables()
    found = wire(tmp_path / "tls", inside(log), missed, name="rabbitmq_dialogue.pcap").tables(Options(keylog=(log,)))

    def said(tables):
        return Counter((row["direction"], row["raw"], row["kind"]) for row in tables["raw_frames"].to_pylist())

    assert said(found) == said(plain)


@pytest.mark.parametrize("way", ["sport", "dport"], ids=["from the server", "to the server"])
@pytest.mark.parametrize("suite", ["1.3 AES-256-GCM", "1.2 AES-128-GCM"])
def test_one_direction_alone_is_read_where_its_keys_can_be_known(suite, way, tmp_path):
    log = str(tmp_path / "keys.log")

    def only(packets):
        return [one for one in packets if getattr(one, way) == 61613]

    plain = wire(tmp_path / "plain", inside(None), only).tables()
    found = wire(tmp_path / "tls", inside(log, suite), only).tables(Options(keylog=(log,)))
    if suite.startswith("1.2") and way == "dport":
        [reason] = set(found["transports"].column("reason").to_pylist())
        assert reason == "the server's hello was not captured"
        assert "frames" not in found
    else:
        assert Counter(found["raw_frames"].column("raw").to_pylist()) == Counter(plain["raw_frames"].column("raw").to_pylist())


@pytest.mark.parametrize("kept", slow_behind(1, [True, False]), ids=["captures there", "captures gone"])
@pytest.mark.parametrize("suite", slow_behind(1, ["1.3 AES-256-GCM", "1.2 AES-128-GCM"]))
def test_keys_that_come_two_runs_later_are_used(suite, kept, tmp_path):
    """Where captures of earlier runs are there all is read; else what comes then, and nothing that was not sent."""
    log = str(tmp_path / "keys.log")
    [file] = Packaging(inside(log, suite)).files(DATA / CAPTURE, tmp_path)
    one, several = Lake(Options(keylog=(log,))), Lake(kept=kept)
    one.run([str(file)])
    for number, part in enumerate(cut(file, tmp_path, [0.3, 0.5, 0.7])):
        several.options = Options(keylog=(log,)) if number > 1 else Options()
        several.run([part])
    expected, found = one.rows(), several.rows()
    if kept:
        for name in ("streams", "raw_frames", "frames", "sessions", "deliveries", "compliance", "transports"):
            assert found.get(name) == expected.get(name), name

    def said(lake):
        tables = [*lake.final.get("raw_frames", []), *lake.open.get("raw_frames", [])]
        return Counter((row["direction"], row["raw"]) for table in tables for row in table.to_pylist() if row["kind"] == "frame")

    read, sent = said(several), said(one)
    assert not read - sent
    assert sent if kept else len(read) < len(sent)
