"""Finds connections that both the lake and a batch have, at other times: a second capture point, whose clock differs, has seen them.

When the packets of both captures are computed together, `stompcap.tcp.capture_points` decides which connections are the same, so that the
lake equals that of one run over all captures. This module only finds candidates: connections between the same endpoints whose beginnings
differ by a time that several pairs have in common, or that have as many octets and lasted as long. A wrong candidate costs the time
to reread captures, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.recompute.connection_groups import ENDS, named
from stompcap.lake import data_files
from stompcap.lake.data_files import Files
from stompcap.lake.query import opened

if TYPE_CHECKING:
    from stompcap.lake.data_files import File

NEAR_NS = 26 * 3600 * 10**9
"""How far clocks are apart at most, as by time zones."""

SAME_NS = 10_000_000  # differences, and durations, that are this close count as equal
LONG_NS = 10 * 10**9  # how long a connection must last to be a candidate by its duration and octets
SEVERAL = 3  # pairs of connections that have a difference in common
DUPLICATES = pa.schema([("stream_id", pa.string()), ("first_ns", pa.int64()), ("last_ns", pa.int64()), ("other_ns", pa.int64()),
                   ("final", pa.bool_())])  # fmt: skip


def duplicates(new: Files, held: Sequence[File], source: str) -> pa.Table:
    """Connections of the lake that `new` rows of table streams may show once more, as DUPLICATES: `other_ns` is when the new ones began.

    `held` are the files of table streams with bounds of `first_ns`.
    """
    if not new.uris:
        return DUPLICATES.empty_table()
    with opened({"streams": new}) as database:
        [[begin, end]] = database.sql("SELECT min(first_ns), max(first_ns) FROM streams WHERE syn_seen").fetchall()
    near = data_files.overlapping(held, ["first_ns", "first_ns"], [(begin - NEAR_NS, end + NEAR_NS)], timeless=False) if begin else []
    if not near:
        return DUPLICATES.empty_table()
    sql = f"""
    WITH pairs AS (
        SELECT held.stream_id, held.first_ns, held.last_ns, held.final, new.first_ns AS other_ns, new.first_ns - held.first_ns AS ahead,
            held.outer_octets_c2s = new.outer_octets_c2s AND held.outer_octets_s2c = new.outer_octets_s2c
            AND abs(new.last_ns - new.first_ns - (held.last_ns - held.first_ns)) <= {SAME_NS}
            AND held.last_ns - held.first_ns >= {LONG_NS} AS alike
        FROM streams AS held JOIN new_streams AS new USING ({", ".join(ENDS)})
        WHERE held.source IN (SELECT source FROM sources) AND held.syn_seen AND new.syn_seen AND held.stream_id <> new.stream_id
    ), near AS (
        SELECT *, count(*) OVER (ORDER BY ahead RANGE BETWEEN {SAME_NS} PRECEDING AND {SAME_NS} FOLLOWING) AS several
        FROM pairs WHERE abs(ahead) <= {NEAR_NS}
    )
    SELECT stream_id, min(first_ns) AS first_ns, min(last_ns) AS last_ns, min(other_ns) AS other_ns, bool_and(final) AS final
    FROM near WHERE alike OR several >= {SEVERAL} GROUP BY stream_id ORDER BY stream_id"""  # noqa: S608  our own names and numbers
    with opened({"streams": Files.of("streams", near), "new_streams": new, "sources": named(source)}) as database:
        return database.sql(sql).to_arrow_table().cast(DUPLICATES)


def pairs(
    found: pa.Table, before: pa.Table, new: Sequence[Mapping[str, Any]]
) -> list[tuple[Mapping[str, Any], Mapping[str, Any], int]]:
    """The pairs of captures, rows of table captures, of connections that stay in the lake twice; what packets they share is not known."""
    shared = {}
    for row in found.to_pylist():
        one, other = _held_during(before, row["first_ns"]), _during(new, row["other_ns"])
        if one is not None and other is not None:
            shared[one["capture_id"], other["capture_id"]] = one, other, 0
    return list(shared.values())


def _during(captures: Sequence[Mapping[str, Any]], ns: int) -> Mapping[str, Any] | None:
    """The first capture with packets from before and after a moment."""
    return next((row for row in captures if row["first_ns"] is not None and row["first_ns"] <= ns <= row["last_ns"]), None)


def _held_during(captures: pa.Table, ns: int) -> Mapping[str, Any] | None:
    """As `_during`, among the rows of a table that may have very many."""
    within = pc.and_(pc.less_equal(captures.column("first_ns"), ns), pc.greater_equal(captures.column("last_ns"), ns))
    at = pc.index(within, True).as_py()
    return captures.slice(at, 1).to_pylist()[0] if at >= 0 else None
