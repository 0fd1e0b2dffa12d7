"""What connections of a batch carried that is not read, in words; where no STOMP was found, all that they carried.

And octets of STOMP that were left out, as no stream can have them where their sequence numbers say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stompcap.lake import data_files, open_tables, query
from stompcap.lake.paths import location
from stompcap.units import counted, size
from stompcap.unread import kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from pyspark.sql import SparkSession

MOST_NAMED = 4


def not_read(lake: str, batch: str, ports: Collection[int], spark: Callable[[], SparkSession]) -> list[str]:
    """Lines on the connections of a batch of which no octets are read; `ports` are those where STOMP is expected.

    A header of a balancer with nothing behind it is a probe, and nothing that is not read.
    """
    sql = f"""
        SELECT s.protocol, s.transport, s.server_port, r.reason AS refused, count(*) AS connections FROM streams s
        LEFT JOIN (SELECT stream_id, max(reason) AS reason FROM transports
                   WHERE status = 'refused' AND batch_id = '{batch}' GROUP BY stream_id) r
            ON r.stream_id = s.stream_id
        WHERE s.batch_id = '{batch}' AND s.outer_octets_c2s + s.outer_octets_s2c > 0
            AND (s.origin_source IS NULL OR s.octets_c2s + s.octets_s2c > 0)
        GROUP BY s.protocol, s.transport, s.server_port, r.reason
    """  # noqa: S608  the batch is a digest of our own
    left_out = f"""
        SELECT sum(stray_segments_c2s + stray_segments_s2c) AS segments, sum(stray_octets_c2s + stray_octets_s2c) AS octets
        FROM streams WHERE batch_id = '{batch}' AND protocol = 'stomp' AND stray_octets_c2s + stray_octets_s2c > 0
    """  # noqa: S608  too
    mine = {name: _files(lake, name, batch) for name in ("streams", "transports")}
    asked = [query.Query("other", ("streams", "transports"), sql), query.Query("stray", ("streams",), left_out)]
    found = query.ask(lake, asked, spark, mine)
    return [*lines(found["other"].to_pylist(), ports), *(stray(**row) for row in found["stray"].to_pylist() if row["octets"])]


def _files(lake: str, table: str, batch: str) -> data_files.Files:
    """The files of a table that may have rows of a batch."""
    files = data_files.of(open_tables.table(location(lake, table)), ["batch_id"])
    return data_files.Files.of(table, [file for file in files if file.bounds["batch_id"].may_hold(batch)])


def stray(segments: int, octets: int) -> str:
    """That some segments were left out."""
    says = f"{counted(segments, 'segment')} of STOMP connections with {size(octets)} in impossible places of their streams"
    return f"{says}: forged, or too much is missing before; left out (stray_octets_* in table streams)"


def lines(rows: Sequence[Mapping[str, Any]], ports: Collection[int]) -> list[str]:
    """The lines for rows of protocol, transport, server_port, connections: the most frequent kinds, one line where no STOMP is."""
    spoken = any(row["protocol"] == "stomp" for row in rows)
    found = kinds(rows, ports if spoken else None)
    more = [f"and {len(found) - MOST_NAMED} more kinds"] if len(found) > MOST_NAMED else []
    if spoken:
        return [*found[:MOST_NAMED], *more]
    return ["no connection spoke STOMP, but there were: " + "; ".join([*found[:MOST_NAMED], *more])] if found else []
