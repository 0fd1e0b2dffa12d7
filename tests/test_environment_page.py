"""The page of environment variables names those that the code reads."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_every_variable_of_stompcap_is_on_the_page() -> None:
    sources = [path for name in ("stompcap", "pipelines", "jobs", "airflow_dags") for path in (ROOT / name).rglob("*.py")]
    read = {name for path in sources for name in re.findall(r"\bSTOMPCAP_[A-Z_]*[A-Z]", path.read_text("utf-8"))}
    named = set(re.findall(r"\bSTOMPCAP_[A-Z_]*[A-Z]", (ROOT / "docs" / "environment.md").read_text("utf-8")))
    assert read == named
