"""A layer between TCP and STOMP is added by one line: the same octets give the same tables, whatever carries them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.assembly.test_flow import InBlocks, rows
from tests.e2e.pure import Wire, wire_of
from tests.e2e.truth import DATA
from tests.examples import slow_behind
from tests.mangler.losses import lost
from tests.mangler.packagings import Packaging
from tests.mangler.segmentations import smaller
from tests.transport.made_up import Ended, wrapped

STACKS = [("greeting",), ("records",), ("greeting", "records"), ("records", "greeting"), ("records", "records")]
OUTER = [f"{name}_{way}" for way in ("c2s", "s2c") for name in ("outer_octets", "retransmitted_octets")]
"""Columns that count TCP's octets."""


def inner(tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """What tables say of the octets inside, and by which packets; not which file these are in."""
    found = {
        name: table.drop_columns([one for one in table.column_names if one.endswith("capture_id") or one in OUTER])
        for name, table in tables.items()
    }
    for name in ("compliance", "compliance_findings"):
        if name in found:  # without the rules of the layers themselves
            found[name] = found[name].filter(pc.invert(pc.starts_with(found[name].column("rule_id"), "TR-")))
    return found


def wire(name: str, folder, *changes) -> Wire:
    def change(packets):
        for one in changes:
            packets = one(packets)
        return packets

    return wire_of([str(path) for path in Packaging(change).files(DATA / name, folder)])


@pytest.mark.parametrize("stack", STACKS, ids="+".join)
def test_the_same_octets_give_the_same_tables(stack, tmp_path):
    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    plain, inside = wire("rabbitmq_heartbeats.pcap", tmp_path / "a"), wire("rabbitmq_heartbeats.pcap", tmp_path / "b", wrapped(*stack))
    expected, found = rows(inner(plain.tables())), rows(inner(inside.tables()))
    for name in expected:
        assert found[name] == expected[name], name


@pytest.mark.parametrize("stack", slow_behind(1, STACKS[:3]), ids="+".join)
@pytest.mark.parametrize("change", slow_behind(1, [lost(0.05, 2), smaller(50)]), ids=["lost", "records in several segments"])
def test_blocks_change_nothing(stack, change, tmp_path):
    found = wire("rabbitmq_heartbeats.pcap", tmp_path, wrapped(*stack), change)
    whole, in_blocks = rows(found.tables(block=20, assembly=Ended)), rows(found.tables(block=20, assembly=InBlocks))
    for name in whole:
        assert in_blocks[name] == whole[name], name
