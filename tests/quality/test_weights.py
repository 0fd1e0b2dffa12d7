"""Expectations are switched off and weighed by their names; unknown names are refused; docs/quality.md lists what there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.validation.validate import weighed
from stompcap.cli import common
from stompcap.errors import UsageError
from stompcap.quality.catalogue import derived, name_of, page, told
from stompcap.settings import Quality, Weight
from tests.quality import lakes
from tests.quality.faults import put, run

LATENCY = "receipts.latency_us expect_column_values_to_be_between"
DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_every_result_is_in_the_catalogue_and_can_be_weighed(tmp_path: Path) -> None:
    made = lakes.tables()
    made["receipts"] = put("latency_us", 0, -5)(made["receipts"])
    rows = run(lakes.write(tmp_path / "lake", made))
    names = {name_of(row["table_name"], row["column_name"], row["expectation"]) for row in rows}
    assert names <= derived().keys() | told().keys()

    def severities(weight: Weight) -> list[str]:
        found = weighed(rows, Quality(expectations=((LATENCY, weight),)))
        return [row["severity"] for row in found if not row["success"]]

    assert (severities(Weight()), severities(Weight(severity="warning")), severities(Weight(enabled=False))) == (["error"], ["warning"], [])


def test_a_settings_file_names_expectations(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(f'[quality]\nlost_ratio = 0.5\n[quality.expectations."{LATENCY}"]\nseverity = "warning"\nenabled = false\n')
    quality = common.options(settings=str(path)).settings.quality
    assert (quality.lost_ratio, quality.expectations) == (0.5, ((LATENCY, Weight(False, "warning")),))


@pytest.mark.parametrize(("text", "told_of"), [
    ('[quality.expectations."receipts nonsense"]\nenabled = false\n', "receipts nonsense"),
    (f'[quality.expectations."{LATENCY}"]\nseverity = "bad"\n', "must be error or warning"),
    (f'[quality.expectations."{LATENCY}"]\nenabled = 1\n', "must be true or false"),
    (f'[quality.expectations."{LATENCY}"]\nweight = 1\n', "no such setting"),
])  # fmt: skip
def test_what_makes_no_sense_is_refused_in_one_line(tmp_path: Path, text: str, told_of: str) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=told_of) as caught:
        common.options(settings=str(path))
    assert "\n" not in str(caught.value)


def test_the_page_is_as_the_declarations_say() -> None:
    assert (DOCS / "quality.md").read_text("utf-8") == page() + "\n"
