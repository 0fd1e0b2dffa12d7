"""Which way imports go: as the table in CONTRIBUTING.md says, and never in a circle, at once or later, for types or at run time."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]


class Layer(NamedTuple):
    """A row of a table: the paths that it is about, the number of the row, and what they never import, or with parentheses call."""

    paths: tuple[str, ...]
    rank: int
    never: frozenset[str]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def table(head: str) -> list[Layer]:
    """The rows of a table of CONTRIBUTING.md, by the head of its last column."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition(f"| {head} |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| `")]
    return [Layer(tuple(quoted(row[0])), rank, frozenset(quoted(row[-1]))) for rank, row in enumerate(rows)]


@cache
def layers() -> list[Layer]:
    """Every folder, each below those that it may import."""
    return table("never imports")


@cache
def machines() -> list[Layer]:
    """Folders that have neither input nor output nor a clock."""
    return table("never use")


@cache
def layer_of(path: str) -> Layer:
    """The row that a file is of: the one with the longest path that leads to it."""
    found = [(len(own), layer) for layer in layers() for own in layer.paths if path.startswith(own) or Path(path).match(own)]
    return max(found)[1]


def offences(path: str, tree: ast.AST) -> list[str]:
    """What a file imports against the table."""
    layer, found = layer_of(path), []
    never = layer.never.union(*(one.never for one in machines() if path.startswith(one.paths)))
    for name in imported(tree):
        above = name in modules() and layer_of(modules()[name].relative_to(ROOT).as_posix()).rank <= layer.rank
        if name.split(".")[0] in never or (name in modules() and not above):
            found.append(f"{path} imports {name}")
    return found + [f"{path} calls {name}" for name in called(tree) if f"{name}()" in never]


def called(tree: ast.AST) -> Iterator[str]:
    """The functions that a module calls by a plain name."""
    return (node.func.id for node in telling(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name))


@lru_cache(1)
def telling(tree: ast.AST) -> list[ast.AST]:
    """The imports and calls of a module, which are gone through twice."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom | ast.Call)]


@cache
def modules() -> dict[str, Path]:
    folders = ("stompcap", "pipelines", "jobs", "airflow_dags")
    paths = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


@cache
def read() -> dict[str, tuple[set[str], list[str]]]:
    """What each module imports, and what of it is against the table."""
    found = {}
    for name, path in modules().items():
        tree = ast.parse(path.read_text("utf-8"))
        found[name] = set(imported(tree)) & modules().keys() - {name}, offences(path.relative_to(ROOT).as_posix(), tree)
    return found


def imported(tree: ast.AST) -> Iterator[str]:
    """The modules that a module names in its imports, wherever these stand."""
    for node in telling(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in modules() else node.module
        elif isinstance(node, ast.Call) and named(node.func) == "import_module" and isinstance(node.args[0], ast.Constant):
            yield str(node.args[0].value)


def named(function: ast.expr) -> str:
    """The name of what is called, without that of what it is in."""
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""


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
    assert circles({name: imports for name, (imports, _) in read().items()}) == set()


def test_imports_go_one_way() -> None:
    assert not [one for _, against in read().values() for one in against]


def test_every_folder_has_a_row_and_every_row_a_folder() -> None:
    folders = {f"stompcap/{path.parent.name}/" for path in (ROOT / "stompcap").glob("*/__init__.py")}
    folders |= {"pipelines/", "jobs/", "airflow_dags/"}
    named = {path for layer in layers() for path in layer.paths}
    assert folders <= named
    assert all(list(ROOT.glob(path.rstrip("/"))) for path in named)


PATHS = [(path, layer) for layer in layers() for path in layer.paths]


def some_file(path: str) -> str:
    return f"{path}some.py" if path.endswith("/") else path.replace("*", "some")


@pytest.mark.parametrize(("path", "layer"), PATHS, ids=[path for path, _ in PATHS])
def test_a_wrong_import_would_be_found(path: str, layer: Layer) -> None:
    for package in layer.never:
        assert offences(some_file(path), ast.parse(f"def f():\n    import {package}.some"))
    below = [one for later in layers()[layer.rank + 1 :] for one in later.paths if (ROOT / one / "__init__.py").exists()]
    for folder in below:
        name = folder.strip("/").replace("/", ".")
        for line in (f"import {name}", f"from {name} import some", f"importlib.import_module('{name}')"):
            assert offences(some_file(path), ast.parse(line)), line
    assert not offences(some_file(path), ast.parse("import re\nopened()"))


@pytest.mark.parametrize(("path", "never"), [(path, one) for row in machines() for path in row.paths for one in sorted(row.never)])
def test_input_output_and_clocks_in_a_machine_would_be_found(path: str, never: str) -> None:
    used = f"def f():\n    {never[:-1]}'a')" if never.endswith("()") else f"def f():\n    from {never} import some"
    assert offences(some_file(path), ast.parse(used))


def test_a_report_is_not_for_lake_nor_spark_for_assembly() -> None:
    assert offences("stompcap/lake/table_writer.py", ast.parse("from stompcap.report import page"))
    assert offences("stompcap/assembly/flow.py", ast.parse("import pyspark"))
