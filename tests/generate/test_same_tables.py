"""A made conversation gives the same tables in every transport: those that it gives straight over TCP."""

from __future__ import annotations

from pathlib import Path

import pytest

from stompcap.generate.profiles import Wanted
from stompcap.generate.write import Request, generate
from stompcap.options import Options
from tests.generate.inside import EACH
from tests.mangler.compare import Tables, differences, rows_of

COMPARED = ("frames", "deliveries", "receipts", "transactions", "subscriptions", "heartbeats", "compliance_findings")
EXCUSED = {
    "*": ("stream_id",), "frames": ("first_ns", "first_ts", "acked_ns"), "heartbeats": ("gaps", "mean_gap_ms", "sd_gap_ms", "p99_gap_ms"),
    "deliveries": ("first_ns", "network_us", "consumer_us"),
}  # fmt: skip
"""The first octets of a frame over several packets are known by the last of these where its record or compressed message ends there.

TCP acknowledges every second full segment, and of what a layer carries it sends others.
"""


def tables_of(folder: Path, profile: str) -> Tables:
    """The tables compared, of connections that have something to say."""
    made = generate(folder / f"{profile}.pcap", Request(profile, 11, wanted=Wanted(connections=8, messages=30)))
    found = rows_of(made.paths, Options(keylog=(str(made.keys),)) if made.keys else Options())
    return {name: found[name] for name in COMPARED}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return tables_of(tmp_path_factory.mktemp("plain"), "carried")


@pytest.mark.parametrize("over", EACH)
def test_a_conversation_gives_the_same_tables_as_over_tcp(over: str, plain: Tables, tmp_path: Path) -> None:
    found = tables_of(tmp_path, over)
    lines = differences(found, plain, EXCUSED)
    assert [line for line in lines if not (over in ("tls12", "tls13", "wss") and "CN-20" in line)] == []
    assert len(found["frames"]) > 500
