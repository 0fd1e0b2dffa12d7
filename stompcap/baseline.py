"""Kernels that come with an environment: what processor they are compiled for, and whether this machine's can run them.

An environment that is packed and sent to other machines brings its kernels compiled. They must run on all of these, so they are made
for a stated level and not for the processor at hand. The file `baseline.json` beside them says which; numba is told the same, for it
looks kernels up by the processor they are for.
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
    """A processor as LLVM names it, and its features as LLVM takes them: `+name`, comma-separated."""

    cpu_name: str
    cpu_features: str


def of_this_machine() -> Baseline:
    """What kernels are compiled for that go to other machines of this one's kind."""
    if platform.machine() in ("x86_64", "AMD64"):
        return Baseline("x86-64-v3", ",".join(f"+{feature}" for feature in V3.split()))
    return Baseline("generic", "")


def folder() -> Path:
    """Where an environment brings its kernels, in a folder for each state of the sources."""
    return Path(sys.prefix) / "share" / "stompcap"


def stated(kernels: Path) -> Baseline | None:
    """What the kernels of a folder are compiled for; None where it does not say."""
    try:
        return Baseline(**json.loads((kernels / FILE).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def state(kernels: Path, level: Baseline) -> None:
    """Write down what the kernels of a folder are compiled for; raises OSError."""
    (kernels / FILE).write_text(json.dumps(asdict(level)) + "\n", "utf-8")


def fits(kernels: Path) -> bool:
    """Whether this machine can run the kernels of a folder, and nobody asks for another processor by NUMBA_CPU_NAME."""
    level = stated(kernels)
    if level is None or os.environ.get("NUMBA_CPU_NAME"):
        return False
    return runs(level)


def runs(level: Baseline) -> bool:
    """Whether this machine's processor has all that the level asks for."""
    try:
        here = llvmlite.binding.get_host_cpu_features()
    except RuntimeError:  # LLVM does not know this processor
        here = {}
    return all(here.get(feature[1:], False) for feature in level.cpu_features.split(",") if feature)


def use(level: Baseline) -> None:
    """Let numba compile for this processor, whatever the one at hand can do besides."""
    vars(numba.config).update(CPU_NAME=level.cpu_name, CPU_FEATURES=level.cpu_features)


def in_force() -> Baseline:
    """What numba compiles for now: what it was told, else the processor at hand."""
    said = vars(numba.config)
    name, features = said["CPU_NAME"], said["CPU_FEATURES"]
    if name is None:
        name = llvmlite.binding.get_host_cpu_name()
    return Baseline(name, _features_here() if features is None else features)


def _features_here() -> str:
    try:
        return str(llvmlite.binding.get_host_cpu_features().flatten())
    except RuntimeError:
        return ""
