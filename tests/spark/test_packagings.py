"""A lake made of one capture in several packagings: Spark's tables are the same as those of the capture itself."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from pipelines.intake import WHOLE
from pipelines.job import Job
from pipelines.run import execute
from stompcap.options import Options
from stompcap.tables import TABLES
from tests.e2e.truth import DATA
from tests.mangler.compare import Tables, differences, named, rows_of
from tests.mangler.packagings import ENCAPSULATIONS, FILES, MIDSTREAM, SEGMENTATIONS, excuses, together

pytestmark = pytest.mark.spark
NAME = "artemis_midstream.pcapng"
PACKAGINGS = [
    ("every packet mirrored twice", "MPLS", "rotated, every file of another form"),
    pytest.param("segments of 7 octets", "fragments in VXLAN", "pcapng, sections of both byte orders", marks=pytest.mark.slow),
    pytest.param("overlapping segments", "IPv6, jumbo", "zstd, three frames", marks=pytest.mark.slow),
]


def read(lake: Path) -> Tables:
    """All tables that the pure way makes too."""
    names = rows_of([DATA / NAME])
    tables: dict[str, pa.Table] = {
        name: DeltaTable(str(lake / name)).to_pyarrow_table(columns=TABLES[name].arrow.names) for name in names if (lake / name).exists()
    }
    return named(tables)


@pytest.mark.parametrize(("change", "frames", "written"), PACKAGINGS)
def test_a_lake_of_another_packaging_has_the_same_tables(change, frames, written, spark, tmp_path):
    packaging = together(SEGMENTATIONS[change], ENCAPSULATIONS[frames], FILES[written])
    (folder := tmp_path / "captures").mkdir()
    paths = [str(path) for path in packaging.files(DATA / NAME, folder)]
    result = execute(Job(lambda: spark, str(tmp_path / "lake"), Options()), ("extract", *WHOLE), paths)
    assert result.status == "done"
    (folder := tmp_path / "original").mkdir()
    original = rows_of(packaging.original().files(DATA / NAME, folder))
    assert not differences(read(tmp_path / "lake"), original, excuses(packaging.excused, MIDSTREAM))
