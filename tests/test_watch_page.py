"""The units that docs/watch.md prints are ones that systemd takes, and name a command that exists."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.readme.printed import BLOCK

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "watch.md").read_text("utf-8")
UNITS = [text for language, text in BLOCK.findall(PAGE) if language == "ini"]


def test_two_units_are_printed() -> None:
    assert [re.match(r"# /etc/systemd/system/(\S+)\n", unit)[1] for unit in UNITS] == [  # type: ignore[index]
        "stomp-capture.service", "stompcap-watch.service",
    ]  # fmt: skip


def test_systemd_takes_them(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze here")
    for unit in UNITS:
        text = re.sub(r"^(ExecStart(?:Pre)?=)\S+", rf"\1{shutil.which('true')}", unit, flags=re.MULTILINE)
        (tmp_path / Path(unit.splitlines()[0]).name).write_text(text)
    verify = ["systemd-analyze", "verify", "--man=no", *map(str, sorted(tmp_path.iterdir()))]
    done = subprocess.run(verify, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_unit_that_is_wrong_would_be_found(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze here")
    (tmp_path / "odd.service").write_text(UNITS[1].replace("KillMode=mixed", "KillMod=mixed"))
    done = subprocess.run(["systemd-analyze", "verify", tmp_path / "odd.service"], capture_output=True, text=True, check=False)
    assert "KillMod" in done.stderr
