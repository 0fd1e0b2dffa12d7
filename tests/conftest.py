"""What every test may rely on; fixtures of one folder are in that folder's conftest."""

from __future__ import annotations

import gc
import os
from functools import cache
from typing import Any

import duckdb
import pytest
import typer.main
from hypothesis import HealthCheck, settings

from stompcap.cli.entry import NEW_OBJECTS
from tests.examples import in_part

gc.set_threshold(NEW_OBJECTS)  # as commands do
typer.main.get_command = cache(typer.main.get_command)  # it makes every command anew, which a user's process does once
os.environ.setdefault("STOMPCAP_HASH_KEY", "5b7d4a1f0c9e2e3d8a6b1c2f7e4d5a90")  # so that lakes are equal row for row

# The first call of a compiled kernel takes seconds, and CI machines stall: a deadline would fail tests of sound code.
settings.register_profile("default", max_examples=24, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", parent=settings.get_profile("default"), max_examples=2000)
# CI tries the same examples for the same code: a find there can be repeated; new ones are looked for where people work.
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default"))

connect = duckdb.connect


def connect_by_one_thread(*args: Any, config: dict[str, Any] | None = None, **named: Any) -> duckdb.DuckDBPyConnection:
    """Few rows are no work for more threads, which wait for each other: one takes a tenth less where two tests share two processors."""
    return connect(*args, config={"threads": 1, **(config or {})}, **named)


if "PYTEST_XDIST_WORKER" in os.environ:
    duckdb.connect = connect_by_one_thread


def pytest_addoption(parser: pytest.Parser) -> None:
    """An option for machines that are too slow for all tests."""
    parser.addoption("--part", default="1/1", help="run this part of the tests, as 1/2 or 2/2")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The tests of one part."""
    chosen, left_out = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        (chosen if in_part(config.getoption("part"), item.nodeid) else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = chosen


def pytest_collection_finish() -> None:
    """What is loaded by now stays: no later collection of garbage looks through it again."""
    gc.collect()
    gc.freeze()
