"""Which module is `stompcap.kernel`: the one that compiles with numba, or `stompcap.ahead`, which calls what the wheel has compiled.

The latter where numba is not installed. This is decided when the package is imported, before any module with kernels is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parent
KERNEL = "stompcap.kernel"
PATTERN = "_kernels_*.so"
PROCESSORS = Path("/proc/cpuinfo")
BEYOND_V2 = ("avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe")
"""What x86-64-v3 (`stompcap.baseline`), which the wheel's kernels are compiled for, has beyond v2, as Linux names it."""


class OfWheel:
    """A finder of modules (`sys.meta_path`) that takes `ahead.py` for the module of kernels."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The module of kernels; None leaves all others to the finders behind."""
        del path, target
        return spec_from_file_location(name, FOLDER / "ahead.py") if name == KERNEL else None


def shipped() -> bool:
    """Whether this installation has compiled kernels."""
    return any(FOLDER.glob(PATTERN))


def lacking() -> list[str]:
    """What this processor would need to run them and has not, as far as the system tells: without it the process would be killed."""
    if os.uname().machine == "x86_64":
        with suppress(OSError), PROCESSORS.open(encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("flags"):
                    return [name for name in BEYOND_V2 if name not in line.split()]
    return []


def choose() -> None:
    """Take the kernels of the wheel where there is no compiler."""
    if shipped() and find_spec("numba") is None:
        sys.meta_path.insert(0, OfWheel())
