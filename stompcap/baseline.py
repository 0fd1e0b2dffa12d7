"""Kernels shipped with an environment: the processor they are compiled for, and whether this machine's can run them.

An environment that is packed and sent to other machines includes compiled kernels. They must run on all of these, so they are compiled
for a stated level, not for this machine's processor. The file `baseline.json` beside them states it, and numba is set to it, because it
looks kernels up by processor.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import llvmlite.binding
import numba

FILE = "baseline.json"
# x86-64-v3 of the x86-64 psABI, "Micro-Architecture Levels": processors since 2013 (Intel Haswell) and 2017 (AMD Zen).
V3 = "avx avx2 bmi bmi2 cmov crc32 cx16 cx8 f16c fma fxsr lzcnt mmx movbe popcnt sahf sse sse2 sse3 sse4.1 sse4.2 ssse3 xsave"


@dataclass(frozen=True)
class Baseline:
    """A processor by its LLVM name, and its features in LLVM's form: `+name`, comma-separated."""

    cpu_name: str
    cpu_features: str


def of_this_machine() -> Baseline:
    """The level for kernels that go to other machines of this architecture."""
    if platform.machine() in ("x86_64", "AMD64"):
        return Baseline("x86-64-v3", ",".join(f"+{feature}" for feature in V3.split()))
    return Baseline("generic", "")


def folder() -> Path:
    """Where an environment keeps its kernels, in a folder for each state of the sources."""
    return Path(sys.prefix) / "share" / "stompcap"


def stated(kernels: Path) -> Baseline | None:
    """The level that the kernels of a folder are compiled for; None where it is not stated."""
    try:
        return Baseline(**json.loads((kernels / FILE).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def state(kernels: Path, level: Baseline) -> None:
    """Write the level of the kernels in a folder; raises OSError."""
    (kernels / FILE).write_text(json.dumps(asdict(level)) + "\n", "utf-8")


def fits(kernels: Path) -> bool:
    """Whether this machine can run the kernels of a folder, and NUMBA_CPU_NAME does not ask for another processor."""
    level = stated(kernels)
    if level is None or os.environ.get("NUMBA_CPU_NAME"):
        return False
    return runs(level)


def runs(level: Baseline) -> bool:
    """Whether this machine's processor has all features of the level."""
    try:
        here = llvmlite.binding.get_host_cpu_features()
    except RuntimeError:  # LLVM does not know this processor
        here = {}
    return all(here.get(feature[1:], False) for feature in level.cpu_features.split(",") if feature)


def use(level: Baseline) -> None:
    """Make numba compile for this level, whatever else this machine's processor can do."""
    vars(numba.config).update(CPU_NAME=level.cpu_name, CPU_FEATURES=level.cpu_features)


def in_force() -> Baseline:
    """The level that numba compiles for now: the one set, else this machine's processor."""
    config = vars(numba.config)
    name, features = config["CPU_NAME"], config["CPU_FEATURES"]
    if name is None:
        name = llvmlite.binding.get_host_cpu_name()
    return Baseline(name, _features_here() if features is None else features)


def _features_here() -> str:
    try:
        return str(llvmlite.binding.get_host_cpu_features().flatten())
    except RuntimeError:
        return ""
