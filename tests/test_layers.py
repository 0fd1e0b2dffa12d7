"""No module imports, at once or later, for types or at run time, what imports it in turn."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@cache
def modules() -> dict[str, Path]:
    paths = (path for folder in ("stompcap", "pipelines", "jobs") for path in (ROOT / folder).rglob("*.py"))
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def imported(tree: ast.AST) -> Iterator[str]:
    """The modules that a module names in its imports, wherever these stand."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in modules() else node.module


def circles(imports: Mapping[str, set[str]]) -> set[frozenset[str]]:
    """Groups of modules each of which leads to all others of its group."""
    reached = {name: {name} for name in imports}
    changed = True
    while changed:
        changed = False
        for name, others in imports.items():
            more = set().union(*(reached[other] for other in others)) - reached[name]
            reached[name] |= more
            changed = changed or bool(more)
    groups = {frozenset(other for other in reached[name] if name in reached[other]) for name in imports}
    return {group for group in groups if len(group) > 1}


def test_circles_are_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}) == {frozenset({"b", "c"})}
    assert set(imported(ast.parse("def f():\n    from stompcap.lake import tables, nothing"))) == {"stompcap.lake.tables", "stompcap.lake"}


def test_no_module_imports_what_imports_it() -> None:
    imports = {name: set(imported(ast.parse(path.read_text("utf-8")))) & modules().keys() - {name} for name, path in modules().items()}
    assert circles(imports) == set()
