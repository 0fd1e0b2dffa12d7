"""Messages on standard error: a line of text, or with --log-format json a record."""

from __future__ import annotations

import sys
from typing import Any

from stompcap import logs


def to_stderr(line: str, level: str = "WARNING", **fields: Any) -> None:
    """Print one line on standard error, made safe for a terminal; or log it."""
    if logs.structured():
        logs.tell("cli", line, level, **fields)
        return
    from stompcap.visible import visible

    cursor = "\x1b[?25h" if sys.stderr.isatty() else ""  # a progress bar hides it
    print(f"{cursor}stompcap: {visible(line)}", file=sys.stderr, flush=True)


def note(line: str) -> None:
    """Print a line on the progress of work on standard error; or log it."""
    if logs.structured():
        logs.tell("progress", line)
    else:
        print(line, file=sys.stderr, flush=True)
