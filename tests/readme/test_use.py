"""What README and docs/ say a command line and a Python program do, done as it is printed there."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.readme.conftest import SAID
from tests.readme.printed import DOCS, ROOT, made_by_ci, section


def test_what_to_try_is_made_by_ci() -> None:
    assert set(section("Try it").commands()) == {"make demo", "make test"} <= made_by_ci()


@pytest.mark.slow
@pytest.mark.spark
def test_commands(used: Path) -> None:
    assert {"lake", "strict", "report.html", "stream.pcap"} <= {path.name for path in used.iterdir()}


@pytest.mark.slow
@pytest.mark.spark
def test_the_summary_is_printed_as_it_is_shown(used: Path) -> None:
    [shown] = section("Try it").blocks("text")
    printed = {line.rstrip() for line in (used / SAID).read_text(encoding="utf-8").splitlines()}
    assert [line for line in shown.splitlines() if line != "..." and line not in printed] == []
    assert max(map(len, shown.splitlines())) <= 120, "it fits a page"


@pytest.mark.slow
@pytest.mark.spark
def test_python(folder: Path) -> None:
    [block] = section("Examples", DOCS / "python.md").blocks("python")
    done = subprocess.run(
        [sys.executable, "-c", block + "print(packets.count(), frames.count())"],
        cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    said = done.stdout.splitlines()
    assert said[0] == "SEND"
    assert all(int(count) > 0 for count in said[-1].split())


def test_duckdb_polars_and_pandas_read_a_lake(tmp_path: Path) -> None:
    from stompcap.lake import tables as lakes

    lakes.create(str(tmp_path / "lake"))
    [block] = section("DuckDB, polars and pandas", DOCS / "sql.md").blocks("python")
    lines = [line for line in block.splitlines() if find_spec("polars") or "polars" not in line]  # polars is no dependency
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "destination" in done.stdout
