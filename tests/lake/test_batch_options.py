"""What table batches keeps of options comes back, by other versions too."""

from __future__ import annotations

import pytest

from stompcap.lake.batch_options import as_json, from_json
from stompcap.options import Options
from stompcap.settings import RuleSetting, Settings, Thresholds

SETTINGS = Settings((("CN-05", RuleSetting(level="I")), ("FR-20", RuleSetting(enabled=False))), Thresholds(receipt_wait_s=30))


@pytest.mark.parametrize(
    "options",
    [
        Options(),
        Options("tap", frozenset({1, 61613}), True, 3, True, "connection", "last", 1 << 20, SETTINGS, True, False, 1 << 30, 60),
    ],
)
def test_options_come_back(options: Options) -> None:
    assert from_json(as_json(options)) == options


def test_options_of_another_version_come_back_as_far_as_they_are_known() -> None:
    text = as_json(Options(source="tap")).replace('"vlan": false', '"colour": "red"')
    assert from_json(text) == Options(source="tap")
