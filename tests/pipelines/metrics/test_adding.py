"""A metric table is added where tables of gold are declared and where aggregates are: nothing else need be told of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TABLE = '''MADE_UP = Table(
    "made_up", "gold", "Sessions per day", (date("day", "The day"), SOURCE, big("sessions", "How many", nullable=False)),
    key=("day", "source"), statistics=("day",),
)
TABLES = (MADE_UP, '''
AGGREGATE = '''MADE_UP = Aggregate(
    name="made_up", period="day", length=datetime.timedelta(days=1), rows="sessions", by="s.opened_ts",
    periods="SELECT CAST(opened_ts AS DATE) AS period FROM {rows}", attributes="version",
    times={"sessions": ("opened_ts",), "streams": TRAFFIC},
    sql="""
    SELECT CAST(s.opened_ts AS DATE) AS day, t.source, count(*) AS sessions
    FROM sessions s JOIN streams t ON t.stream_id = s.stream_id WHERE {within} GROUP BY day, t.source""",
)
AGGREGATES = (MADE_UP, '''
CHECK = """
import sys
from pathlib import Path
from pipelines.metrics import gold
from stompcap.lake import maintenance, tables
from stompcap.tables.tables_page import document
from tests.pipelines.forgetting.forgotten_lakes import Connection, make
lake = make(Path(sys.argv[1]), [[Connection("0a" * 10, "10.1.2.3", "alice", 0), Connection("0b" * 10, "10.1.2.4", "bob", 0)]])
rows = tables.small(str(lake), "made_up").to_pylist()
assert [row["sessions"] for row in rows] == [2], rows
assert "made_up" in gold.TABLES and "made_up" in maintenance.AGGREGATES and "Sessions per day" in document()
"""


@pytest.mark.slow
def test_a_metric_table(tmp_path: Path) -> None:
    for folder in ("stompcap", "pipelines", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file, line, more in (("stompcap/tables/gold.py", "TABLES = (", TABLE), ("pipelines/metrics/gold.py", "AGGREGATES = (", AGGREGATE)):
        text = (tmp_path / file).read_text("utf-8")
        assert text.count(f"\n{line}") == 1
        (tmp_path / file).write_text(text.replace(f"\n{line}", f"\n{more}"), "utf-8")
    done = subprocess.run([sys.executable, "-c", CHECK, "lake"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
