"""Levels as people read them; tables and settings have their first letters."""

from __future__ import annotations

import re

SPELLED = {"M": "MUST", "S": "SHOULD", "I": "INFO"}


def spelled(text: str) -> str:
    """A level, or a text of several such as `M/I` or `M in 1.2, S in 1.1`, in words."""
    return re.sub(r"\b[MSI]\b", lambda found: SPELLED[found[0]], text)
