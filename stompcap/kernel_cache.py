"""Where compiled kernels are cached, and how numba finds them there.

numba caches the kernels of a file under that file's path, and checks only that file to decide whether they are still valid.
A kernel includes the code of its callees and the constants that it names, so here a digest of all files with kernels, and of what these
import, decides; their path does not matter: kernels are under the name of their module in a folder named by the digest. Checkouts
with the same sources share one.

Folders are searched in this order: the one in NUMBA_CACHE_DIR only, where that is set; the kernels shipped with the environment
(`stompcap.baseline`), which are never written; the user's cache. Kernels that cannot be written to disk stay in memory.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.registry import cpu_target

from stompcap import baseline, extras, without

KEPT_SECONDS = 7 * 24 * 3600  # kernels unused for so long are removed
WITHOUT_KERNELS = ("cli", "prepare", "quality", "report", "spark")
COMPILED = re.compile(rb"^@(kernel|callee|inline|allocating)$", re.MULTILINE)
IMPORTED = re.compile(rb"^\s*from (stompcap[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
VARIABLE = "NUMBA_CACHE_DIR"
LOCK, PREPARING = "lock", "preparing"
"""Files of a folder of kernels: whoever writes a kernel locks the first, whoever compiles all of them the second."""
STAMP = "complete-"
"""What the name of a file begins with that says that all of them are compiled."""


@cache
def name() -> str:
    """The name of the folder: a digest of all sources of kernels and their constants, and of the compiler's version."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.implementation.cache_tag}".encode())
    for _, octets in sorted(sources().items()):
        digest.update(octets)
    return f"kernels-{digest.hexdigest()[:16]}"


def sources() -> dict[str, bytes]:
    """The files that have kernels and those whose names they import, by path in the package."""
    package = Path(__file__).parent
    files = {
        source.relative_to(package).as_posix(): source.read_bytes()
        for source in package.rglob("*.py")
        if source.relative_to(package).parts[0] not in WITHOUT_KERNELS
    }
    found = dict[str, bytes]()
    waiting = [path for path, octets in files.items() if COMPILED.search(octets)]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path] = files[path]
            waiting += [one for one in _imported(files[path], files) if one in files]
    return found


def _imported(octets: bytes, files: Container[str]) -> Iterator[str]:
    """The files that define what is imported from this package."""
    for module, names in IMPORTED.findall(octets):
        folder = module.decode().replace(".", "/").removeprefix("stompcap").lstrip("/")
        for one in re.findall(r"(\w+)(?: as \w+)?", names.decode()):
            path = f"{folder}/{one}.py".lstrip("/")
            yield path if path in files else f"{folder}.py" if f"{folder}.py" in files else f"{folder}/__init__.py".lstrip("/")


def own_folder() -> Path:
    """Where kernels are written: below NUMBA_CACHE_DIR if set, else in the user's cache."""
    named = os.environ.get(VARIABLE)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return (Path(named) if named else Path(base) / "stompcap") / name()


def shipped_folder() -> Path | None:
    """The kernels shipped with this environment; None if there are none, NUMBA_CACHE_DIR is set or the processor cannot run them."""
    folder = baseline.folder() / name()
    return folder if not os.environ.get(VARIABLE) and baseline.fits(folder) else None


def folders() -> list[Path]:
    """All folders to search, in order."""
    shipped = shipped_folder()
    return [own_folder()] if shipped is None else [shipped, own_folder()]


def prepared() -> bool:
    """Whether any of the folders has all kernels that are compiled ahead, for some processor."""
    return any(any(folder.glob(f"{STAMP}*")) for folder in folders())


def module_folder(module: str) -> str:
    """Where the kernels of a module are within any of the folders."""
    return os.path.join(*module.removeprefix("stompcap.").split(".")[:-1], "")


@cache
def _digest(path: str, changed_ns: int) -> str:
    """The digest of a file that was last changed then."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


class Locator(_CacheLocator):
    """Gives numba the location of a function's kernels, and the state of the sources they are valid for."""

    def __init__(self, function: Callable[..., Any], source: str) -> None:
        self._line = function.__code__.co_firstlineno
        self._py_file = source  # numba names it in a warning
        self._path = os.path.join(own_folder(), module_folder(function.__module__))

    def get_cache_path(self) -> str:
        """The folder of the function's index and code."""
        return self._path

    def get_source_stamp(self) -> str:
        """The state of the sources; the file itself is included, for it may be outside this package."""
        return f"{name()} {_digest(self._py_file, os.stat(self._py_file).st_mtime_ns)}"

    def get_disambiguator(self) -> str:
        """Distinguishes functions of the same name and module."""
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> Locator | None:
        """The locator of a function; None for one without a file."""
        return cls(py_func, py_file) if os.path.exists(py_file) else None


class _Kernels(CompileResultCacheImpl):
    """numba's serialisation of compiled functions, with this module's locator."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._locator_classes = [Locator]
        super().__init__(function)


class KernelCache(FunctionCache):
    """numba's cache of one function, in several folders, of which the last is written.

    numba reads, changes and writes the index of a function without a lock: of two processes that compile it for different types, one
    could then find the other's code under its own types. So writers lock the folder here.
    """

    _impl_class = _Kernels

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        locator, base = self._impl.locator, self._impl.filename_base
        within = module_folder(function.__module__)
        self._files = [IndexDataCacheFile(os.path.join(folder, within), base, locator.get_source_stamp()) for folder in folders()]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """A compiled function for these types; None where there is none."""
        ready()
        return super().load_overload(sig, target_context)

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        key = self._index_key(sig, target_context.codegen())
        for file in self._files:
            with suppress(OSError):  # a folder that this user may not read is skipped
                data = file.load(key)
                if data is not None:
                    return self._impl.rebuild(target_context, data)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Cache what was compiled for these types; if that is not writable, only this process has it."""
        with suppress(OSError), writing(own_folder()):
            super().save_overload(sig, data)


class LazyCache:
    """The cache of one function, made when numba asks it for something: most functions that a process imports it never calls."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    @cached_property
    def _made(self) -> KernelCache:
        return KernelCache(self._function)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)


@cache
def ready() -> None:
    """Have numba import what its first function needs, which takes some tenths of a second.

    It would import SciPy's, which takes as long again, to see whether there is a BLAS; no kernel uses one, and functions of others find it.
    """
    with without.meanwhile("scipy.linalg"):
        cpu_target.target_context.refresh()
    if arraymath := sys.modules.get("numba.np.arraymath"):
        vars(arraymath)["_HAVE_BLAS"] = extras.there("scipy")


@contextmanager
def writing(folder: Path, lock: str = LOCK) -> Iterator[None]:
    """Lock a folder of kernels for writing, and create it first; raises OSError where it cannot be written."""
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)
        drop_unused(folder.parent)
    with open(folder / lock, "ab") as file:
        with suppress(OSError):  # without locks of the file system, as numba itself does
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def drop_unused(base: Path) -> None:
    """Remove the kernels below a folder that were neither used nor written for a week."""
    for other in base.glob("kernels-*"):
        with suppress(OSError):
            if time.time() - other.stat().st_mtime > KEPT_SECONDS:
                shutil.rmtree(other, ignore_errors=True)


def use() -> None:
    """Start using the folders: mark the user's as used today; compile for the baseline where shipped kernels are used."""
    with suppress(OSError):
        folder = own_folder()
        if time.time() - folder.stat().st_mtime > KEPT_SECONDS / 7:
            os.utime(folder)
    shipped = shipped_folder()
    level = None if shipped is None else baseline.stated(shipped)
    if level is not None:
        baseline.use(level)
