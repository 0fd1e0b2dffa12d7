"""The same dialogues inside TLS give the tables that they give in plain TCP, where the key log has their keys."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from stompcap.options import Options
from tests.assembly.test_flow import InBlocks, rows
from tests.e2e.pure import Wire, wire_of
from tests.e2e.truth import DATA
from tests.mangler.losses import lost
from tests.mangler.packagings import Packaging
from tests.mangler.segmentations import smaller
from tests.transport.made_up import Ended
from tests.transport.test_layers import inner
from tests.transport.tls_traffic import SUITES, inside

CAPTURE = "rabbitmq_heartbeats.pcap"
OF_THE_LAYER = ("transports", "transport_events")
NOT_COMPARED = re.compile("order|^transport$|^history$|^clock_difference|^segments_[cs]2|^cleartext_credentials$")
"""Columns that count what TCP carried, the handshake too."""

CLEAR_ONLY = pa.array(["CN-20"])
"""Rules that judge what is sent in clear."""


def wire(folder, *changes, name: str = CAPTURE) -> Wire:
    def change(packets):
        for one in changes:
            packets = one(packets)
        return packets

    folder.mkdir(exist_ok=True)
    return wire_of([str(path) for path in Packaging(change).files(DATA / name, folder)])


def carried(tables: dict[str, pa.Table]) -> dict[str, list]:
    """What tables say of the octets inside."""
    found = {name: table for name, table in inner(tables).items() if name not in OF_THE_LAYER}
    for name in ("compliance", "compliance_findings"):
        found[name] = found[name].filter(pc.invert(pc.is_in(found[name].column("rule_id"), CLEAR_ONLY)))
    left = {name: [one for one in table.column_names if not NOT_COMPARED.search(one)] for name, table in found.items()}
    return rows({name: table.select(left[name]) for name, table in found.items()})


def same(found: dict[str, list], expected: dict[str, list]) -> None:
    assert found.keys() == expected.keys()
    for name in expected:
        assert found[name] == expected[name], name


@pytest.mark.parametrize("record", [1 << 14, 7], ids=["a record a segment", "small records"])
@pytest.mark.parametrize("suite", SUITES)
def test_the_same_octets_give_the_same_tables(suite, record, tmp_path):
    log = str(tmp_path / "keys.log")
    plain = wire(tmp_path / "plain", inside(None))
    opened = wire(tmp_path / "tls", inside(log, suite, record, closing=True))
    found = opened.tables(Options(keylog=(log,)))
    same(carried(found), carried(plain.tables()))
    assert {row["status"] for row in found["transports"].to_pylist()} == {"read"}
    assert set(found["streams"].column("transport").to_pylist()) == {"tls"}


@pytest.mark.parametrize("suite", ["1.3 AES-256-GCM", "1.2 AES-256-GCM", "1.2 ChaCha20", "1.2 AES-128-CBC-SHA"])
@pytest.mark.parametrize("change", [smaller(50), lost(0.05, 2), lost(0.2, 7)], ids=["records in several segments", "5% lost", "20% lost"])
def test_blocks_change_nothing(suite, change, tmp_path):
    log = str(tmp_path / "keys.log")
    found, options = wire(tmp_path / "tls", inside(log, suite, 60), change), Options(keylog=(log,))
    whole, in_blocks = (rows(found.tables(options, block=20, assembly=assembly)) for assembly in (Ended, InBlocks))
    for name in whole:
        assert in_blocks[name] == whole[name], name
