"""Generated captures go through the machines, and the tables say what their truth says."""

from __future__ import annotations

import ipaddress
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from scapy.utils import RawPcapReader

from stompcap.generate.profiles import PROFILES, Wanted
from stompcap.generate.wire import checksum
from stompcap.generate.write import Request, generate
from stompcap.options import Options
from tests.e2e.pure import tables_of

SOURCES = {name: name for name in ("frames", "deliveries", "transactions", "receipts", "heartbeats")}
SOURCES |= {"gaps": "raw_frames", "findings": "compliance_findings"}
SMALL = Wanted(connections=3, messages=20, duration_s=7_200)


def told(rows: list[dict[str, Any]], like: list[dict[str, Any]]) -> list[list[tuple[str, Any]]]:
    """Rows with the columns of the truth, in an order of their own."""
    names = {name for row in like for name in row}
    return sorted(sorted((name, str(row[name])) for name in names) for row in rows)


def layers_of(tables: dict[str, pa.Table]) -> dict[str, list[dict[str, Any]]]:
    """What lies between TCP and STOMP of each stream, the outermost first, and for whom it was opened."""
    origins = {row["stream_id"]: {name: row[name] for name in row if name.startswith("origin")} for row in tables["streams"].to_pylist()}
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    rows = tables["transports"].to_pylist() if "transports" in tables else []
    for row in sorted(rows, key=lambda row: int(row["layer"])):
        found[row["stream_id"]].append(row | origins[row["stream_id"]])
    return found


def check(truth: dict[str, Any], tables: dict[str, pa.Table]) -> None:
    """The tables say what the truth says, connection by connection."""
    rows = {name: defaultdict(list) for name in SOURCES}
    for name, table in SOURCES.items():
        columns = [one for one in tables[table].column_names if one not in ("raw", "headers", "header")]
        for row in tables[table].select(columns).to_pylist():
            if name != "gaps" or row["kind"] == "gap":
                rows[name][row["stream_id"]].append(row)
    layers = layers_of(tables)
    streams = {(row["client_ip"], row["client_port"]): row["stream_id"] for row in tables["streams"].to_pylist()}
    assert len(streams) == len(truth["connections"]) * truth["groups"]
    for one in truth["connections"]:
        stream = streams[one["client_ip"], one["client_port"]]
        findings = Counter(row["rule_id"] for row in rows["findings"][stream])
        if one["others"]:
            assert findings.keys() >= one["findings"].keys(), one["note"]
            continue
        assert findings == one["findings"], one["note"]
        for name in rows.keys() - {"findings"}:
            assert told(rows[name][stream], one[name]) == told(one[name], one[name]), (one["note"], name)
        for number, (row, layer) in enumerate(zip(layers[stream], one["layers"], strict=True), 1):
            assert {name: row[name] for name in layer} == layer, (one["note"], number)


LARGE = ("incidents", "day")


@pytest.mark.parametrize("profile", [pytest.param(one, marks=pytest.mark.slow) if one in LARGE else one for one in PROFILES])
def test_tables_agree_with_the_truth(profile: str, tmp_path: Path) -> None:
    made = generate(tmp_path / "made.pcap", Request(profile, seed=7, wanted=SMALL))
    options = Options(keylog=(str(made.keys),)) if made.keys else Options()
    check(json.loads(made.truth.read_text("utf-8")), tables_of([str(path) for path in made.paths], options))


def test_clones_are_as_the_truth_says(tmp_path: Path) -> None:
    one = generate(tmp_path / "one.pcap", Request(wanted=SMALL))
    three = generate(tmp_path / "three.pcap", Request(octets=one.octets * 3 - 100, wanted=SMALL))
    truth = json.loads(three.truth.read_text("utf-8"))
    assert (truth["groups"], truth["packets"]) == (3, one.packets * 3)
    known = tables_of([str(three.paths[0])])
    for place in range(3):  # the group of that number: times later, addresses higher
        for connection in truth["connections"]:
            connection["client_ip"] = str(ipaddress.ip_address(connection["client_ip"]) + (len(truth["connections"]) if place else 0))
            for row in (*connection["frames"], *connection["deliveries"]):
                row.update({name: value + truth["group_ns"] for name, value in row.items() if place and name.endswith("_ns") and value})
        check(truth, known)
    assert sum(truth["totals"]["commands"].values()) == len(known["frames"])
    assert sum(truth["totals"]["findings"].values()) == len(known["compliance_findings"])


def test_the_seed_decides_every_octet(tmp_path: Path) -> None:
    first, again, other = (
        generate(tmp_path / f"{name}.pcap", Request("loss", seed, wanted=SMALL)) for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert first.paths[0].read_bytes() == again.paths[0].read_bytes() != other.paths[0].read_bytes()


def test_checksums_are_right(tmp_path: Path) -> None:
    made = generate(tmp_path / "made.pcap", Request(octets=1_000_000, wanted=SMALL))
    tables = tables_of([str(made.paths[0])])
    assert sum(tables["streams"].column("bad_checksum_segments_c2s").to_pylist()) == 0
    records = list(RawPcapReader(str(made.paths[0])))
    for octets, _ in (records[0], records[len(records) // 2], records[-1]):
        ip, tcp = octets[14:34], octets[34:]
        assert checksum(ip) == 0
        assert checksum(ip[12:20] + bytes((0, 6)) + len(tcp).to_bytes(2, "big") + tcp) == 0
