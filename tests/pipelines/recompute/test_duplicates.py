"""Which connections of a lake a batch may have once more, from a capture point whose clock tells another time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.recompute.duplicates import NEAR_NS, duplicates, pairs
from stompcap.lake.data_files import Bounds, File, Files
from tests.report.sample import table

SECOND, HOUR = 10**9, 3600 * 10**9
START = 1_800_000_000 * SECOND
Row = dict[str, Any]


def life(name: str, port: int, first_s: float, lasted_s: float = 1, octets: int = 500, **more: Any) -> Row:
    begin = START + round(first_s * SECOND)
    ends = {"client_ip": "10.0.0.9", "client_port": port, "server_ip": "10.0.0.1", "server_port": 61613}
    times = {"first_ns": begin, "last_ns": begin + round(lasted_s * SECOND)}
    return {"stream_id": name, "source": "tap", "syn_seen": True, "outer_octets_c2s": octets, "outer_octets_s2c": 7} | ends | times | more


def moved(rows: Sequence[Row], by_s: float) -> list[Row]:
    """As another capture point has them."""
    by = round(by_s * SECOND)
    return [row | {"stream_id": f"{row['stream_id']}'", "first_ns": row["first_ns"] + by, "last_ns": row["last_ns"] + by} for row in rows]


def found(held: Sequence[Row], new: Sequence[Row], folder: Path) -> list[str]:
    for name, rows in (("held", held), ("new", new)):
        pq.write_table(table("streams", list(rows)), folder / name)
    times = [row["first_ns"] for row in held]
    file = File("held", str(folder / "held"), 1, len(held), 0, {"first_ns": Bounds(min(times), max(times), known=True, nulls=False)})
    ids: list[str] = duplicates(Files("streams", (str(folder / "new"),)), [file], "tap").column("stream_id").to_pylist()
    return ids


THREE = [life("a", 1, 0), life("b", 2, 5.25), life("c", 3, 9.5)]
LONG = [life("a", 1, 0, 60)]


@pytest.mark.parametrize(("held", "new", "expected"), [
    (THREE, moved(THREE, 3600), ["a", "b", "c"]),
    (THREE, moved(THREE, -7), ["a", "b", "c"]),
    (THREE, [row | {"outer_octets_c2s": 9} for row in moved(THREE, 3600)], ["a", "b", "c"]),
    (THREE[:2], moved(THREE[:2], 3600), []),
    (THREE, [*moved(THREE[:2], 3600), *moved(THREE[2:], 3601)], []),
    (LONG, moved(LONG, 3600), ["a"]),
    (LONG, [life("z", 1, 3600, 60, octets=501)], []),
    (LONG, [life("z", 1, 3600, 60.1)], []),
    ([life("a", 1, 0, 2)], [life("z", 1, 3600, 2)], []),
    ([row | {"source": "other"} for row in THREE], moved(THREE, 3600), []),
    ([row | {"syn_seen": False} for row in THREE], moved(THREE, 3600), []),
    (THREE, moved(THREE, NEAR_NS / SECOND + 60), []),
    (THREE, THREE, []),
], ids=[
    "an hour ahead", "seconds behind", "captured in part", "only two", "no difference in common", "a long one", "of other octets",
    "that lasted longer", "a short one", "of another source", "joined midway", "days apart", "the same rows",
])  # fmt: skip
def test_connections_alike_but_for_a_difference_of_clocks(held: list[Row], new: list[Row], expected: list[str], tmp_path: Path) -> None:
    assert found(held, new, tmp_path) == expected


def test_of_captures_of_many_connections_few_share_a_difference_by_chance(tmp_path: Path) -> None:
    """Ports that were used again within the day."""
    held = [life(f"a{port}", port, port * 0.7) for port in range(2000)]
    new = [life(f"b{port}", port, 3600 + port * port * 0.013) for port in range(2000)]
    assert len(found(held, new, tmp_path)) < 30


def test_the_captures_that_they_are_of_are_named(tmp_path: Path) -> None:
    captures = [{"capture_id": name, "first_ns": START + n * HOUR, "last_ns": START + (n + 1) * HOUR - 1} for n, name in enumerate("xyz")]
    untimed = {"capture_id": "u", "first_ns": None, "last_ns": None}
    pq.write_table(table("streams", THREE), tmp_path / "held")
    pq.write_table(table("streams", moved(THREE, 7200)), tmp_path / "new")
    held = File("held", str(tmp_path / "held"), 1, 3, 0, {"first_ns": Bounds(None, None, known=False, nulls=True)})
    twins = duplicates(Files("streams", (str(tmp_path / "new"),)), [held], "tap")
    [(one, other, packets)] = pairs(twins, pa.Table.from_pylist([untimed, captures[0]]), captures[1:])
    assert (one["capture_id"], other["capture_id"], packets) == ("x", "z", 0)
