"""`doctor --secrets`: whatever file of a lake has a secret, in whatever form, is named, and the secret is not."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from typer.testing import CliRunner

from stompcap.cli.main import app
from stompcap.lake import tables as lakes
from stompcap.lake.secret_search import Searcher, lines_of

SECRET = b"Zq8-Zq9-Zq7"


def test_in_columns_archives_and_other_files(tmp_path: Path) -> None:
    nested = pa.array([[{"name": "x", "value": "said " + SECRET.hex()}], [], None])
    state = io.BytesIO()
    np.savez_compressed(state, rows=np.frombuffer(b"..." + base64.b64encode(SECRET), np.uint8))
    table = pa.table({"headers": nested, "octets": [b"a", state.getvalue(), SECRET], "cut": [SECRET[:5].decode(), SECRET[5:].decode(), ""]})
    pq.write_table(table, tmp_path / "part.parquet", compression="zstd", write_statistics=False)
    (tmp_path / "log.json").write_bytes(b"{" + SECRET + b"}")
    (tmp_path / "none.json").write_bytes(b"{}")
    found = list(Searcher([b"", SECRET, b"other-secret", b"tiny"]).lake(str(tmp_path)))
    # the octets of a Parquet file have a secret plain only where compression left it so
    assert {(one.path, one.column, one.line, one.form) for one in found if one.column or one.path != "part.parquet"} == {
        ("log.json", "", 2, "plain"), ("part.parquet", "headers", 2, "hex"), ("part.parquet", "octets", 2, "plain"),
        ("part.parquet", "octets", 2, "base64"),
    }  # fmt: skip


def test_lines() -> None:
    assert lines_of(b"one\r\ntwo\n") == [b"one", b"two", b""]
    assert Searcher([b"a", b"", b"long-enough"]).short == [1]


def test_the_command_names_places_never_values(tmp_path: Path) -> None:
    lake, secrets = str(tmp_path / "lake"), tmp_path / "secrets.txt"
    lakes.create(lake)
    secrets.write_bytes(SECRET + b"\n")
    run = CliRunner().invoke(app, ["doctor", "--secrets", str(secrets), "--lake", lake])
    assert (run.exit_code, run.stdout) == (0, f"1 secret looked for in the files of {lake}: none found\n")
    (tmp_path / "lake" / "frames" / "left.json").write_bytes(SECRET)
    run = CliRunner().invoke(app, ["doctor", "--secrets", str(secrets), "--lake", lake])
    assert (run.exit_code, run.stdout) == (1, "frames/left.json: the secret of line 1, plain, 1 time\n")
