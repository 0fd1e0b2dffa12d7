"""What docs/architecture.md names is there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs" / "architecture.md").read_text("utf-8")
FOLDERS = sorted(set(re.findall(r"`((?:stompcap|pipelines|jobs|airflow_dags|data|tests)(?:/[\w./]+)?)`", TEXT)))
NAMES = sorted(set(re.findall(r"\b((?:stompcap|pipelines)(?:\.[a-z_]+)+)(?:\b|`)", TEXT)))


@pytest.mark.parametrize("name", FOLDERS)
def test_paths_exist(name: str) -> None:
    assert (ROOT / name).exists()


@pytest.mark.parametrize("name", NAMES)
def test_modules_and_functions_exist(name: str) -> None:
    module, _, member = name.rpartition(".")
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        assert hasattr(importlib.import_module(module), member)


def test_every_part_of_the_library_has_its_line() -> None:
    parts = {f"stompcap/{path.parent.name}" for path in (ROOT / "stompcap").glob("*/__init__.py")}
    assert parts <= set(FOLDERS)
