"""Paths in a lake: of its tables, of files in them that no commit names yet, and the file system of each."""

from __future__ import annotations

import functools
import hashlib
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit, urlunsplit

import pyarrow as pa

from stompcap.errors import EnvironmentProblem
from stompcap.lake.stores import explained, same_for_all

if TYPE_CHECKING:
    from pyarrow import fs

    from stompcap.options import Options

OPEN = "open-"
"""Prefix of the names of data files with rows of open streams, which the next run replaces."""


@dataclass(frozen=True)
class DataFile:
    """A Parquet file in a table's folder that no commit names yet."""

    table: str
    path: str
    size: int
    rows: int
    statistics: str


def location(lake: str, table: str) -> str:
    """Where a table of the lake lies: a path or URI that deltalake and pyarrow take alike."""
    return f"{same_for_all(lake).rstrip('/')}/{table}"


def open_files(options: Options) -> str:
    """The prefix of the names of data files with rows of streams that a run with these options may go on with.

    These are the streams of runs that bring segments together alike: of one source, by the same rules for overlaps, VLANs and tunnels.
    """
    alike = json.dumps([options.source, options.overlap, options.vlan, options.tunnels])
    return f"{OPEN}{hashlib.sha256(alike.encode()).hexdigest()[:16]}-"


def filesystem(uri: str) -> tuple[fs.FileSystem, str]:
    """A path or URI as pyarrow's file systems take it; a path may contain any character."""
    from pyarrow import fs

    if "://" not in uri:
        return fs.LocalFileSystem(), os.path.abspath(uri)
    parts = urlsplit(same_for_all(uri), allow_fragments=False)
    with explained(uri):
        system, root = _store(parts.scheme.lower(), parts.netloc, parts.query, os.environ.get("AWS_ENDPOINT_URL", ""))
    return system, f"{root}/{unquote(parts.path).strip('/')}"


@functools.lru_cache(64)
def _store(scheme: str, host: str, query: str, endpoint: str) -> tuple[fs.FileSystem, str]:
    """The file system of a bucket or host, and the path of its root; cached for each endpoint, for finding it may use the network."""
    from pyarrow import fs

    del endpoint  # pyarrow takes it from the environment too
    try:
        system, root = fs.FileSystem.from_uri(urlunsplit((scheme, host, "/", query, "")))
    except pa.ArrowInvalid as error:
        raise EnvironmentProblem(f"{scheme}://{host}: no store by this scheme is known; use s3, gs, abfs, hdfs or file") from error
    return system, root.rstrip("/")
