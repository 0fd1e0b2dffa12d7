"""Kernels and the types they are called with, as lines of text.

numba compiles a function for the types of its arguments, known only when it is called. `signatures.txt` lists the observed types:
a line has the function, then its arguments. A scalar is named as in numba; an array is its element type and its axes, as in
`int64[:,::1]` (numba's notation, with the last axis contiguous), after `const-` if read-only; `=0` is a constant that is compiled
in; `module.Class(...)` is a named tuple of the types in parentheses, and `(...)` a tuple. Callees come
before their callers. `make kernels` regenerates the file.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numba.core import types

LIST = Path(__file__).with_name("signatures.txt")


@dataclass(frozen=True)
class Signature:
    """A kernel, by module and name, and the types of its arguments as they are written in the list."""

    module: str
    function: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join((f"{self.module}.{self.function}", *self.arguments))

    def dispatcher(self) -> Any:
        """The function as compiled by numba. Raises ImportError or AttributeError if it does not exist."""
        return getattr(importlib.import_module(self.module), self.function)

    def compile(self) -> None:
        """Compile it, or load it from the cache."""
        self.dispatcher().compile(self.types())

    def types(self) -> tuple[Any, ...]:
        """The types of its arguments, as numba has them."""
        return tuple(read(word) for word in self.arguments)


def listed(path: Path = LIST) -> list[Signature]:
    """The signatures of a file, in its order; lines that begin with # are comments."""
    found = []
    for line in path.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            name, *arguments = line.split(" ")
            module, _, function = name.rpartition(".")
            found.append(Signature(module, function, tuple(arguments)))
    return found


def read(word: str) -> Any:
    """The numba type for a word. Raises ValueError for an invalid one."""
    if word.startswith("="):
        return types.literal(word == "=True" if word in ("=True", "=False") else int(word[1:]))
    if word.endswith(")"):
        name, _, fields = word[:-1].partition("(")
        kinds = [read(field) for field in _fields(fields)]
        if not name:
            return types.BaseTuple.from_types(kinds)
        module, _, member = name.rpartition(".")
        made = getattr(importlib.import_module(module), member)
        if len(kinds) != len(made._fields):
            raise ValueError(f"{name}: {len(made._fields)} fields, {len(kinds)} in the list; make kernels writes it anew")
        return types.NamedUniTuple(kinds[0], len(kinds), made) if len(set(kinds)) == 1 else types.NamedTuple(kinds, made)
    if word.endswith("]"):
        element, _, axes = word.removeprefix("const-").partition("[")
        return types.Array(read(element), axes.count(":") - 1, "C", readonly=word.startswith("const-"))
    found = getattr(types, word, None)
    if not isinstance(found, types.Type):
        raise ValueError(f"{word}: not a type")
    return found


def _fields(text: str) -> Iterator[str]:
    """Splits at the commas outside brackets; arrays of several axes have commas of their own."""
    depth, begin = 0, 0
    for at, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            yield text[begin:at]
            begin = at + 1
    yield text[begin:]


def spell(kind: Any) -> str:
    """The word for a numba type. Raises ValueError for an unsupported one."""
    if isinstance(kind, types.IntegerLiteral | types.BooleanLiteral):
        return f"={kind.literal_value}"
    if isinstance(kind, types.NamedTuple | types.NamedUniTuple):
        made = kind.instance_class
        return f"{made.__module__}.{made.__qualname__}({','.join(map(spell, kind.types))})"
    if isinstance(kind, types.UniTuple | types.Tuple):
        return f"({','.join(map(spell, kind.types))})"
    if isinstance(kind, types.Array) and kind.layout == "C" and kind.aligned:
        axes = ",".join([":"] * (kind.ndim - 1) + ["::1"])
        return f"{'' if kind.mutable else 'const-'}{kind.dtype}[{axes}]"
    if isinstance(kind, types.Integer | types.Boolean | types.Float):
        return str(kind)
    raise ValueError(f"{kind}: no word for this type")
