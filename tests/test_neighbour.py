"""Another package `pipelines` in the way is told in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
INSTALLED = """  # as a wheel is, without the finder of an editable installation
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if getattr(finder, "__name__", "") != "_EditableFinder"]
"""
COMMAND = INSTALLED + """
sys.argv = ["stompcap", "run", "x.pcap", "--lake", "lake"]
from stompcap.cli.entry import main
main()
"""
PROGRAM = INSTALLED + """
import stompcap
try:
    stompcap.run(["x.pcap"], "lake")
except stompcap.StompcapError as error:
    raise SystemExit(f"stompcap: {error}")
"""


@pytest.mark.parametrize("program", [COMMAND, PROGRAM], ids=["command", "program"])
def test_another_package_of_the_name_is_told(program: str, tmp_path: Path) -> None:
    (tmp_path / "x.pcap").touch()
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "__init__.py").touch()
    surroundings = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=surroundings, capture_output=True, text=True, check=False)
    assert done.stderr == (
        f"stompcap: another package pipelines, at {tmp_path / 'pipelines'}, hides that of stompcap; "
        "give stompcap a Python environment and a folder without it\n"
    )
    assert done.returncode != 0
