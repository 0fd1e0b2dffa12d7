"""Captures with holes: every octet lies in one row, every frame outside the holes is there, and nothing is invented."""

from __future__ import annotations

import pytest

from stompcap.options import Options
from tests.e2e.truth import DATA
from tests.examples import every
from tests.mangler import holes
from tests.mangler.compare import rows_of
from tests.mangler.encapsulations import ANY_IP
from tests.mangler.losses import cut_at, lost
from tests.mangler.packagings import Packaging, in_turn

RECORDED = every(3, sorted(path.name for path in DATA.glob("*.pcap*")))
"""Of each dialogue the recording of one broker, in turn."""

SOME = ("rabbitmq_dialogue.pcap", "activemq_bodies.pcap", "artemis_library.pcapng")
KEPT = Options(keep_credentials=True)  # the octets themselves are compared
HOLES = {
    **{f"{share:.0%} lost, {seed}": Packaging(lost(share, seed)) for share in (0.01, 0.1) for seed in range(4)},
    "snapshot length 96": Packaging(encapsulation=cut_at(96)),
    "snapshot length 128 in VXLAN, 5% lost": Packaging(lost(0.05, 9), cut_at(128, ANY_IP["VXLAN"])),
}


@pytest.fixture(scope="module")
def whole():
    """The tables of recorded captures by name, each made once."""
    known = {}

    def tables(name):
        if name not in known:
            known[name] = rows_of([DATA / name], KEPT)
        return known[name]

    return tables


def check(name, packaging, whole, folder):
    lines = holes.wrong(rows_of(packaging.files(DATA / name, folder), KEPT), whole(name))
    assert not lines, "\n".join(lines[:30])


@pytest.mark.parametrize(("name", "packaging"), in_turn(SOME, HOLES, 3))
def test_nothing_is_invented(name, packaging, whole, tmp_path):
    check(name, HOLES[packaging], whole, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "packaging"), in_turn(RECORDED, HOLES))
def test_nothing_is_invented_from_recorded_captures(name, packaging, whole, tmp_path):
    check(name, HOLES[packaging], whole, tmp_path)
