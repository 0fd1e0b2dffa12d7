"""The one way a function is compiled: numba, without the interpreter lock, cached on disk where a place for it can be written.

numba looks only at the file that defines a function when it asks whether cached code is still good, and not at the kernels it calls.
So the cache lies in a folder named by a digest of all sources that hold kernels or their constants: a change begins a new one.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])
KEPT_SECONDS = 7 * 24 * 3600
WITHOUT_KERNELS = ("cli", "report", "quality", "spark")


def cache_folder() -> Path:
    """The folder of this state of the sources; NUMBA_CACHE_DIR wins."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        return Path(named)
    digest = hashlib.sha256()
    package = Path(__file__).parent
    for source in sorted(package.rglob("*.py")):
        if source.relative_to(package).parts[0] not in WITHOUT_KERNELS:
            digest.update(source.read_bytes())
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "stompcap" / f"kernels-{digest.hexdigest()[:16]}"


def _cache() -> None:
    """Point numba to the folder and drop those of sources long gone; where none can be made, this process has its own."""
    place = cache_folder()
    try:
        if not place.exists():
            place.mkdir(parents=True, exist_ok=True)
            for other in place.parent.glob("kernels-*"):
                if time.time() - other.stat().st_mtime > KEPT_SECONDS:
                    shutil.rmtree(other, ignore_errors=True)
    except OSError:
        place = Path(tempfile.mkdtemp(prefix="stompcap-kernels-"))
    vars(numba.config)["CACHE_DIR"] = str(place)


_cache()


def kernel(function: F) -> F:
    """Compile `function` for columns and buffers; it keeps its signature for type checkers."""
    return cast(F, numba.njit(cache=True, nogil=True)(function))


def inline(function: F) -> F:
    """Compile a helper that kernels call in their inner loops; the compiler is told to inline it."""
    return cast(F, numba.njit(cache=True, nogil=True, inline="always")(function))
