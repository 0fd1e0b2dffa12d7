"""Writes a page to a file atomically."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def replace(path: Path, page: str) -> None:
    """Write beside the file, then rename: a reader never sees half a page. The umask says who may read it, as of any file."""
    name = path.parent / f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}"
    try:
        with open(name, "x", encoding="utf-8", errors="backslashreplace") as file:
            file.write(page)
        os.replace(name, path)
    except BaseException:
        name.unlink(missing_ok=True)
        raise
