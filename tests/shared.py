"""What tests need beyond the Python packages: programs and what `make` builds, and material that lies beside the project."""

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared(name: str) -> Path:
    """The path of a file or folder beside the project; skips the calling test where it is missing."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"needs {path}, which is not part of the project")
    return path


def program(*names: str) -> str:
    """The path of the first of these that is installed; where none is, the calling test fails under CI and is skipped elsewhere."""
    found = next((path for name in names if (path := shutil.which(name))), None)
    return found or missing(names[0])


def missing(what: str) -> NoReturn:
    """Fail the calling test under CI, which installs and builds all that tests need; skip it elsewhere."""
    if os.environ.get("CI"):
        pytest.fail(f"needs {what}")
    pytest.skip(f"needs {what}")
