"""Captures read in this process: their packets as one trace in order of time, and the tables of their connections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stompcap.errors import CaptureError, unforeseen
from stompcap.units import counted

if TYPE_CHECKING:
    import pyarrow as pa

    from stompcap.options import Options

MOST_OCTETS = 1 << 26
"""Octets of all captures together, decompressed; what is more is for `stompcap run`."""


@dataclass
class Packets:
    """The packets of captures that could be read, as one trace in order of time."""

    paths: list[str] = field(default_factory=list)  # in order of time; the rank of each is its id
    clocks: Sequence[int] = ()  # of the captures by rank (stompcap.capture.rotation)
    segments: list[pa.Table] = field(default_factory=list)
    last_ns: int = 0
    octets: int = 0
    flaws: list[str] = field(default_factory=list)
    """Captures that are truncated or damaged, in words."""

    lacking: list[str] = field(default_factory=list)
    """Why captures may show less than was said: packets cut short, or without TCP; in words."""


def read(trace: Packets, paths: Sequence[str], options: Options, refuse: Callable[[CaptureError], None], most: int = MOST_OCTETS) -> None:
    """Put the packets of these captures into a trace; one that cannot be read, or that would be too much, is refused and left out."""
    parts: list[tuple[int, int, str, list[pa.RecordBatch]]] = []
    for path in paths:
        try:
            parts.append(_segments(path, options, most - trace.octets, trace))
        except Exception as error:  # noqa: BLE001 - other captures are shown whatever is wrong with this one
            refuse(unforeseen(path, error))
    _put(trace, parts)


def _segments(path: str, options: Options, left: int, trace: Packets) -> tuple[int, int, str, list[pa.RecordBatch]]:
    """The segments of one capture, and its first and last time; they carry their payload if it is compressed."""
    from stompcap.capture import open_capture, segments
    from stompcap.capture.compressed import Decompressed
    from stompcap.capture.splits import Split

    window = open_capture(path)
    compressed = isinstance(window, Decompressed)
    taken = 0 if compressed else window.size
    if taken > left:
        raise _too_large(path)
    first, last, batches = 1 << 62, 0, []
    part = Split(path, limit=options.max_decompressed)
    walk, decoded = segments.walked(part, 65536, vlan=options.vlan, tunnels=options.tunnels)
    skipped, cut, used = Counter[str](), 0, 0
    for batch in decoded:
        skipped.update(batch.skipped)
        used += batch.used
        cut += batch.cut
        taken += int(batch.records.captured.sum()) if compressed else 0
        if taken > left:
            raise _too_large(path)
        first, last = min(first, int(batch.records.ts_ns.min())), max(last, int(batch.records.ts_ns.max()))
        if batch.used:
            batches.append(segments.segment_batch(batch, 0, carry=compressed))
    if walk.damage:
        trace.flaws.append(f"{path}: {walk.status}: {walk.damage}")
    if cut:
        trace.lacking.append(f"{path}: {cut:,} of {counted(used, 'TCP segment')} were captured in part (snaplen {walk.snaplen})")
    if skipped and not used:
        reasons = ", ".join(f"{number:,} {reason}" for reason, number in skipped.most_common())
        trace.lacking.append(f"{path}: no packet has TCP that can be read ({reasons})")
    trace.octets += taken
    trace.last_ns = max(trace.last_ns, last)
    return first, last, path, batches


def _put(trace: Packets, parts: list[tuple[int, int, str, list[pa.RecordBatch]]]) -> None:
    """Captures in order of time, each segment with the rank of its capture."""
    import pyarrow as pa

    from stompcap.capture.ranking import ranked

    found = ranked(
        {"path": path, "first_ns": first, "last_ns": last, "capture_id": str(at), "batches": batches}
        for at, (first, last, path, batches) in enumerate(parts)
    )
    trace.clocks = found.clocks
    for rank, row in enumerate(found.rows):
        trace.paths.append(row["path"])
        for batch in row["batches"]:
            table = pa.Table.from_batches([batch])
            ranks = pa.repeat(pa.scalar(rank, pa.int32()), table.num_rows)
            trace.segments.append(table.set_column(0, table.schema.field(0), ranks))


def _too_large(path: str) -> CaptureError:
    too_large = f"makes more than {MOST_OCTETS >> 20} MiB of captures in all"
    return CaptureError(path, f"{too_large}; use a lake: stompcap run CAPTURE... --lake lake, then stompcap show --lake lake")
