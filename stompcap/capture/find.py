"""Which files the user means: names, folders, globs and URIs to a list of captures.

A file named outright must be a capture; in folders and globs what is no capture by its magic is passed over.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from stompcap.capture import uris
from stompcap.errors import CaptureError

WILD = ("*", "?", "[")
ASKED = 16  # files at a time, for each answer of a remote one takes a while


def find(named: Iterable[str]) -> list[str]:
    """The capture files meant, each once, in order; raises CaptureError for a named file that does not exist."""
    found: dict[str, None] = {}
    for name in named:
        for path in _expand(name):
            found.setdefault(path)
    return list(found)


def sizes(paths: Iterable[str]) -> list[int]:
    """The octets of each file, 0 where that cannot be told: who opens it will say why."""
    with ThreadPoolExecutor(ASKED) as pool:
        return list(pool.map(_size, paths))


def _size(path: str) -> int:
    try:
        return uris.size(path) if uris.is_uri(path) else os.path.getsize(path)
    except (OSError, CaptureError):
        return 0


def _expand(name: str) -> list[str]:
    """What one argument stands for."""
    from stompcap.capture import is_capture

    if uris.is_uri(name):
        listed = uris.listed(name)
        if listed is None:
            return [name]
        with ThreadPoolExecutor(ASKED) as pool:
            return [path for path, holds in zip(listed, pool.map(is_capture, listed), strict=True) if holds]
    name = uris.local(name)
    if os.path.isdir(name):
        walked = (os.path.join(folder, file) for folder, _, files in os.walk(name, onerror=_refuse) for file in files)
        return sorted(path for path in walked if is_capture(path))
    if os.path.lexists(name):
        return [name]
    if any(mark in name for mark in WILD):
        matches = sorted(glob.glob(name, recursive=True))
        return [
            path
            for match in matches
            for path in ([match] if os.path.isfile(match) and is_capture(match) else _expand(match) if os.path.isdir(match) else [])
        ]
    raise CaptureError(name, "no such file; check the name")


def _refuse(error: OSError) -> None:
    """A folder that cannot be listed is an input that cannot be read."""
    raise CaptureError(str(error.filename), f"cannot be listed ({error.strerror}); check its permissions")
