"""Reads the octets of extents: from mapped captures, from segments that carry their own, or from the file they were spilled to."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow as pa

from stompcap.capture.files import Mapped, Source
from stompcap.capture.remote import RANGE_OCTETS
from stompcap.capture.segment_columns import NOT_KEPT, SPILLED
from stompcap.columns import I64, U8, Octets, column
from stompcap.kernel import kernel
from stompcap.tcp.results import Extents, Reassembly, covering

STAR = ord("*")  # what the octets of passcodes are overwritten with
STRETCHES = 8192  # read before a mapped file's pages are released
BETWEEN_OCTETS = 1 << 20  # less is read along rather than requested around
REQUESTS = 4  # in parallel


@kernel
def copy_runs(source: Octets, begins: I64, lengths: I64, targets: I64, out: Octets) -> None:
    """Copy stretches of one buffer to where they belong in another."""
    for i in range(len(begins)):
        run, target = source[begins[i] : begins[i] + lengths[i]], out[targets[i] : targets[i] + lengths[i]]
        for k in range(len(run)):
            target[k] = run[k]


@kernel
def count_different(kept: Octets, kept_at: I64, other: Octets, other_at: I64, lengths: I64, masked: U8, counts: I64, into: I64) -> None:
    """Add to `counts[into[i]]` how many octets of each pair of stretches differ; where one is `masked`, an asterisk equals any octet."""
    for i in range(len(lengths)):
        for k in range(lengths[i]):
            first, second = kept[kept_at[i] + k], other[other_at[i] + k]
            if first != second and not (masked[i] and (first == STAR or second == STAR)):
                counts[into[i]] += 1


@kernel
def copy_repeated(octets: Octets, one: I64, two: I64, kept: Octets, repeated: Octets, at: I64, lengths: I64) -> None:
    """Write repeated octets as those that they equal; where they differ, as others, so that a later comparison finds the difference too."""
    for i in range(len(lengths)):
        for k in range(lengths[i]):
            octet = octets[one[i] + k]
            octets[two[i] + k] = octet if kept[at[i] + k] == repeated[at[i] + k] else ~octet


def gather(extents: Extents, segments: pa.Table, sources: Mapping[int, Source]) -> Octets:
    """The octets of `extents` back to back, in their order.

    `segments` is the table that was reassembled, `sources` the captures by rank (those that the extents need), and under the
    rank SPILLED the spilled payload.
    """
    return octets_at(extents.row, extents.skip, extents.length, segments, sources)


def octets_at(rows: I64, skip: I64, lengths: I64, segments: pa.Table, sources: Mapping[int, Source]) -> Octets:
    """Stretches of the payload of segments back to back: of these rows, behind `skip` octets of it; asterisks where it is nowhere."""
    ends = np.cumsum(lengths)
    targets = ends - lengths
    out = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    capture, file_offset = column(segments, "capture")[rows], column(segments, "file_offset")[rows]
    spilled = file_offset <= SPILLED
    file_offset, capture = np.where(spilled, SPILLED - file_offset, file_offset), np.where(spilled, SPILLED, capture)
    in_file = file_offset >= 0
    for rank in np.unique(capture[in_file]).tolist():
        which = slice(None) if in_file.all() and (capture == rank).all() else np.flatnonzero(in_file & (capture == rank))
        copy_from(sources[rank], (file_offset + skip)[which], lengths[which], targets[which], out)
    if not in_file.all():
        own = np.flatnonzero(~in_file)
        copy_carried(segments.column("payload"), rows[own], skip[own], lengths[own], targets[own], out)
    return out


def copy_from(source: Source, begins: I64, lengths: I64, targets: I64, out: Octets) -> None:
    """Copy stretches of a capture to where they belong in `out`: from memory, or by range requests that cover many of them.

    The pages of a mapped file are released now and then, for the system maps many around each that is touched.
    """
    if isinstance(source, np.ndarray):
        copy_runs(source, begins, lengths, targets, out)
        return
    if isinstance(source, Mapped):
        for some in range(0, len(begins), STRETCHES):
            part = slice(some, some + STRETCHES)
            copy_runs(source.octets, begins[part], lengths[part], targets[part], out)
            source.release(0, source.size)
        return

    def fetch(which: I64) -> None:
        begin = int(begins[which].min())
        fetched = source.read(begin, int((begins[which] + lengths[which]).max()))
        copy_runs(fetched, begins[which] - begin, lengths[which], targets[which], out)

    with ThreadPoolExecutor(REQUESTS) as pool:
        list(pool.map(fetch, together(begins, lengths)))


def together(begins: I64, lengths: I64) -> list[I64]:
    """Groups of stretches for one request each: those with little between them, up to RANGE_OCTETS."""
    order = np.argsort(begins, kind="stable")
    begin = begins[order]
    reached = np.maximum.accumulate(begin + lengths[order])
    apart = np.flatnonzero(begin[1:] > reached[:-1] + BETWEEN_OCTETS) + 1
    groups = []
    for group in np.split(order, apart):
        cuts = np.flatnonzero(np.diff((begins[group] - begins[group[0]]) // RANGE_OCTETS)) + 1 if len(group) else group
        groups += [part for part in np.split(group, cuts) if len(part)]
    return groups


def copy_carried(payload: pa.ChunkedArray, rows: I64, skip: I64, lengths: I64, targets: I64, out: Octets) -> None:
    """Copy stretches of the payloads that segments carry to where they belong in `out`; asterisks for segments that carry none."""
    first = 0
    for chunk in payload.chunks:
        which = np.flatnonzero((rows >= first) & (rows < first + len(chunk)))
        if which.size and chunk.null_count:
            there = chunk.is_valid().to_numpy(zero_copy_only=False)[rows[which] - first]
            for one in which[~there].tolist():
                out[targets[one] : targets[one] + lengths[one]] = STAR
            which = which[there]
        if which.size:
            _, offsets, data = chunk.buffers()
            begins = np.frombuffer(offsets, np.int32)[rows[which] - first + chunk.offset] + skip[which]
            copy_runs(np.frombuffer(data, np.uint8), begins, lengths[which], targets[which], out)
        first += len(chunk)


def count_conflicts(reassembly: Reassembly, segments: pa.Table, sources: Mapping[int, Source]) -> I64:
    """How many octets captured again differ from those kept: shape (streams, 2), second index the side.

    Octets that an earlier run did not keep are left out, and those that it masked differ from none.
    """
    counts = np.zeros(2 * len(reassembly.streams), np.int64)
    if not len(reassembly.overlaps):
        return counts.reshape(-1, 2)
    one, two = captured_twice(reassembly)
    earlier = column(segments, "earlier")
    there = (earlier[one.row] < NOT_KEPT) & (earlier[two.row] < NOT_KEPT)
    one, two = one.take(there), two.take(there)
    masked = (earlier[one.row] != earlier[two.row]).astype(np.uint8)
    left, right = gather(one, segments, sources), gather(two, segments, sources)
    at = np.cumsum(one.length) - one.length
    count_different(left, at, right, at, one.length, masked, counts, one.stream.astype(np.int64) * 2 + one.side)
    return counts.reshape(-1, 2)


def captured_twice(reassembly: Reassembly) -> tuple[Extents, Extents]:
    """Stretches of octets captured more than once: as they are kept, and as they came again; the lengths of a pair are equal."""
    overlaps, extents = reassembly.overlaps, reassembly.extents
    first, last = covering(extents, overlaps), covering(extents, overlaps, last=True)
    # an overlap may lie across several extents: one pair for each
    pairs = last - first + 1
    which = np.repeat(np.arange(len(overlaps)), pairs)
    kept = first[which] + np.arange(len(which)) - np.repeat(np.cumsum(pairs) - pairs, pairs)
    begin = np.maximum(extents.offset[kept], overlaps.offset[which])
    end = np.minimum(extents.offset[kept] + extents.length[kept], overlaps.offset[which] + overlaps.length[which])
    one = extents.take(kept)
    one = replace(one, offset=begin, length=end - begin, skip=one.skip + begin - one.offset)
    two = overlaps.take(which)
    two = replace(two, offset=begin, length=end - begin, skip=two.skip + begin - two.offset)
    return one, two
