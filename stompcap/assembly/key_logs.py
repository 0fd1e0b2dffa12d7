"""Where secrets of TLS connections come from: key logs that the user names, and captures that have some with their packets.

Files are read where they are needed, by each task, and read again when they have grown. Nothing of them is written anywhere.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import reduce
from operator import or_

from stompcap.capture import uris
from stompcap.capture.find import WILD
from stompcap.capture.remote import Ranges
from stompcap.capture.secrets_blocks import key_logs
from stompcap.errors import CaptureError
from stompcap.transport.keys import NO_KEYS, KeyLog

MOST_OCTETS = 1 << 28
"""Octets of a key log; one of a million connections has about so many."""

SEARCHED_OCTETS = 1 << 26
"""Octets of captures, together, that are searched for secrets behind their first packets; of more only what lies before these is."""

_read: dict[str, tuple[tuple[int, int], KeyLog]] = {}


def of_task(named: Sequence[str], captures: Sequence[str]) -> KeyLog:
    """The secrets of these key logs, and before them those in the captures. Key logs that this host cannot read are counted."""
    found, behind = [], _are_small(captures)
    for path in captures:
        with suppress(CaptureError, OSError):
            found.append(_cached(path, capture=True, behind=behind))
    for name in named:
        try:
            found.append(of_files([name]))
        except CaptureError:
            found.append(KeyLog(unread=1))
    return reduce(or_, found, NO_KEYS)


def of_files(named: Sequence[str]) -> KeyLog:
    """The secrets of these key logs. Raises CaptureError for one that cannot be read."""
    return reduce(or_, (_cached(path) for path in paths(named)), NO_KEYS)


def paths(named: Iterable[str]) -> list[str]:
    """The files that names mean: files, folders, globs and URIs, those of a folder in the order of their names. Raises CaptureError."""
    found: dict[str, None] = {}
    for name in named:
        found |= dict.fromkeys(_expanded(name))
    return list(found)


def _expanded(name: str) -> list[str]:
    if uris.is_uri(name):
        listed = uris.listed(name)
        return [name] if listed is None else listed
    name = uris.local(name)
    if os.path.isdir(name):
        return sorted(path for one in os.listdir(name) if os.path.isfile(path := os.path.join(name, one)))
    if os.path.lexists(name):
        if not os.path.isfile(name):
            raise CaptureError(name, "is no key log; name a file, or a folder of files")
        return [name]
    if any(mark in name for mark in WILD):
        return sorted(path for path in glob.glob(name, recursive=True) if os.path.isfile(path))
    raise CaptureError(name, "no such key log; check the name")


def _are_small(captures: Sequence[str]) -> bool:
    """Whether captures are searched as a whole for secrets: every task that has TLS does so."""
    octets = 0
    for path in captures:
        with suppress(CaptureError, OSError):
            octets += uris.size(path) if uris.is_uri(path) else os.path.getsize(path)
        if octets > SEARCHED_OCTETS:
            return False
    return True


def _cached(path: str, *, capture: bool = False, behind: bool = True) -> KeyLog:
    """What a file has, read only where it is not the one that was read before."""
    if uris.is_uri(path):
        known = (uris.size(path), 0)
    else:
        try:
            found = os.stat(path)
        except OSError as error:
            raise CaptureError(path, f"cannot be read ({error.strerror}); check the key log") from error
        known = (found.st_size, found.st_mtime_ns)
    if path not in _read or _read[path][0] != known:
        _read[path] = known, _of_capture(path, behind) if capture else KeyLog.of(_octets(path, known[0]))
    return _read[path][1]


def _of_capture(path: str, behind: bool) -> KeyLog:
    return reduce(or_, map(KeyLog.of, key_logs(path, behind=behind)), NO_KEYS)


def _octets(path: str, size: int) -> bytes:
    if size > MOST_OCTETS:
        raise CaptureError(path, "is too large for a key log; name another file")
    if uris.is_uri(path):
        return Ranges(path).read(0, size).tobytes()
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise CaptureError(path, f"cannot be read ({error.strerror}); check the key log") from error
