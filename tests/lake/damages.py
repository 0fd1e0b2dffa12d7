"""Ways in which disks, copies and people damage a lake."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

from deltalake import DeltaTable


def last_commit(table: Path) -> Path:
    """The file of the latest commit."""
    return max((table / "_delta_log").glob("*.json"))


def a_file(table: Path) -> Path:
    """A data file that the latest version has."""
    return Path(unquote(min(DeltaTable(str(table)).file_uris()).removeprefix("file://")))


def cut(path: Path) -> None:
    """Half of a file."""
    os.truncate(path, path.stat().st_size // 2)


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "commit cut": (lambda table: cut(last_commit(table)), ".json is cut"),
    "commit empty": (lambda table: os.truncate(last_commit(table), 0), ".json is empty"),
    "commit of zeros": (lambda table: last_commit(table).write_bytes(bytes(99)), ".json is cut"),
    "first commit missing": (lambda table: min((table / "_delta_log").glob("*.json")).unlink(), "0.json is missing"),
    "file missing": (lambda table: a_file(table).unlink(), ".parquet is missing"),
    "file cut": (lambda table: cut(a_file(table)), ".parquet has "),
    "log gone": (lambda table: shutil.rmtree(table / "_delta_log"), "_delta_log is gone"),
    "table gone": (shutil.rmtree, " is gone"),
}
"""By name: what is done to a table's folder, and how it is told."""
