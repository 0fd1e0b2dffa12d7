"""What connections of a batch carried that is not read, in words: TLS, WebSocket and other protocols; where no STOMP was found, all."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from stompcap.lake import data_files, open_tables, query
from stompcap.lake.places import location

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from pyspark.sql import SparkSession

MOST_NAMED = 4
NAMES = {
    "tls": "TLS", "http": "HTTP", "amqp": "AMQP", "mqtt": "MQTT", "openwire": "OpenWire", "core": "Artemis Core",
    "other": "an unknown protocol",
}  # fmt: skip
WEBSOCKET = "WebSocket"
WHY = {"TLS": "not decrypted", WEBSOCKET: "not read"}
NOT_KEPT = "not kept"


def unread(lake: str, batch: str, ports: Collection[int], spark: Callable[[], SparkSession]) -> list[str]:
    """Lines on the connections of a batch of which no octets are read; `ports` are those where STOMP is expected."""
    sql = f"""
        SELECT protocol, transport, server_port, count(*) AS connections FROM streams
        WHERE batch_id = '{batch}' AND outer_octets_c2s + outer_octets_s2c > 0 GROUP BY protocol, transport, server_port
    """  # noqa: S608  the batch is a digest of our own
    files = data_files.of(open_tables.table(location(lake, "streams")), ["batch_id"])
    mine = {"streams": data_files.Files.of("streams", [file for file in files if file.bounds["batch_id"].may_hold(batch)])}
    return lines(query.ask(lake, [query.Query("unread", ("streams",), sql)], spark, mine)["unread"].to_pylist(), ports)


def lines(rows: Iterable[dict[str, Any]], ports: Collection[int]) -> list[str]:
    """The lines for rows of protocol, transport, server_port, connections."""
    counts: Counter[tuple[str, int]] = Counter()
    spoken = False
    for row in rows:
        if row["protocol"] == "stomp":
            spoken = True
            continue
        name = WEBSOCKET if row["transport"] == "websocket" else NAMES[row["protocol"]]
        told = row["server_port"] in ports or row["protocol"] != "other"
        counts[name, row["server_port"] if told else 0] += row["connections"]
    found = [_line(name, n, port) for (name, port), n in counts.most_common() if port in ports or not spoken]
    if spoken or not found:
        return found
    more = [f"and {len(found) - MOST_NAMED} more kinds"] if len(found) > MOST_NAMED else []
    return ["no connection spoke STOMP, but there were: " + "; ".join([*found[:MOST_NAMED], *more])]


def _line(name: str, number: int, port: int) -> str:
    where = f" on port {port}" if port else ""
    return f"{number:,} connection{'' if number == 1 else 's'} of {name}{where}, {WHY.get(name, NOT_KEPT)}"
