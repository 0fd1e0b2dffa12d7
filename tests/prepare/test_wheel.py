"""The wheel holds what a clone has of the packages, data files too."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("stompcap", "pipelines")
PROGRAMS = ("jobs", "airflow_dags")


@pytest.mark.slow
def test_wheel_is_complete(tmp_path: Path) -> None:
    for name in PACKAGES + PROGRAMS:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    there = {str(path.relative_to(tmp_path)) for name in PACKAGES for path in (tmp_path / name).rglob("*") if path.is_file()}
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--use-pep517", "--no-deps", "--wheel-dir", "dist", "."]
    subprocess.run(command, cwd=tmp_path, check=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        assert there <= set(file.namelist())
    assert {"stompcap/py.typed", "pipelines/py.typed"} <= there
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    install = [sys.executable, "-m", "pip", "--python", environment / "bin" / "python", "install", "--quiet", "--no-deps", wheel]
    subprocess.run(install, check=True)
    for name in PROGRAMS:
        installed = {path.name for path in (environment / "share" / "stompcap" / name).glob("*.py")}
        assert installed == {path.name for path in (ROOT / name).glob("*.py")} != set()
