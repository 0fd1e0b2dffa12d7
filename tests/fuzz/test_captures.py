"""Mutated captures through the reader and the reassembler: rows or CaptureError, in bounded time and memory, and the counts add up."""

from __future__ import annotations

import faulthandler
import os
import resource
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from random import Random

import pytest

from stompcap.capture import read_segments, survey
from stompcap.errors import CaptureError
from stompcap.tcp import reassemble
from tests.fuzz.mutations import mutated
from tests.fuzz.seeds import seeds
from tests.mangler.files import COMPRESS

WORKERS = 2
WARM = 80  # files before the first that counts
SECONDS = 5.0  # of work for one file; ten times that on the clock ends the process
MEMORY = 1 << 30  # more than is in use when the first file comes
COMPRESSED = 0.25  # share of files that are compressed, before or after they were mutated


def probe(path: str) -> str | None:
    """What is wrong about how a file is read; None if nothing."""
    try:
        row = survey(path, "fuzz")
        segments = sum(batch.num_rows for batch in read_segments(path, 0))
        connections = list(reassemble(path))
        held = sum(len(octets) for one in connections for side in (one.c2s, one.s2c) for _, octets in side.chunks)
    except CaptureError:
        return None
    if row is None:
        return None if not segments else "an empty capture with segments"
    if row["tcp_segments"] + sum(row["skipped"].values()) != row["packets"]:
        return f"counts do not add up: {row}"
    if segments != row["tcp_segments"]:
        return f"{segments} segments, surveyed {row['tcp_segments']}"
    if (row["status"] == "complete") != (row["damage"] is None):
        return f"{row['status']}: {row['damage']}"
    if any(side.length < sum(len(octets) for _, octets in side.chunks) for one in connections for side in (one.c2s, one.s2c)):
        return f"{held} octets are more than the streams are long"
    return None


def made(number: int, pool: list[bytes]) -> bytes:
    """The file of that number."""
    dice = Random(number)
    octets = dice.choice(pool)
    if dice.random() >= COMPRESSED:
        return mutated(octets, dice, pool)
    compress = COMPRESS[dice.choice(sorted(COMPRESS))]
    return mutated(compress(octets), dice, pool) if dice.random() < 0.5 else compress(mutated(octets, dice, pool))


def written(folder: Path, octets: bytes) -> Path:
    """A file with these octets."""
    path = folder / "capture"
    path.write_bytes(octets)
    return path


def batch(folder: str, first: int, count: int) -> list[str]:
    """Try `count` files, numbered from `first`; a line for each that is read wrongly, too slowly or with too much memory."""
    (place := Path(folder) / str(first)).mkdir()
    pool = seeds(place)
    for number in range(WARM):  # compiled kernels are loaded before time and memory are counted
        probe(str(written(place, made(-1 - number, pool))))
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    found = []
    for number in range(first, first + count):
        octets = made(number, pool)
        path = written(place, octets)
        faulthandler.dump_traceback_later(10 * SECONDS, exit=True)
        begun = time.process_time()
        try:
            wrong = probe(str(path))
        except Exception:  # noqa: BLE001  whatever it is, it is what this test looks for
            wrong = traceback.format_exc()
        took = time.process_time() - begun
        faulthandler.cancel_dump_traceback_later()
        if took > SECONDS:
            wrong = f"took {took:.1f} s"
        if wrong:
            kept = Path(folder) / f"wrong-{number}"
            kept.write_bytes(octets)
            found.append(f"{number} ({kept}): {wrong}")
    return found


def tried(folder: Path, total: int, seed: int) -> list[str]:
    """Try that many files in processes of their own, whose memory is bounded."""
    size = -(-total // WORKERS)
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as pool:
        jobs = [pool.submit(batch, str(folder), seed + i * size, size) for i in range(WORKERS)]
        return [line for job in jobs for line in job.result()]


@pytest.mark.slow
def test_mutated_captures_give_rows_or_the_documented_error(tmp_path):
    wrong = tried(tmp_path, int(os.environ.get("FUZZ_FILES", "4000")), 1)
    assert not wrong, "\n".join(wrong[:20])
