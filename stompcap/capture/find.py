"""Which files the user means: names, folders, globs and URIs to a list of captures.

A file named outright must be a capture; in folders and globs what is no capture by its magic is passed over, and what cannot be opened
is told of.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from stompcap.capture import uris
from stompcap.errors import CaptureError

WILD = ("*", "?", "[")
ASKED = 16  # files at a time, for each answer of a remote one takes a while


def find(named: Iterable[str], refuse: Callable[[CaptureError], None] | None = None) -> list[str]:
    """The capture files meant, each once, in order.

    What cannot be read (a named file that does not exist, a folder that cannot be listed, a file in a folder that cannot be opened) is
    given to `refuse`, and the rest is found all the same; without `refuse` it raises CaptureError.
    """
    found: dict[str, None] = {}
    for name in named:
        try:
            for path in _expand(name, refuse or _raise):
                found.setdefault(path)
        except CaptureError as error:
            (refuse or _raise)(error)
    return list(found)


def _raise(error: CaptureError) -> None:
    raise error


def sizes(paths: Iterable[str]) -> list[int]:
    """The octets of each file, 0 where that cannot be told: who opens it will say why."""
    with ThreadPoolExecutor(ASKED) as pool:
        return list(pool.map(_size, paths))


def _size(path: str) -> int:
    try:
        return uris.size(path) if uris.is_uri(path) else os.path.getsize(path)
    except (OSError, CaptureError):
        return 0


def _expand(name: str, refuse: Callable[[CaptureError], None]) -> list[str]:
    """What one argument stands for."""
    from stompcap.capture import is_capture

    def holds(path: str) -> bool:
        try:  # a pipe or a socket would keep who opens it waiting
            return (uris.is_uri(path) or os.path.isfile(path)) and is_capture(path)
        except CaptureError as error:
            refuse(error)
            return False

    if uris.is_uri(name):
        listed = uris.listed(name)
        if listed is None:
            return [name]
        with ThreadPoolExecutor(ASKED) as pool:
            return [path for path, meant in zip(listed, pool.map(holds, listed), strict=True) if meant]
    name = uris.local(name)
    if os.path.isdir(name):
        walked = os.walk(name, onerror=lambda error: refuse(_unlisted(error)))
        return sorted(path for folder, _, files in walked for path in (os.path.join(folder, file) for file in files) if holds(path))
    if os.path.lexists(name):
        return [name]
    if any(mark in name for mark in WILD):
        matches = sorted(glob.glob(name, recursive=True))
        return [
            path
            for match in matches
            for path in ([match] if os.path.isfile(match) and holds(match) else _expand(match, refuse) if os.path.isdir(match) else [])
        ]
    raise CaptureError(name, "no such file; check the name")


def _unlisted(error: OSError) -> CaptureError:
    """A folder that cannot be listed is an input that cannot be read."""
    return CaptureError(str(error.filename), f"cannot be listed ({error.strerror}); check its permissions")
