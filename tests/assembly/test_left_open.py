"""Sessions that leave more open than is followed: what is given up is unknown, the session says so, and nothing is invented."""

from __future__ import annotations

import pytest

from stompcap import session
from stompcap.assembly import SessionAnalyser
from tests.assembly.test_flow import InBlocks
from tests.e2e.pure import wire_of
from tests.e2e.truth import DATA


@pytest.mark.slow
def test_what_is_given_up_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    wire = wire_of([str(DATA / "artemis_stompest.pcapng")])
    full = wire.tables()
    monkeypatch.setattr(SessionAnalyser, "_session_options", lambda _: session.Options(open_limit=4))
    found = wire.tables(window=2000, block=12, assembly=InBlocks)
    given_up = {row["stream_id"]: row["given_up"] for row in found["sessions"].to_pylist()}
    assert max(given_up.values()) > 4
    assert all(row["given_up"] == 0 for row in full["sessions"].to_pylist())
    known = {(row["stream_id"], row["stream_offset"]): row for row in full["deliveries"].to_pylist()}
    assert len(known) == found["deliveries"].num_rows
    for row in found["deliveries"].to_pylist():
        true = known[row["stream_id"], row["stream_offset"]]
        assert row["status"] in ("unknown", true["status"])
        assert row == true or given_up[row["stream_id"]], (row, true)
    keys = {(row["stream_id"], row["rule_id"], row["stream_offset"]) for row in full["compliance_findings"].to_pylist()}
    assert {(row["stream_id"], row["rule_id"], row["stream_offset"]) for row in found["compliance_findings"].to_pylist()} <= keys
