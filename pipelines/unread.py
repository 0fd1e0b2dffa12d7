"""What connections of a batch carried that cannot be read, in words: TLS, WebSocket, and where no STOMP was found all else."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from stompcap.lake import data_files, open_tables, query
from stompcap.lake.places import location

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from pyspark.sql import SparkSession

MOST_NAMED = 4
NAMES = {("tls", "tls"): "TLS", ("http", "websocket"): "WebSocket", ("http", "tcp"): "HTTP"}
OPAQUE = ("TLS", "WebSocket")
REMEDY = {"TLS": "not decrypted", "WebSocket": "not read"}


def unread(lake: str, batch: str, ports: Collection[int], spark: Callable[[], SparkSession]) -> list[str]:
    """Lines on the connections of a batch that may carry STOMP and cannot be read; `ports` are those where STOMP is expected."""
    sql = f"""
        SELECT protocol, transport, server_port, count(*) AS connections FROM streams WHERE batch_id = '{batch}'
        GROUP BY protocol, transport, server_port
    """  # noqa: S608  the batch is a digest of our own
    files = data_files.of(open_tables.table(location(lake, "streams")), ["batch_id"])
    mine = {"streams": data_files.Files.of("streams", [file for file in files if file.bounds["batch_id"].may_hold(batch)])}
    return lines(query.ask(lake, [query.Query("unread", ("streams",), sql)], spark, mine)["unread"].to_pylist(), ports)


def lines(rows: Iterable[dict[str, Any]], ports: Collection[int]) -> list[str]:
    """The lines for rows of protocol, transport, server_port, connections."""
    counts: Counter[tuple[str, int]] = Counter()
    for row in rows:
        name = "STOMP" if row["protocol"] == "stomp" else NAMES.get((row["protocol"], row["transport"]), "other")
        counts[name, 0 if name == "other" else row["server_port"]] += row["connections"]
    spoken = any(name == "STOMP" for name, _ in counts)
    opaque = [(name, port, n) for (name, port), n in counts.most_common() if name in OPAQUE and (port in ports or not spoken)]
    named = [f"{_connections(name, n)} to port {port}, {REMEDY[name]}" for name, port, n in opaque]
    if spoken or not counts:
        return named
    rest = [_connections(name, n) + (f" to port {port}" if port else "") for (name, port), n in counts.most_common() if name not in OPAQUE]
    seen = [*named, *rest]
    more = [f"and {len(seen) - MOST_NAMED} more kinds"] if len(seen) > MOST_NAMED else []
    return ["no connection spoke STOMP, but there were: " + "; ".join([*seen[:MOST_NAMED], *more])]


def _connections(name: str, number: int) -> str:
    return f"{number:,} {name} connection{'' if number == 1 else 's'}"
