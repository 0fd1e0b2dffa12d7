"""Sessions that leave more open than is followed come to the same whole and in pieces, alone and among others."""

from __future__ import annotations

import pytest

from stompcap import session
from stompcap.assembly import Meaning
from stompcap.assembly.windows import WINDOW
from tests.assembly.test_flow import InBlocks, rows
from tests.e2e.pure import wire_of
from tests.e2e.truth import DATA


@pytest.mark.slow  # a turn every other frame
@pytest.mark.parametrize(("name", "block", "window"), [
    ("activemq_library.pcap", 60, WINDOW), ("artemis_stompest.pcapng", 90, 2000),
])  # fmt: skip
def test_in_blocks_as_whole(name: str, block: int, window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    wire = wire_of([str(DATA / name)])
    full = rows(wire.tables())
    monkeypatch.setattr(Meaning, "_choices", lambda _: session.Options(open=4))
    whole = rows(wire.tables())
    assert whole != full, "nothing was forgotten"
    found = rows(wire.tables(window=window, block=block, assembly=InBlocks))
    assert found.keys() == whole.keys()
    for table in whole:
        assert found[table] == whole[table], table
