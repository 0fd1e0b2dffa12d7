"""Make the lakes of older versions that tests go on with: `python -m tests.lakes.make COMMIT...`, from a clone with all commits.

Each is what `stompcap run before.pcap` of that commit left, with the packages that are installed now; tests/lakes/COMMIT.tar.xz has its
files. The capture lay in a folder that does not exist any more (GONE).
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tests.lakes.wire import write

HERE = Path(__file__).parent
GONE = Path("/tmp/stompcap-gone")
OLDER = {
    "dea8dce": "the segments of open connections are kept, their octets too",
    "f1953dd": "the place of their octets in the capture",
    "1a2dc30": "two columns have other names",
    "6e2c5f8": "busy connections have the state of their machines",
    "334e90f": "the last without a digest of the layouts",
}
"""The commits since which a saved state has each of its layouts, and what was new."""

MANY = dict.fromkeys(OLDER, 1 << 13) | {"6e2c5f8": 1 << 14}
"""The packets of a flow from which on these versions keep the state of machines, or do not yet."""


def make(commit: str) -> Path:
    """Make the lake of a commit; the archive with its files."""
    with tempfile.TemporaryDirectory() as scratch:
        code, lake = Path(scratch) / "code", Path(scratch) / "lake"
        code.mkdir()
        archive = subprocess.run(["git", "archive", commit], check=True, capture_output=True, cwd=HERE.parents[1]).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as held:
            held.extractall(code, filter="data")
        before, _ = write(GONE, MANY[commit])
        environment = os.environ | {"PYTHONPATH": str(code), "NUMBA_CACHE_DIR": f"{scratch}/numba", "XDG_CACHE_HOME": f"{scratch}/cache"}
        run = [sys.executable, "-P", "-m", "stompcap", "run", before, "--lake", str(lake), "--quiet"]
        subprocess.run(run, check=True, cwd=code, env=environment)
        shutil.rmtree(GONE)
        made = HERE / f"{commit}.tar.xz"
        with tarfile.open(made, "w:xz", preset=9) as out:
            out.add(lake, "lake", filter=lambda one: None if "_data_docs" in one.name else one)
    return made


if __name__ == "__main__":
    for name in sys.argv[1:] or OLDER:
        path = make(name)
        print(f"{path}: {path.stat().st_size:,} octets")
