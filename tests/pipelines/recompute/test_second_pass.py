"""How much a run reads again because of what it contradicts."""

from __future__ import annotations

import pytest

from pipelines.recompute.second_pass import REREAD_OCTETS, few_octets


@pytest.mark.parametrize(("sizes", "few"), [
    ([], True), ([1 << 29, 1 << 29], True), ([1 << 29, 1 << 29, 1], False), ([(1 << 30) + 1], False),
])  # fmt: skip
def test_a_run_reads_a_gibibyte_again_without_being_asked(sizes: list[int], few: bool) -> None:
    assert REREAD_OCTETS == 1 << 30
    assert few_octets([{"size_octets": octets} for octets in sizes]) is few
