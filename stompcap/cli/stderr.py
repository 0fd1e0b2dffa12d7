"""What is said on standard error."""

from __future__ import annotations

import sys


def say(line: str) -> None:
    """One line on standard error, whatever is in it."""
    from stompcap.visible import visible

    cursor = "\x1b[?25h" if sys.stderr.isatty() else ""  # a progress bar hides it
    print(f"{cursor}stompcap: {visible(line)}", file=sys.stderr, flush=True)
