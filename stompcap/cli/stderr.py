"""Messages on standard error."""

from __future__ import annotations

import sys


def to_stderr(line: str) -> None:
    """Print one line on standard error, made safe for a terminal."""
    from stompcap.visible import visible

    cursor = "\x1b[?25h" if sys.stderr.isatty() else ""  # a progress bar hides it
    print(f"{cursor}stompcap: {visible(line)}", file=sys.stderr, flush=True)
