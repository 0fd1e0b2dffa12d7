"""Tokens, cookies and passcodes of made captures are in no table and in no saved state, whatever carries them."""

from __future__ import annotations

from pathlib import Path

import pytest

from stompcap.generate.profiles import Wanted
from stompcap.generate.write import Request, generate
from stompcap.options import Options
from tests.e2e.cutting import cut
from tests.e2e.runs import Lake
from tests.generate.inside import EACH

CUTS = [0.02, 0.04, 0.06, 0.1, 0.3]
SECRET = "generated-"
"""What all of them begin with; the login is `generated`."""


@pytest.mark.parametrize("over", EACH)
def test_no_secret_is_in_a_table_or_state(over: str, tmp_path: Path) -> None:
    made = generate(tmp_path / "made.pcap", Request(over, 6, wanted=Wanted(connections=4, messages=4)))
    secrets = {SECRET.encode(), *(bytes.fromhex(line.split()[2]) for line in _lines(made.keys))}
    lake = Lake(Options(keylog=(str(made.keys),)) if made.keys else Options(), most=0)
    seen = 0
    for path in cut(made.paths[0], tmp_path, CUTS):
        lake.run([path])
        for found in (*lake.open.values(), *lake.final.values()):
            for table in found:
                for batch in table.to_batches():
                    octets = b"".join(buffer.to_pybytes() for column in batch.columns for buffer in column.buffers() if buffer is not None)
                    seen += len(octets)
                    assert not [one for one in secrets if one in octets]
    assert seen > 100_000
    assert lake.table("frames").num_rows > 50


def _lines(keys: Path | None) -> list[str]:
    return keys.read_text("ascii").splitlines() if keys else []
