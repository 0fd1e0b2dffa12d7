"""Material that lies beside the project: tests that need it are skipped where it is absent."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared(name: str) -> Path:
    """The path of a file or folder beside the project; skips the calling test where it is missing."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"needs {path}, which is not part of the project")
    return path
