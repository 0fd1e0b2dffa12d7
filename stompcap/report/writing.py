"""Writes a page to a file atomically."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def replace(path: Path, page: str) -> None:
    """Write beside the file, then rename: a reader never sees half a page."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(page)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
