"""Checks of `doctor` on places of another machine: a lake on an object store, and captures.

Two clients reach a store, pyarrow for files and deltalake for commits, each with its own search for credentials: both are tried.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from stompcap.cli.commands.check import Check
from stompcap.errors import CaptureError, EnvironmentProblem
from stompcap.units import counted

if TYPE_CHECKING:
    from pyarrow import fs

OPENED = 16
"""Of the captures of a store, how many are opened: each takes a request or two."""


def store(lake: str) -> Check:
    """Whether the place of a lake on an object store can be listed, written and deleted from, by both clients."""
    from deltalake import DeltaTable
    from deltalake.exceptions import TableNotFoundError

    from stompcap.lake import stores
    from stompcap.lake.paths import filesystem, location

    name = "store of the lake"
    try:
        system, root = filesystem(lake)
        with stores.explained(lake):
            there = _there(system, root)
            _written(system, root, new=not there)
            table = location(lake, "runs")
            with suppress(TableNotFoundError):
                DeltaTable(table, storage_options={**(stores.settings(table) or {}), "max_retries": "1"})
    except (EnvironmentProblem, OSError) as error:
        found, _, remedy = str(error).partition("; ")
        return Check(name, False, found, remedy or "check the URI, the credentials and the network")
    return Check(name, True, f"{lake} can be listed and written" + ("" if there else "; no lake there yet"))


def _there(system: fs.FileSystem, root: str) -> bool:
    """Whether there is something at a path."""
    from pyarrow import fs

    return bool(system.get_file_info(fs.FileSelector(root, allow_not_found=True)))


def _written(system: fs.FileSystem, root: str, *, new: bool) -> None:
    """Write an empty object and delete it; raises OSError."""
    path = f"{root}/doctor-{uuid.uuid4().hex}"
    with system.open_output_stream(path) as stream:
        stream.write(b"")
    system.delete_file(path)
    if new:  # pyarrow leaves an object for the folder
        system.delete_dir(root)


def captures(named: Sequence[str]) -> Check:
    """Whether the captures that are named can be listed and opened."""
    from stompcap.capture import is_capture, uris
    from stompcap.capture.find import find

    refused: list[CaptureError] = []
    total = 0
    for name in named:
        try:
            listed = uris.listed(name) if uris.is_uri(name) else find([name], refused.append)
            files = [name] if listed is None else listed
            total += len(files)
            if files and not any(is_capture(path) for path in islice(files, OPENED)):
                refused.append(CaptureError(name, "no capture by its first bytes; check the URI"))
        except CaptureError as error:
            refused.append(error)
    if refused:
        more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
        return Check("captures", False, f"{refused[0].path}: cannot be read{more}", refused[0].remedy)
    return Check("captures", True, f"{counted(total, 'file')} can be listed" + (", and opened" if total else ""))
