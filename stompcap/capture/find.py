"""Which files the user means: expands names, folders, globs and URIs to a list of captures.

A file named outright must be a capture. In folders and globs, files that are no captures by their magic are passed over, and those that
cannot be opened are reported.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from stompcap.capture import uris
from stompcap.errors import CaptureError, NoSuchFile

WILD = ("*", "?", "[")
ASKED = 16  # files at a time, as each request to a remote one takes a while


def find(named: Iterable[str], refuse: Callable[[CaptureError], None] | None = None) -> list[str]:
    """The capture files meant, each once, in order.

    What cannot be read (a named file that does not exist, a folder that cannot be listed, a file in a folder that cannot be opened) is
    passed to `refuse`, and the search continues; without `refuse` it raises CaptureError.
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
    """The octets of each file, 0 where its size is unknown: opening it will show why."""
    with ThreadPoolExecutor(ASKED) as pool:
        return list(pool.map(_size, paths))


def _size(path: str) -> int:
    try:
        return uris.size(path) if uris.is_uri(path) else os.path.getsize(path)
    except (OSError, CaptureError):
        return 0


def _expand(name: str, refuse: Callable[[CaptureError], None]) -> list[str]:
    """The files that one argument names."""
    from stompcap.capture import is_capture

    def is_wanted(path: str) -> bool:
        try:  # opening a pipe or a socket would block
            return (uris.is_uri(path) or os.path.isfile(path)) and is_capture(path)
        except CaptureError as error:
            refuse(error)
            return False

    if uris.is_uri(name):
        listed = uris.listed(name)
        if listed is None:
            return [name]
        with ThreadPoolExecutor(ASKED) as pool:
            return [path for path, meant in zip(listed, pool.map(is_wanted, listed), strict=True) if meant]
    name = uris.local(name)
    if os.path.isdir(name):
        walked = os.walk(name, onerror=lambda error: refuse(_unlisted(error)))
        return sorted(path for folder, _, files in walked for path in (os.path.join(folder, file) for file in files) if is_wanted(path))
    if os.path.lexists(name):
        _demand_file(name)
        return [name]
    if any(mark in name for mark in WILD):
        matches = sorted(glob.glob(name, recursive=True))
        return [
            path
            for match in matches
            for path in ([match] if os.path.isfile(match) and is_wanted(match) else _expand(match, refuse) if os.path.isdir(match) else [])
        ]
    raise NoSuchFile(name)


def _demand_file(name: str) -> None:
    """Raise CaptureError for a pipe, a socket or a device: it is read once, and to open it may take for ever."""
    if os.path.exists(name) and not os.path.isfile(name):
        raise CaptureError(name, "is a pipe or a device, which can be read only once; write it to a file, or show it with: stompcap peek -")


def _unlisted(error: OSError) -> CaptureError:
    """The error of a folder that cannot be listed."""
    return CaptureError(str(error.filename), f"cannot be listed ({error.strerror}); check its permissions")
