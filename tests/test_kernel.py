"""Kernels that count no references neither make arrays nor hand any on, and leave those that they were given as they were."""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import stompcap
from stompcap.columns import rising

PACKAGE = Path(stompcap.__file__).parent
COUNTING, BORROWING = "allocating", ("kernel", "callee", "inline")
PLAIN = {"None", "Any", "Int", "Step", "bool", "float", "int", "np", "tuple"}
"""Names in the annotations of what is no array."""


@dataclass(frozen=True)
class Compiled:
    """A function that is compiled: whether it counts references, whether it may return an array, and what it calls."""

    counts: bool
    gives_arrays: bool
    calls: frozenset[str]


def compiled(folder: Path) -> dict[str, Compiled]:
    """Those below a folder, by the names of their modules and their own."""
    found = {}
    for path in folder.rglob("*.py"):
        module = ".".join(("stompcap", *path.relative_to(folder).with_suffix("").parts))
        tree = ast.parse(path.read_bytes())
        homes = {node.name: f"{module}.{node.name}" for node in tree.body if isinstance(node, ast.FunctionDef)}
        modules = {}
        for part in tree.body:
            if isinstance(part, ast.ImportFrom) and part.module:
                for alias in part.names:
                    homes[alias.asname or alias.name] = modules[alias.asname or alias.name] = f"{part.module}.{alias.name}"
        for function in tree.body:
            if not isinstance(function, ast.FunctionDef):
                continue
            marks = {ast.unparse(mark) for mark in function.decorator_list} & {COUNTING, *BORROWING}
            if not marks:
                continue
            called = set()
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    called.add(homes.get(node.func.id, ""))
                elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
                    called.add(f"{modules.get(node.func.value.id, '')}.{node.func.attr}")
            returns = {node.id for node in ast.walk(function.returns or ast.Constant(None)) if isinstance(node, ast.Name)}
            found[f"{module}.{function.name}"] = Compiled(COUNTING in marks, not returns <= PLAIN, frozenset(called))
    return found


def wrong(kernels: dict[str, Compiled]) -> list[str]:
    """Those that may lose or keep an array for good."""
    counting = {name for name, one in kernels.items() if one.counts and one.gives_arrays}
    return sorted(name for name, one in kernels.items() if not one.counts and (one.gives_arrays or one.calls & counting))


def test_who_counts_no_references_hands_on_no_array() -> None:
    kernels = compiled(PACKAGE)
    assert sum(one.counts and one.gives_arrays for one in kernels.values()) > 10
    assert sum(not one.counts for one in kernels.values()) > 300
    assert wrong(kernels) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("@kernel\ndef one(a: I64) -> I64:\n    return a\n", ["stompcap.m.one"]),
        ("@inline\ndef one(a: I64) -> tuple[int, Octets]:\n    return 1, a\n", ["stompcap.m.one"]),
        ("@allocating\ndef one(a: I64) -> I64:\n    return a\n\n\n@kernel\ndef two(a: I64) -> None:\n    one(a)\n", ["stompcap.m.two"]),
        ("@allocating\ndef one(a: I64) -> int:\n    return 1\n\n\n@kernel\ndef two(a: I64) -> int:\n    return one(a)\n", []),
    ],
)
def test_a_kernel_that_would_is_found(source: str, expected: list[str], tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(source)
    assert wrong(compiled(tmp_path)) == expected


def test_arrays_are_borrowed() -> None:
    group, values = np.array([0, 0, 1]), np.array([5, 3, 1])
    before = sys.getrefcount(group), sys.getrefcount(values)
    for _ in range(100):
        assert rising(group, values).tolist() == [5, 5, 1]
    assert (sys.getrefcount(group), sys.getrefcount(values)) == before


@pytest.mark.slow  # a process of its own
def test_the_cache_of_a_kernel_is_looked_up_at_its_first_call() -> None:
    program = (
        "import numpy as np; from stompcap import kernel_cache; made = []; real = kernel_cache.KernelCache.__init__; "
        "kernel_cache.KernelCache.__init__ = lambda self, function: (made.append(function.__name__), real(self, function))[1]; "
        "import stompcap.assembly; from stompcap.session.header_values import _entries; before = list(made); none = np.zeros(0, np.int64); "
        "ends, octets = np.frombuffer(b'', np.int32), np.frombuffer(b'', np.uint8); _entries(none, ends, ends, octets, octets, none); "
        "print(before, made[0])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "_entries"]
