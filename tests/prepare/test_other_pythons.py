"""The source, installed into an environment of another version of Python: it reads a capture as this one does."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples import THOROUGH

ROOT = Path(__file__).resolve().parents[2]
TRACE = ROOT / "data" / "rabbitmq_habits.pcap"
COMMANDS = (["peek", TRACE, "--json"], ["check", TRACE, "--format", "json"])


def another() -> str | None:
    """A Python that pyproject.toml admits and that this machine has, the newest, other than the one that runs the tests."""
    on_path = (shutil.which(f"python3.{minor}") for minor in (13, 12))
    of_pyenv = sorted((str(path) for path in Path.home().glob(".pyenv/versions/3.1[23].*/bin/python")), reverse=True)
    return next((path for path in (*on_path, *of_pyenv) if path and _starts(path)), None)


def _starts(python: str) -> bool:
    """Whether it is there: pyenv has a file on the path for versions that are not switched on."""
    return subprocess.run([python, "-c", "import venv, ensurepip"], capture_output=True, check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not THOROUGH, reason="installs and compiles for minutes; HYPOTHESIS_PROFILE=thorough runs it")
def test_another_python_reads_captures_alike(tmp_path: Path) -> None:
    python = another()
    if python is None:
        pytest.skip("no other Python is installed that pyproject.toml admits")
    environment = tmp_path / "environment"
    subprocess.run([python, "-m", "venv", environment], check=True)
    install = ["-m", "pip", "install", "--quiet", "--constraint", str(ROOT / ".ci" / "constraints.txt"), str(ROOT)]
    subprocess.run([environment / "bin" / "python", *install], check=True, cwd=tmp_path)
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    for words in COMMANDS:
        there, here = (
            subprocess.run([*command, *words], cwd=folder, env=variables, capture_output=True, text=True, check=False)
            for command, folder, variables in (
                ([environment / "bin" / "stompcap"], tmp_path, clean), ([sys.executable, "-m", "stompcap"], ROOT, None),
            )
        )  # fmt: skip
        assert there.returncode == here.returncode, there.stderr
        assert there.stdout == here.stdout
        assert there.stdout
