"""One pass over a capture for its row in table `captures`: digest, counts, times, status; and for the parts to read it in.

A file may be growing. Length and digest of the part used are kept, so that a later survey recognises its beginning and
takes only what follows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from stompcap.capture.checkpoint import NO_END
from stompcap.capture.compressed import Decompressed
from stompcap.capture.digest import Digest
from stompcap.capture.files import Window, open_capture
from stompcap.capture.read_ahead import ReadAhead
from stompcap.capture.records import Walk
from stompcap.capture.remote import Ranged
from stompcap.capture.segments import Batch, Decoder
from stompcap.capture.splits import Cuts, Split
from stompcap.options import Options
from stompcap.tables.words import UNREADABLE

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Known:
    """A capture in a lake: its id, and how much of its file was used, with the SHA-256 of that part."""

    capture_id: str
    used_octets: int
    used_sha256: str


@dataclass(frozen=True)
class Survey:
    """A capture's row of table `captures` (without run_id and batch_id), and the parts to read it in: none where it is unreadable.

    `carried_octets`: how much payload its segments carry.
    """

    row: dict[str, Any]
    splits: tuple[Split, ...]
    carried_octets: int

    @property
    def readable(self) -> bool:
        """Whether packets were read."""
        return bool(self.row["status"] != UNREADABLE)


@dataclass
class _Count:
    """Counts and times, accumulated batch by batch."""

    carry: bool
    packets: int = 0
    used: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    first: int | None = None
    last: int | None = None
    carried: int = 0

    def add(self, batch: Batch) -> None:
        """Count a batch."""
        self.packets += len(batch.records)
        self.used += batch.used
        self.skipped.update(batch.skipped)
        low, high = int(batch.records.ts_ns.min()), int(batch.records.ts_ns.max())
        self.first = low if self.first is None else min(self.first, low)
        self.last = high if self.last is None else max(self.last, high)
        sizes = batch.decoded.captured_octets
        whole = int((sizes if batch.rows is None else sizes[batch.rows]).sum()) if self.carry else 0
        self.carried += whole or sum(map(len, batch.payloads.values()))


def survey(path: str, source: str, *, tunnels: bool = True) -> dict[str, Any] | None:
    """The row of a capture file for table `captures`, without run_id and batch_id; None for an empty file."""
    found = examine(path, source, tunnels=tunnels)
    return found.row if found else None


def examine(
    path: str,
    source: str,
    split_octets: int = Options.split_octets,
    known: Iterable[Known] = (),
    *,
    tunnels: bool = True,
    limit: int | None = None,
    size: int | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Survey | None:
    """Survey a capture file in one pass; None for an empty one.

    It is cut into parts of about `split_octets`. Where it begins as one of `known` does, row and parts cover what
    follows: packet numbers go on, and `continues` names the longest of them. `skipped` and `tcp_segments` add up to
    `packets`; `tunnels` as for Decoder, `limit`, `size` and the CaptureError raised as for `open_capture`. `progress` is called with
    the number of octets hashed since its last call, for a large capture in a thread of its own.
    """
    capture = open_capture(path, limit, size)
    if not capture.format:
        return None
    with ExitStack() as until_done:
        if isinstance(capture, Ranged):
            capture.raw = until_done.enter_context(ReadAhead(capture.raw))
        digest = until_done.enter_context(Digest(capture, progress))
        return _in_one_pass(capture, digest, source, split_octets, known, limit, tunnels=tunnels)


def _in_one_pass(
    capture: Window, digest: Digest, source: str, split_octets: int, known: Iterable[Known], limit: int | None, *, tunnels: bool
) -> Survey:
    """As `examine`, of a capture that was opened."""
    whole = capture.compression is not None  # it is taken to be complete, and read in one piece
    walk, decoder = Walk(capture), Decoder(tunnels=tunnels)
    if isinstance(capture, Ranged):
        capture.sliding = digest.to
    carry = whole or isinstance(capture, Ranged)  # as stompcap.spark.workers.read has it
    count, path, size, continues = _Count(carry), capture.path, capture.size, None
    cuts = Cuts(path, size, NO_END if whole else split_octets)
    ahead = [] if whole else sorted(known, key=lambda one: -one.used_octets)
    used_octets, used_sha256 = 0, digest.hex()
    walk.stop = _next(cuts, ahead)
    for records in walk:
        batch = decoder.decode(records)
        count.add(batch)
        if isinstance(capture, Decompressed):
            digest.to(capture.fetched)  # while it is in memory
        if walk.reached is None or whole:
            continue
        digest.to(walk.reached.offset)
        used_octets = digest.reached
        while ahead and ahead[-1].used_octets <= used_octets:
            one = ahead.pop()
            if one.used_octets == used_octets == walk.reached.offset and one.used_sha256 == digest.hex():
                continues, count = one.capture_id, _Count(carry)
                cuts.restart(walk.reached, decoder.defragmenter)
        cuts.offer(walk.reached, decoder.defragmenter)
        walk.stop = _next(cuts, ahead)
    if not whole:
        used_sha256 = digest.hex()
    digest.to(size)
    capture_id = digest.hex()
    if whole:
        used_octets, used_sha256 = size, capture_id
    row = {
        "capture_id": capture_id,
        "path": path,
        "source": source,
        "format": capture.format,
        "compression": capture.compression,
        "size_octets": size,
        "used_octets": used_octets,
        "used_sha256": used_sha256,
        "continues": continues,
        "link_types": walk.link_types,
        "snaplen": walk.snaplen,
        "packets": count.packets,
        "tcp_segments": count.used,
        "skipped": dict(count.skipped),
        "first_ns": count.first,
        "last_ns": count.last,
        "has_secrets": walk.secrets,
        "first_ts": None if count.first is None else EPOCH + timedelta(microseconds=count.first // 1000),
        "status": walk.status,
        "damage": walk.damage,
    }
    return Survey(row, (Split(path, size, limit=limit, packets=count.packets),) if whole else cuts.splits(walk.reached), count.carried)


def unreadable(path: str, source: str, why: str) -> Survey | None:
    """The row of a capture that cannot be read: with its identity and the reason, all else null.

    None where its octets cannot be read, or are not a capture's: then it has no identity.
    """
    try:
        capture = open_capture(path, NO_END)
        digest = Digest(capture)
        digest.to(capture.size)
    except Exception:  # noqa: BLE001 - it was unreadable before
        return None
    if not capture.format:
        return None
    row = {
        "capture_id": digest.hex(),
        "path": path,
        "source": source,
        "format": capture.format,
        "compression": capture.compression,
        "size_octets": capture.size,
        "status": UNREADABLE,
        "damage": why,
    }
    return Survey(row, (), 0)


def changed(row: Mapping[str, Any], before: Iterable[Known]) -> bool:
    """Whether a file is another one than `before`: it does not continue what was used of the file with that path."""
    used = {one.capture_id: one.used_octets for one in before}
    return row["capture_id"] not in used and used.get(row["continues"], 0) < max(used.values(), default=0)


def parts(path: str, split_octets: int, *, tunnels: bool = True) -> tuple[Split, ...]:
    """The parts of about `split_octets` to read a capture file in; a smaller or compressed one is one part.

    Errors as `open_capture`.
    """
    capture = open_capture(path)
    size = capture.size
    if capture.compression is not None or size <= split_octets:
        return (Split(path, size),) if size else ()
    walk, decoder, cuts = Walk(capture), Decoder(tunnels=tunnels), Cuts(path, size, split_octets)
    walk.stop = cuts.next
    for records in walk:
        decoder.decode(records)
        capture.release(records.begin, records.end)
        if walk.reached is not None:
            cuts.offer(walk.reached, decoder.defragmenter)
        walk.stop = cuts.next
    return cuts.splits(walk.reached)


def _next(cuts: Cuts, ahead: list[Known]) -> int:
    """Where the next batch must end at the latest."""
    return min(cuts.next, ahead[-1].used_octets) if ahead else cuts.next
