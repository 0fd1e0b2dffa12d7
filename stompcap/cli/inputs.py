"""The inputs that a command line names: where none of them is there, that is told before anything is imported or started for them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from glob import has_magic

from stompcap.cli.stderr import to_stderr
from stompcap.errors import NoSuchFile


def demand_some(names: Sequence[str]) -> None:
    """Raise NoSuchFile where files are named and none is there, the others told on standard error; patterns and URIs may name some."""
    missing = [NoSuchFile(name) for name in dict.fromkeys(names) if not _may_be_there(name)]
    if missing and len(missing) == len(set(names)):
        for error in missing[:-1]:
            to_stderr(str(error))
        raise missing[-1]


def _may_be_there(name: str) -> bool:
    return "://" in name or has_magic(name) or os.path.lexists(name)
