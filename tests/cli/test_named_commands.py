"""Whatever tells a reader to enter a command tells one that exists."""

from __future__ import annotations

import re
from pathlib import Path

import typer.main

from stompcap.cli.main import app

ROOT = Path(__file__).resolve().parents[2]
ENTERED = re.compile(r"(?:<code>|`|\$ |with: |run |; |\"|')stompcap ([a-z]+)")
PROSE = {"delimiter", "needs"}  # "stompcap delimiter 1" begins what a delimiter saves; "stompcap needs this to work"


def test_commands_that_are_named_exist() -> None:
    known = PROSE | set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]  # a group of click's
    files = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    files += [path for end in ("py", "html") for path in (ROOT / "stompcap").rglob(f"*.{end}")]
    named = {path: set(ENTERED.findall(path.read_text("utf-8"))) for path in files}
    assert {"export"} <= named[ROOT / "stompcap" / "report" / "page.html"]
    assert {str(path.relative_to(ROOT)): found - known for path, found in named.items() if found - known} == {}
