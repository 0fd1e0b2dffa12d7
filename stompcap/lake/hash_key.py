"""The key of body_hash and content_hash: 128 bits by chance, in a file of the lake beside its tables, which only its owner may read.

It is made when the lake is, or first needed in a lake that an older version made. Lakes to be compared are given the same one in the
environment. Who has the key and the lake can try whether a guessed body is in it, so tables, logs and recorded options do not show it.
"""

from __future__ import annotations

import os
import re
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING

from stompcap.errors import EnvironmentProblem, UsageError
from stompcap.lake import stores
from stompcap.lake.paths import filesystem, location
from stompcap.options import HASH_KEY_VARIABLE

if TYPE_CHECKING:
    from pyarrow import fs

KEY_OCTETS = 16
FILE = "_hash_key"


def given() -> bytes | None:
    """The key in the environment, None if there is none; UsageError for one that is none."""
    text = os.environ.get(HASH_KEY_VARIABLE)
    if not text:
        return None
    if not re.fullmatch(f"[0-9A-Fa-f]{{{2 * KEY_OCTETS}}}", text):
        raise UsageError(f"{HASH_KEY_VARIABLE}: a key has {2 * KEY_OCTETS} hexadecimal digits; leave it out to use the lake's own")
    return bytes.fromhex(text)


def of_lake(lake: str) -> bytes:
    """The key of a lake, made if there is none yet; EnvironmentProblem where it cannot be read."""
    if (key := given()) is not None:
        return key
    where = location(lake, FILE)
    with stores.explained(lake):
        system, path = filesystem(where)
        if (key := _read(system, path)) is None:
            key = secrets.token_bytes(KEY_OCTETS)
            key = _made(path, key) if "://" not in where else _stored(system, path, key)
    if len(key) != KEY_OCTETS:
        raise EnvironmentProblem(f"{where}: is no key of {KEY_OCTETS} bytes; restore it, or delete it to have another one from now on")
    return key


def _read(system: fs.FileSystem, path: str) -> bytes | None:
    """The octets of the file, None where there is none."""
    with suppress(FileNotFoundError), system.open_input_stream(path) as stream:
        return bytes(stream.read())
    return None


def _made(path: str, key: bytes) -> bytes:
    """A file with the key, whole from the moment it has its name; or the key that another run has made meanwhile."""
    draft = f"{path}.{secrets.token_hex(8)}"
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(key)
    try:
        os.link(draft, path)
    except FileExistsError:
        with open(path, "rb") as file:
            return file.read()
    except OSError:  # a file system without links
        os.replace(draft, path)
        return key
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft)
    return key


def _stored(system: fs.FileSystem, path: str, key: bytes) -> bytes:
    """An object with the key."""
    with system.open_output_stream(path) as stream:
        stream.write(key)
    return key
