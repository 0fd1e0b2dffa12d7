"""Compiles the kernels into extension modules for a wheel, which need neither numba nor LLVM where they run (`stompcap.ahead`).

Usage: python -m stompcap.prepare.extension FOLDER, which takes the modules; a C compiler links them, with numba's own support code.
"""

from __future__ import annotations

import ast
import importlib
import multiprocessing
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from stompcap import ahead, baseline
from stompcap.kernel import Callee
from stompcap.prepare.signatures import Signature, listed

PACKAGE = Path(__file__).parents[1]
MARKS = {"kernel", "callee", "inline", "allocating"}
MODULES = ("_kernels_0", "_kernels_1")
"""Two, which are compiled at the same time."""


def wanted() -> list[Signature]:
    """The lines of the list that functions outside kernels call; what kernels call is compiled into these."""
    called = set(called_by_python(PACKAGE))
    entered = [one for one in listed() if f"{one.module}.{one.function}" in called and not isinstance(one.dispatcher(), Callee)]
    return [one for one in entered if not any("=" in word for word in one.arguments)]


def called_by_python(package: Path) -> Iterator[str]:
    """The kernels, as module and name, that functions which are not compiled themselves name."""
    for path in package.rglob("*.py"):
        module = ".".join(("stompcap", *path.relative_to(package).with_suffix("").parts)).removesuffix(".__init__")
        tree = ast.parse(path.read_bytes())
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        own = [node for node in functions if MARKS & {ast.unparse(one) for one in node.decorator_list}]
        homes = {node.name: f"{module}.{node.name}" for node in own}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                homes |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        for part in tree.body:
            for node in () if part in own else ast.walk(part):
                if isinstance(node, ast.Name) and node.id in homes:
                    yield homes[node.id]
                elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in homes:
                    yield f"{homes[node.value.id]}.{node.attr}"


def found(name: str) -> Any:
    """What a module has by that name; None where it has no such."""
    module, _, member = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), member, None)
    except ImportError:
        return None


def build(folder: Path) -> int:
    """Write the modules into a folder, compiled for the baseline of this architecture; gives how many forms they have."""
    forms = wanted()
    parts = [forms[number :: len(MODULES)] for number in range(len(MODULES))]
    with ProcessPoolExecutor(len(parts), mp_context=multiprocessing.get_context("spawn")) as pool:
        list(pool.map(_compile, [folder] * len(parts), MODULES, parts))
    return len(forms)


def _compile(folder: Path, name: str, parts: list[Signature]) -> None:
    compiler: Any = importlib.import_module("numba.pycc.compiler")
    compiler.Flags = _flags
    made = importlib.import_module("numba.pycc").CC(name)
    made.output_dir, made.target_cpu = str(folder), baseline.of_this_machine().cpu_name
    for one in parts:
        made.export(ahead.symbol(str(one)), one.types())(one.dispatcher().py_func)
    made.compile()


def _flags() -> Any:
    """As kernels are compiled otherwise: without the interpreter's lock."""
    from numba.core.compiler import Flags

    flags: Any = Flags()
    flags.release_gil = True
    return flags


if __name__ == "__main__":
    build(Path(sys.argv[1]))
