"""What README and docs/ print to be typed or copied: the blocks of a section, and its console blocks as a script."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README, DOCS = ROOT / "README.md", ROOT / "docs"
HEADING = re.compile(r"^(#+) (.*)$", re.MULTILINE)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROMPT = "$ "


@dataclass(frozen=True)
class Section:
    """What stands between a heading and the next one."""

    title: str
    text: str

    def blocks(self, language: str) -> list[str]:
        """The blocks of that language, in order."""
        return [text for name, text in BLOCK.findall(self.text) if name == language]

    def commands(self) -> list[str]:
        """The commands of the console blocks, one that goes on behind a backslash as one."""
        found: list[str] = []
        for block in self.blocks("console"):
            for line in block.splitlines():
                if line.startswith(PROMPT):
                    found.append(line.removeprefix(PROMPT))
                elif found and found[-1].endswith("\\"):
                    found[-1] += f"\n{line}"
        return found


def section(title: str, page: Path = README) -> Section:
    """The section of a page with that heading; blocks may hold lines that look like headings."""
    text = page.read_text(encoding="utf-8")
    within = [match.span() for match in BLOCK.finditer(text)]
    headings = [one for one in HEADING.finditer(text) if not any(begin <= one.start() < end for begin, end in within)]
    ends = [one.start() for one in headings[1:]] + [len(text)]
    (found,) = [Section(title, text[one.end() : end]) for one, end in zip(headings, ends, strict=True) if one[2] == title]
    return found


def made_by_ci() -> set[str]:
    """The targets that .ci/run makes as parts of their own, each from a clean clone."""
    return set(re.findall(r"\bmake [a-z]+", (ROOT / ".ci" / "run").read_text(encoding="utf-8")))


def follow(commands: list[str], folder: Path, variables: Mapping[str, str], seconds: float, before: Path | None = None) -> str:
    """Type the commands in a folder, with .venv/bin in PATH as README asks, and a folder `before` it; what they print on standard output.

    AssertionError, with the end of all they said, at the first one that fails.
    """
    others = ("SPARK_", "PYSPARK_", "PYTHONPATH", "AIRFLOW", "STOMPCAP_")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(others) or k == "STOMPCAP_HASH_KEY"}  # lakes are compared
    environment |= {"PATH": ":".join(map(str, [*([before] if before else []), ROOT / ".venv" / "bin", os.environ["PATH"]])), **variables}
    done = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", "\n".join(commands)],
        cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
    return done.stdout
