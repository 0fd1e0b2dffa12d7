"""What older versions left of open connections, gone on with: the tables are those of one run over all captures."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from stompcap.lake import commits, data_files
from stompcap.lake import tables as lakes
from stompcap.lake.paths import OPEN
from stompcap.tables import TABLES
from tests.e2e.runs import Lake
from tests.examples import combined
from tests.lakes.make import MANY, OLDER
from tests.lakes.older import rows_of, unpacked
from tests.lakes.wire import write

MASKED = {"raw_frames", "frames", "sends"}
"""Tables in which a passcode that comes again is masked while the capture of the CONNECT is there."""


def held(where: Path, capture: str) -> Lake:
    """The tables of a lake, whose capture lies somewhere else now."""
    lakes.create(str(where))
    lakes.bring_up(str(where))
    lake = Lake()
    for name, table in TABLES.items():
        if "stream_id" not in table.arrow.names:
            continue
        files = data_files.of(DeltaTable(str(where / name)))
        for rows, some in ((lake.open, True), (lake.final, False)):
            rows[name] = [commits.read(name, [file for file in files if file.name.startswith(OPEN) is some])]
    lake.captures = [row | {"path": capture} for row in rows_of(where, "captures")]
    return lake


@pytest.mark.slow
@pytest.mark.parametrize(("commit", "kept"), combined([*OLDER], [True, False]))
def test_open_connections_of_a_lake_go_on(commit: str, kept: bool, tmp_path: Path) -> None:
    """A state that cannot be taken up is said to be lost; then it is for the run to compute again (tests/spark/test_older_lakes.py)."""
    before, after = write(tmp_path / "captures", MANY[commit])
    lake = held(unpacked(commit, tmp_path), before if kept else "")
    lake.run([after])
    new = Lake()
    new.run([before, after])
    found, whole = lake.rows(), new.rows()
    ids = set(lake.table("streams").column("stream_id").to_pylist())
    if lake.lost:
        small = {row["stream_id"] for row in new.table("sessions").to_pylist() if row["login"] == "small"}
        whole = {name: [row for row in rows if any(one in row for one in small)] for name, rows in whole.items()}
        found = {name: [row for row in rows if any(one in row for one in small)] for name, rows in found.items()}
    else:
        assert ids == set(new.table("streams").column("stream_id").to_pylist())
    differing = {name for name in whole if found[name] != whole[name]}
    assert differing <= (set() if kept and commit != "dea8dce" else MASKED)
