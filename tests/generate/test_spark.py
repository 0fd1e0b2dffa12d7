"""A generated capture goes through Spark, and the lake says what its truth says."""

from __future__ import annotations

import json

import pytest
from deltalake import DeltaTable

from pipelines.job import Job
from pipelines.run import STAGES, execute
from stompcap.generate.profiles import Wanted
from stompcap.generate.write import Request, generate
from stompcap.options import Options
from tests.generate.test_profiles import SOURCES, check
from tests.spark.conftest import spark  # noqa: F401 - a fixture

pytestmark = pytest.mark.spark


def test_a_lake_of_rotated_files_agrees_with_the_truth(spark, tmp_path):  # noqa: F811
    made = generate(tmp_path / "made.pcap", Request("rotation", seed=3, wanted=Wanted(3, 20, 7_200)))
    result = execute(Job(lambda: spark, str(tmp_path / "lake"), Options()), STAGES, [str(path) for path in made.paths])
    assert result.status == "done"
    tables = {name: DeltaTable(str(tmp_path / "lake" / name)).to_pyarrow_table() for name in {*SOURCES.values(), "streams"}}
    check(json.loads(made.truth.read_text("utf-8")), tables)
