"""Table journeys beside the truth of `generate --profile journeys`: which joins are right, which are wrong, which are missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from stompcap.options import Options
from stompcap.tables import TABLES
from tests.e2e.pure import wire_of
from tests.pipelines.metrics.journey_cases import joined

READ = ("streams", "sessions", "sends", "deliveries", "raw_frames")
JOINED = ("identity", "unique", "ordered")


@dataclass
class Compared:
    """How many MESSAGEs were joined in which way; `wrong` are joins with a SEND that it did not come of, as they are."""

    by: Counter[str] = field(default_factory=Counter)
    wrong: list[dict[str, Any]] = field(default_factory=list)
    late_us: list[int] = field(default_factory=list)
    """Of joins, by how much the residence differs from the truth."""

    @property
    def share(self) -> float:
        """The part of MESSAGEs that was joined."""
        return sum(self.by[way] for way in JOINED) / max(self.by.total(), 1)


def compared(truth: Mapping[str, Any], streams: Sequence[Mapping[str, Any]], journeys: Sequence[Mapping[str, Any]]) -> Compared:
    """Compare rows of table journeys, of a capture that has one group of connections."""
    ids = {(row["client_ip"], row["client_port"]): row["stream_id"] for row in streams}
    names = [ids.get((one["client_ip"], one["client_port"])) for one in truth["connections"]]
    true = {
        (name, row["stream_offset"]): (
            names[row["send_connection"]], row["send_offset"], row["message_ns"] - row["effective_ns"], row["redelivery"],
        )
        for name, one in zip(names, truth["connections"], strict=True) for row in one["journeys"]
    }  # fmt: skip
    found = Compared()
    for row in journeys:
        if row["message_stream_id"] is None:
            continue
        found.by[row["joined_by"]] += 1
        stream, offset, residence_ns, again = true[row["message_stream_id"], row["message_offset"]]
        if row["joined_by"] in JOINED:
            if (row["send_stream_id"], row["send_offset"], row["redelivery"]) != (stream, offset, again):
                found.wrong.append(dict(row))
            elif row["residence_us"] is not None:
                found.late_us.append(row["residence_us"] - residence_ns // 1000)
    return found


def journeys_of(paths: Sequence[str], *taps: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of streams and of journeys, of captures read without Spark, the same at each of some capture points."""
    found: dict[str, list[pa.Table]] = {name: [] for name in READ}
    rows = []
    for options in (Options(hash_key=bytes(16), source=tap) for tap in taps or (Options().source,)):
        wire = wire_of(paths, options)
        tables = wire.tables(options)
        rows += [{"source": row["source"], "last_ns": row["last_ns"]} for row in wire.surveyed]
        for name in READ:
            found[name].append(tables.get(name, TABLES[name].arrow.empty_table()))
    read = {name: pa.concat_tables(parts) for name, parts in found.items()} | {"captures": pa.Table.from_pylist(rows)}
    return read["streams"].to_pylist(), joined(read).to_pylist()
