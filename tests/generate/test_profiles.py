"""Generated captures go through the machines, and the tables say what their truth says."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from stompcap.generate.profiles import PROFILES, Wanted
from stompcap.generate.write import Request, generate
from tests.e2e.pure import tables_of

SMALL = Wanted(connections=3, messages=20, duration_s=7_200)


def told(rows: list[dict[str, Any]], like: list[dict[str, Any]]) -> list[list[tuple[str, Any]]]:
    """Rows with the columns of the truth, in an order of their own."""
    names = {name for row in like for name in row}
    return sorted(sorted((name, str(row[name])) for name in names) for row in rows)


def check(truth: dict[str, Any], tables: dict[str, pa.Table]) -> None:
    """The tables say what the truth says, connection by connection."""
    rows = {name: defaultdict(list) for name in ("frames", "deliveries", "transactions", "receipts", "heartbeats", "gaps", "findings")}
    sources = {name: name for name in rows} | {"gaps": "raw_frames", "findings": "compliance_findings"}
    for name, table in sources.items():
        columns = [one for one in tables[table].column_names if one not in ("raw", "headers", "header")]
        for row in tables[table].select(columns).to_pylist():
            if name != "gaps" or row["kind"] == "gap":
                rows[name][row["stream_id"]].append(row)
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


@pytest.mark.parametrize("profile", PROFILES)
def test_tables_agree_with_the_truth(profile: str, tmp_path: Path) -> None:
    made = generate(tmp_path / "made.pcap", Request(profile, seed=7, wanted=SMALL))
    check(json.loads(made.truth.read_text("utf-8")), tables_of([str(path) for path in made.paths]))
