"""A command is added in a file of its own and by a line in `main`: its help and its page follow."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = '''"""`made-up`: how many tables a lake has."""

from __future__ import annotations

import typer

from stompcap.cli import common


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(made_up)


def made_up(lake: common.Lake) -> None:
    """Count the tables."""
    from stompcap.tables import TABLES

    print(f"{lake}: {len(TABLES)} tables")
'''
CHECK = """
from stompcap.cli.commands_page import document
from stompcap.cli.entry import main
assert "made-up" in document() and "Count the tables." in document()
main()
"""


@pytest.mark.slow
def test_a_command(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "stompcap", tmp_path / "stompcap", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "stompcap/cli/commands/made_up_command.py").write_text(COMMAND, "utf-8")
    main = tmp_path / "stompcap/cli/main.py"
    text = main.read_text("utf-8").replace("    peek_command,\n", "    made_up_command,\n    peek_command,\n")
    main.write_text(text.replace("app = new()\n", "app = new()\nmade_up_command.register(app)\n"), "utf-8")
    run = [sys.executable, "-c", CHECK, "made-up", "--lake", "here"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip().endswith("tables")) == (0, True), done.stderr
