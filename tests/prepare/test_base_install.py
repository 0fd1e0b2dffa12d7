"""The wheels of `make dist`: which of them pip takes where, how large the one with kernels is, and that it reads captures without numba."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from email.parser import BytesParser
from pathlib import Path

import pytest

from tests.shared import missing

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
MOST_MB = 450
TRACE = ROOT / "data" / "rabbitmq_habits.pcap"


def wheels() -> tuple[Path, Path]:
    """The wheel for any Python and the one with kernels."""
    found = sorted(DIST.glob("*.whl"), key=lambda path: not path.name.endswith("none-any.whl"))
    if not found:
        missing("dist/: make dist")
    if len(found) == 1:
        missing("a C compiler and the headers of Python: no wheel has compiled kernels")
    one, other = found
    return one, other


def required(wheel: Path) -> list[str]:
    """What it requires without extras."""
    with zipfile.ZipFile(wheel) as file:
        [name] = [name for name in file.namelist() if name.endswith(".dist-info/METADATA")]
        lines = BytesParser().parsebytes(file.read(name)).get_all("Requires-Dist") or []
    return [line.split(">")[0] for line in lines if "extra ==" not in line]


@pytest.mark.cluster
def test_the_wheel_without_kernels_requires_what_compiles_them() -> None:
    for_any, with_kernels = wheels()
    assert set(required(for_any)) - set(required(with_kernels)) == {"numba"}
    for wheel, there in ((for_any, False), (with_kernels, True)):
        with zipfile.ZipFile(wheel) as file:
            assert any(name.endswith(".so") for name in file.namelist()) == there


@pytest.mark.cluster
@pytest.mark.parametrize(("version", "machine", "kernels"), [(0, "", True), (1, "", False), (0, "sparc", False)])
def test_pip_takes_the_one_that_fits(version: int, machine: str, kernels: bool, tmp_path: Path) -> None:
    """Another version of Python, or another processor, gets the one that compiles its kernels."""
    fits, wanted = wheels()[kernels].name, f"3.{sys.version_info.minor + version}"
    platform = f"linux_{machine or os.uname().machine}"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--no-deps", "--no-index", "--ignore-requires-python"]
    command += ["--find-links", DIST, "--only-binary", ":all:", "--python-version", wanted, "--platform", platform]
    done = subprocess.run([*command, "--target", tmp_path, "--report", "-", "stompcap"], check=True, capture_output=True, text=True)
    [taken] = json.loads(done.stdout)["install"]
    assert taken["download_info"]["url"].rpartition("/")[2] == fits


@pytest.mark.cluster
def test_the_wheel_alone_reads_captures(tmp_path: Path) -> None:
    wheels()
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    install = ["-m", "pip", "install", "--quiet", "--constraint", ROOT / ".ci" / "constraints.txt", "--find-links", DIST, "stompcap"]
    subprocess.run([environment / "bin" / "python", *install], check=True)
    sizes = subprocess.run(["du", "-sm", environment], check=True, capture_output=True, text=True).stdout
    assert int(sizes.split()[0]) <= MOST_MB
    command = [environment / "bin" / "stompcap", "peek", TRACE, "--json"]
    alone = subprocess.run(command, cwd=tmp_path, env={"PATH": "/usr/bin:/bin"}, check=True, capture_output=True, text=True).stdout
    here = subprocess.run([sys.executable, "-m", "stompcap", *command[1:]], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert alone == here
    assert any(json.loads(line) for line in alone.splitlines())
    assert not list((environment / "lib").glob("*/site-packages/numba"))
