"""A run over captures on an S3 server: the tables of the same files on disk, in a process of its own with the server in its environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from deltalake import DeltaTable

from stompcap.options import Options
from stompcap.tables import TABLES
from tests.e2e.pure import tables_of
from tests.e2e.truth import DATA
from tests.s3 import store

pytestmark = [pytest.mark.slow, pytest.mark.spark]
LINEAGE = {"batch_id", "run_id", "path"}


def test_captures_and_key_logs_on_s3(tmp_path: Path) -> None:
    """TLS is opened by a key log in a folder there, which each task reads."""
    pytest.importorskip("moto")
    names = ("rabbitmq_dialogue.pcap", "artemis_midstream.pcapng", "rabbitmq_vertxtls.pcap")
    captures = {path.name: path for path in DATA.rglob("*.pcap*")}
    keys = DATA / "transports" / "rabbitmq_vertxtls.keys.txt"
    lake = tmp_path / "lake"
    with store() as s3:
        for name in names:
            s3.put(f"captures/{name}", captures[name].read_bytes())
        s3.put("keys/first.txt", keys.read_bytes())
        s3.put("captures/notes.txt", b"no capture")
        command = [sys.executable, "-m", "stompcap", "extract", "s3a://bucket/captures", "s3://bucket/missing"]
        command += ["--keylog", "s3a://bucket/keys", "--lake", str(lake), "--master", "local[2]", "--split-octets", "65536", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env={**os.environ, **s3.environment})
    assert done.returncode == 4, done.stderr[-3000:]
    assert "s3://bucket/missing: no such file or bucket" in done.stderr
    assert {one["path"] for one in json.loads(done.stdout)["captures"]} == {
        *(f"s3a://bucket/captures/{name}" for name in names),
        "s3://bucket/missing",
    }
    plain = tables_of([str(captures[name]) for name in names], Options(keylog=(str(keys),)))
    assert "tls" in plain["streams"].column("transport").to_pylist()
    for name in ("streams", "raw_frames", "segments"):
        found = DeltaTable(str(lake / name)).to_pyarrow_table(columns=TABLES[name].arrow.names)
        kept = [column for column in found.column_names if column not in LINEAGE]
        assert sorted(map(repr, found.select(kept).to_pylist())) == sorted(map(repr, plain[name].select(kept).to_pylist())), name
