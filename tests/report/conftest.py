"""Charts drawn once for all tests of this folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache

import pytest
import vl_convert


@pytest.fixture(scope="session", autouse=True)
def drawn_once() -> Iterator[None]:
    """A specification is drawn once: drawing is what takes a page its time, and depends on nothing else."""
    draw = vl_convert.vegalite_to_svg

    @cache
    def drawn(specification: str) -> str:
        chart, options = json.loads(specification)
        return draw(chart, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vl_convert, "vegalite_to_svg", lambda chart, **options: drawn(json.dumps([chart, options])))
        yield
