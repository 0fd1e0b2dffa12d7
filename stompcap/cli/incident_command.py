"""`watch --exec`: a program of the user's that is told of each incident, as JSON on its standard input.

No shell has a part in it: the command is split into words as a shell would, once, and what comes from the wire is on standard input only.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from stompcap.cli import cells
from stompcap.errors import UsageError
from stompcap.visible import visible

LONGEST_S = 30
"""A program that takes longer is ended, so that it does not hold up the rounds."""


def words_of(command: str) -> list[str]:
    """The program and its arguments; raises UsageError where there is no such program."""
    try:
        found = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--exec {visible(command, 60)}: {str(error).lower()}") from error
    if not found or shutil.which(found[0]) is None:
        raise UsageError(f"--exec {visible(command, 60)}: no such program; name one that can be executed, and its arguments")
    return found


def as_object(state: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """An incident as programs get it: `state` is began or ended, the rest are the columns of table incidents."""
    return {"type": "incident", "state": state, **cells.plain(dict(row))}


def tell(words: list[str], state: str, row: Mapping[str, Any]) -> str | None:
    """Run the program with an incident; returns what went wrong with it, None where nothing did. What it prints goes to standard error."""
    says = json.dumps(as_object(state, row)) + "\n"
    try:
        done = subprocess.run(words, input=says.encode(), stdout=_stderr(), timeout=LONGEST_S, check=False)
    except subprocess.TimeoutExpired:
        return f"--exec {visible(words[0], 60)}: ended after {LONGEST_S} s"
    except OSError as error:
        return f"--exec {visible(words[0], 60)}: {error.strerror or error}"
    return None if done.returncode == 0 else f"--exec {visible(words[0], 60)}: exit code {done.returncode}"


def _stderr() -> int:
    """The file of standard error, or none where there is no such file."""
    try:
        return sys.stderr.fileno()
    except (OSError, ValueError):
        return subprocess.DEVNULL
