"""Captures named by URI: their file system, the files there, and errors in words for users.

The file systems are pyarrow's (S3, Google Cloud Storage, Azure, HDFS); credentials, region and endpoint come from where these search
for them, first in the environment. A URI is written into tables and messages, so it must not contain a password.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import pyarrow as pa
from pyarrow import fs

from stompcap.errors import CaptureError

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
ALIASES = {"s3a": "s3", "s3n": "s3"}  # as Hadoop names it
DENIED = ("ACCESS_DENIED", "FORBIDDEN", "INVALID_ACCESS_KEY", "SIGNATURE_DOES_NOT_MATCH", "INVALID_CLIENT_TOKEN", "403", "401")
UNREACHED = ("NETWORK_CONNECTION", "curlCode", "onnection")


def is_uri(path: str) -> bool:
    """Whether a path is a URI of anything but a local file."""
    return bool(SCHEME.match(path)) and not path.lower().startswith("file://")


def local(path: str) -> str:
    """A path unchanged, or the path of a file URI."""
    return unquote(urlsplit(path, allow_fragments=False).path) if path.lower().startswith("file://") else path


@contextmanager
def explained(uri: str) -> Iterator[None]:
    """Turns a file system's errors into CaptureError: one line, with the remedy."""
    try:
        yield
    except (OSError, pa.ArrowException, ValueError) as problem:
        raise CaptureError(uri, _remedy(problem)) from problem


def _remedy(problem: Exception) -> str:
    message = " ".join(str(problem).split())
    if isinstance(problem, FileNotFoundError) or "NO_SUCH_BUCKET" in message or "NO_SUCH_KEY" in message:
        return "no such file or bucket; check the URI"
    if isinstance(problem, PermissionError) or any(word in message for word in DENIED):
        return "no permission to read it; check the credentials in the environment (for S3 AWS_ACCESS_KEY_ID, AWS_PROFILE, ...)"
    if "Unrecognized filesystem" in message:
        return "the scheme of this URI is not supported; use s3, gs, abfs, hdfs or file"
    if any(word in message for word in UNREACHED):
        return f"the server cannot be reached ({message[:200]}); check the network, the region and the endpoint (for S3 AWS_ENDPOINT_URL)"
    return f"cannot be read ({message[:200]}); check the URI, the credentials and the region"


@functools.lru_cache(64)
def _filesystem(scheme: str, authority: str, query: str) -> tuple[fs.FileSystem, str]:
    """The file system of a bucket or host, and the path of its root; cached, for finding it may use the network."""
    system, root = fs.FileSystem.from_uri(urlunsplit((ALIASES.get(scheme, scheme), authority, "", query, "")))
    return system, root.rstrip("/")


def located(uri: str) -> tuple[fs.FileSystem, str]:
    """The file system and path that a URI means. Raises CaptureError."""
    parts = urlsplit(uri, allow_fragments=False)
    if parts.password is not None:
        named = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
        raise CaptureError(named, "has a password in its URI, which tables and messages would show; set it in the environment")
    with explained(uri):
        system, root = _filesystem(parts.scheme.lower(), parts.netloc, parts.query)
    return system, f"{root}/{unquote(parts.path).strip('/')}".rstrip("/")


def size(uri: str) -> int:
    """The octets of a file, 0 if it does not exist."""
    system, path = located(uri)
    with explained(uri):
        return system.get_file_info(path).size or 0


def listed(uri: str) -> list[str] | None:
    """The URIs of all files in a folder, or that match a glob (`*`, `**`, `[...]`); None for a URI of one file.

    Raises CaptureError where nothing has that name.
    """
    parts = urlsplit(uri, allow_fragments=False)
    marks = [at for mark in "*[" if (at := parts.path.find(mark)) >= 0]
    folder = parts.path[: parts.path.rfind("/", 0, min(marks)) + 1] if marks else parts.path
    system, path = located(urlunsplit(parts._replace(path=folder)))
    with explained(uri):
        if not marks:
            kind = system.get_file_info(path).type
            if kind == fs.FileType.File:
                return None
            if kind == fs.FileType.NotFound:
                raise FileNotFoundError(path)
        found = system.get_file_info(fs.FileSelector(path, recursive=True, allow_not_found=True))
    below = folder.strip("/") + "/" if folder.strip("/") else ""
    names = [unquote(below) + info.path[len(path) :].lstrip("/") for info in found if info.type == fs.FileType.File]
    fits = _pattern(unquote(parts.path).strip("/")) if marks else re.compile("")
    return sorted(urlunsplit(parts._replace(path="/" + quote(name))) for name in names if fits.match(name))


def _pattern(glob: str) -> re.Pattern[str]:
    """A glob as a regular expression for the files that it matches, and for those in folders that it matches."""
    words = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*"}
    parts = re.split(r"(\*\*/|\*\*|\*|\[[^]]+\])", glob)
    return re.compile("".join(words.get(part) or (part if part.startswith("[") else re.escape(part)) for part in parts) + "(?:/.*)?$")
