"""The tutorial runs, and prints what it is shown to print."""

from __future__ import annotations

import json

import pytest

from tests.site.notebook import TUTORIAL, executed, said, written


def test_the_notebook_is_that_of_its_text() -> None:
    kept = json.loads(TUTORIAL.read_text("utf-8"))
    assert ["".join(cell["source"]) for cell in kept["cells"]] == [cell["source"] for cell in written()["cells"]]
    assert TUTORIAL.stat().st_size < 60_000


@pytest.mark.slow
@pytest.mark.spark
def test_a_fresh_kernel_prints_what_is_kept() -> None:
    kept = json.loads(TUTORIAL.read_text("utf-8"))
    assert said(executed()) == ["".join("".join(one.get("text", "")) for one in cell["outputs"])
                                for cell in kept["cells"] if cell["cell_type"] == "code"]  # fmt: skip
