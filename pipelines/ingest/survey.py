"""What the files named are: captures the lake has already, new ones with the parts to read them in, files that cannot be read.

A file of this machine is examined by this process, beside the start of Spark; what lies elsewhere, and is much, by Spark's tasks. A
file that is a known capture to the last octet is recognised by its digest alone, so that a run that finds nothing new needs no Spark.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.ingest import ledger
from pipelines.result import Refused
from stompcap.capture import Known, Survey, uris
from stompcap.capture.find import sizes
from stompcap.errors import CaptureError
from stompcap.progress import Counter, Progress
from stompcap.spark.master import planned_cores
from stompcap.spark.workers.survey import Survey as Task
from stompcap.spark.workers.survey import examined
from stompcap.tasks.packing import FILE_OCTETS, Packs, packed, tasks_to_read

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from stompcap.options import Options
    from stompcap.spark.session import LazySession

DRIVER_OCTETS = 1 << 28
"""Octets of files that the driver of a cluster examines by itself."""

READ_OCTETS = 1 << 24


@dataclass(frozen=True)
class KnownFile:
    """A file whose octets are those of a capture of the lake: its path, and that capture's row."""

    path: str
    row: dict[str, Any]


@dataclass(frozen=True)
class Surveyed:
    """What examining the files found: captures, files of captures that the lake has, empty files, files that cannot be read."""

    captures: list[Survey]
    known: list[KnownFile]
    empty: list[str]
    refused: list[Refused]


def survey(paths: Sequence[str], options: Options, known: Sequence[dict[str, Any]], spark: LazySession, progress: Progress) -> Surveyed:
    """Look at every file once: digest, format, counts, times, and the parts to read it in.

    `known` are rows of table captures: a file that begins as one of the same source and name did goes on from there. `spark` is
    begun as soon as a file must be new.
    """
    octets = dict(zip(paths, sizes(paths), strict=True))
    sizes_known, by_id = {row["size_octets"] for row in known}, {row["capture_id"]: row for row in known}
    growing = {_name(row["path"]) for row in known if row["compression"] is None}
    candidates = [path for path in paths if octets[path] and octets[path] in sizes_known and not uris.is_uri(path)]
    others = set(paths).difference(candidates)
    if any(octets[path] and _name(path) not in growing for path in others):  # by its name, the file is none of the lake's that has grown
        spark.begin()
    progress.begin("looking at captures", sum(octets.values()))
    counter = Counter(progress)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        digests = dict(zip(candidates, pool.map(lambda path: _digest(path, counter), candidates), strict=True))
    found_by_id = ((path, by_id.get(digests[path] or "")) for path in candidates)
    held = [KnownFile(path, row) for path, row in found_by_id if row is not None and row["size_octets"] == octets[path]]
    known_paths = {one.path for one in held}
    rest = [path for path in paths if path not in known_paths]
    if any(path in digests for path in rest):
        spark.begin()
    answers = _examine(rest, [octets[path] for path in rest], options, known, spark, counter) if rest else []
    return Surveyed(
        [found for _, found in answers if isinstance(found, Survey) and found.readable],
        held,
        [path for path, found in answers if found is None],
        [Refused.of(found) for _, found in answers if isinstance(found, CaptureError) or (found and not found.readable)],
    )


def related(lake: str, paths: Sequence[str], octets: Collection[int]) -> list[dict[str, Any]]:
    """The captures of the lake that files may be, or may go on from: those of their names or sizes."""
    return ledger.known_as(lake, {_name(path) for path in paths}, octets)


def sizes_here(paths: Iterable[str]) -> set[int]:
    """The sizes of those files that lie on this machine."""
    return set(sizes(path for path in paths if not uris.is_uri(path)))


def _name(path: str) -> str:
    """The last part of a path: a growing file may be named by another way to its folder."""
    return path.rstrip("/").rsplit("/", 1)[-1]


def _digest(path: str, counter: Counter) -> str | None:
    """The SHA-256 of a file; None where it cannot be read, for which `examined` finds the words."""
    digest = hashlib.sha256()
    try:
        with open(uris.local(path), "rb", buffering=0) as file:
            while octets := file.read(READ_OCTETS):
                digest.update(octets)
                counter.add(len(octets))
    except OSError:
        return None
    return digest.hexdigest()


def beginnings(known: Iterable[dict[str, Any]], source: str) -> Callable[[str], list[Known]]:
    """By a file's path the captures of a source that it may go on from: those of files of its name, rows of table captures."""
    found: dict[str, list[Known]] = defaultdict(list)
    for row in known:
        if row["source"] == source and row["compression"] is None and row["used_octets"]:
            found[_name(row["path"])].append(Known(row["capture_id"], row["used_octets"], row["used_sha256"]))
    return lambda path: found.get(_name(path), [])


def _examine(
    paths: Sequence[str], octets: Sequence[int], options: Options, known: Iterable[dict[str, Any]], spark: LazySession, counter: Counter
) -> list[tuple[str, Survey | CaptureError | None]]:
    """What each file is, in order of path."""
    before = beginnings(known, options.source)
    if sum(octets) <= DRIVER_OCTETS or (spark.local() and not any(map(uris.is_uri, paths))):

        def look(index: int) -> tuple[str, Survey | CaptureError | None]:
            path = paths[index]
            return path, examined(path, options, before(path), counter.add)

        largest_first = sorted(range(len(paths)), key=lambda index: -octets[index])
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return sorted(pool.map(look, largest_first), key=lambda answer: answer[0])
    session = spark()
    packs = packed(octets, tasks_to_read(sum(octets) + len(paths) * FILE_OCTETS, planned_cores(session)))
    task = Task(Packs([(paths[i], before(paths[i])) for i in pack] for pack in packs), options)
    rows = session.range(0, len(packs), 1, len(packs)).mapInArrow(task, "found BINARY").collect()
    return sorted((pickle.loads(row["found"]) for row in rows), key=lambda answer: answer[0])  # noqa: S301  written by our own tasks

