"""The wheel of `make dist` without extras, in an environment of its own: how large that is, and that it reads captures without numba."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared import missing

ROOT = Path(__file__).resolve().parents[2]
MOST_MB = 450
TRACE = ROOT / "data" / "rabbitmq_habits.pcap"


@pytest.mark.cluster
def test_the_wheel_alone_reads_captures(tmp_path: Path) -> None:
    [wheel] = (ROOT / "dist").glob("*.whl")
    if wheel.name.endswith("none-any.whl"):
        missing("a C compiler and the headers of Python: the wheel has no compiled kernels")
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    install = ["-m", "pip", "install", "--quiet", "--constraint", str(ROOT / ".ci" / "constraints.txt"), str(wheel)]
    subprocess.run([environment / "bin" / "python", *install], check=True)
    sizes = subprocess.run(["du", "-sm", environment], check=True, capture_output=True, text=True).stdout
    assert int(sizes.split()[0]) <= MOST_MB
    command = [environment / "bin" / "stompcap", "peek", TRACE, "--json"]
    alone = subprocess.run(command, cwd=tmp_path, env={"PATH": "/usr/bin:/bin"}, check=True, capture_output=True, text=True).stdout
    here = subprocess.run([sys.executable, "-m", "stompcap", *command[1:]], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert alone == here
    assert any(json.loads(line) for line in alone.splitlines())
    assert not list((environment / "lib").glob("*/site-packages/numba"))
