"""What names of capture files say of their rotations, for many files at once.

Names of files that a program rotates differ in digits. Where digits stand decides which of them are a number or a time; so names are
taken apart once for each shape, which is the name with every digit as 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.columns import U8, Bools

NUMBER = re.compile(r"\d+")
TIME = re.compile(r"\d{4}(?:[-_.:T]?\d\d){4,5}|\d{8,}")
MOST_DIGITS = 18  # of a number of 64 bits
FEW = 8
"""Names of a shape that are not worth an array of their own."""

_SHAPE = bytes.maketrans(b"123456789", b"0" * 9)


@dataclass(frozen=True)
class Names:
    """By row: what names of one rotation have in common before their number and behind it (null where there is none), and the rest.

    `number` is 0 where there is none; `times` are those in the name, as text that sorts as they do.
    """

    before: pa.Array
    behind: pa.Array
    number: pa.Array
    times: pa.Array


def without_packing(paths: pa.Array) -> pa.Array:
    """Paths without what says that a file is compressed."""
    some = pa.array(ends_with(paths, "/zZtT42"))
    if not pc.any(some).as_py():
        return paths
    stripped = pc.replace_substring_regex(pc.utf8_rtrim(paths.filter(some), characters="/"), r"\.(?i:gz|zst|lz4|xz|bz2)\z", "")
    return pc.replace_with_mask(paths, some, stripped)


def ends_with(texts: pa.Array, characters: str) -> Bools:
    """Whether the last character of each text is one of these, which are ASCII."""
    _, offsets, octets = texts.buffers()
    end = np.frombuffer(offsets, np.int32)[texts.offset :][: len(texts) + 1]
    last = np.frombuffer(octets or b"", np.uint8)
    some = np.diff(end) > 0
    found = np.zeros(len(texts), np.bool_)
    found[some] = np.isin(last[end[1:][some] - 1], np.frombuffer(characters.encode(), np.uint8))
    return found


def parsed(paths: pa.Array) -> Names:
    """What the names of some paths, `without_packing`, say."""
    shapes = _shapes(paths).dictionary_encode()
    shape, count = shapes.indices.to_numpy(), np.bincount(shapes.indices.to_numpy(), minlength=len(shapes.dictionary))
    if len(count) == 1 and len(paths) >= FEW:
        return Names(*_Parts.of(shapes.dictionary[0].as_py()).of_all(paths))
    singly = np.flatnonzero(count[shape] < FEW)
    rows = np.flatnonzero(count[shape] >= FEW)
    rows = rows[np.argsort(shape[rows], kind="stable")]
    found = [[pa.array([], kind) for kind in _TYPES]]
    if len(singly):
        one_by_one = zip(*(_Parts.of(path).of_one(path) for path in paths.take(pa.array(singly)).to_pylist()), strict=True)
        found.append([pa.array(values, kind) for values, kind in zip(one_by_one, _TYPES, strict=True)])
    alike = np.split(rows, np.flatnonzero(np.diff(shape[rows])) + 1) if len(rows) else ()
    found += [_Parts.of(shapes.dictionary[shape[mine[0]]].as_py()).of_all(paths.take(pa.array(mine))) for mine in alike]
    back = np.empty(len(paths), np.int64)
    back[np.append(singly, rows)] = np.arange(len(paths))
    return Names(*(pa.concat_arrays(list(column)).take(pa.array(back)) for column in zip(*found, strict=True)))


_TYPES = (pa.string(), pa.string(), pa.int64(), pa.string())


def _shapes(paths: pa.Array) -> pa.Array:
    """Paths with each digit as 0."""
    _, offsets, octets = paths.buffers()
    if octets is None:
        return paths
    return pa.StringArray.from_buffers(len(paths), offsets, pa.py_buffer(octets.to_pybytes().translate(_SHAPE)), offset=paths.offset)


@dataclass(frozen=True)
class _Parts:
    """Which parts of paths of one shape are what: each is from and to which character, or a text that is the same in all."""

    before: tuple[tuple[int, int] | str, ...]
    behind: tuple[tuple[int, int] | str, ...] | None
    number: tuple[int, int]
    times: tuple[tuple[int, int] | str, ...]

    @classmethod
    def of(cls, shape: str) -> _Parts:
        begin = shape.rfind("/") + 1
        spans = [(begin + one.start(), begin + one.end()) for one in TIME.finditer(shape[begin:])]
        edges = [begin, *(edge for span in spans for edge in span), len(shape)]
        between = [(edges[at], edges[at + 1]) for at in range(0, len(edges), 2)]
        numbers = [(low + one.start(), low + one.end()) for low, high in between for one in NUMBER.finditer(shape[low:high])]
        times = tuple(one for span in spans for one in (span, "\0"))
        folder: tuple[tuple[int, int] | str, ...] = ((0, max(begin - 1, 0)), "/")
        if not numbers:
            return cls((*folder, *_parted(between)), None, (0, 0), times)
        low, high = numbers[-1]
        first = [(start, min(stop, low)) for start, stop in between if start <= low]
        rest = [(max(start, high), stop) for start, stop in between if stop >= high]
        return cls((*folder, *_parted(first)), _parted(rest), (low, high), times)

    def of_one(self, path: str) -> tuple[str, str | None, int, str]:
        """What one path says."""
        before, behind, times = (
            None if parts is None else "".join(one if isinstance(one, str) else path[slice(*one)] for one in parts)
            for parts in (self.before, self.behind, self.times)
        )
        return before or "", behind, int(path[slice(*self.number)] or 0), times or ""

    def of_all(self, paths: pa.Array) -> list[pa.Array]:
        """What all paths of the shape say."""
        texts = _Texts.of(paths)
        number = texts.number(*self.number) if self.number[1] else pa.repeat(pa.scalar(0, pa.int64()), len(paths))
        behind = pa.nulls(len(paths), pa.string()) if self.behind is None else texts.joined(self.behind)
        return [texts.joined(self.before), behind, number, texts.joined(self.times)]


def _parted(spans: list[tuple[int, int]]) -> tuple[tuple[int, int] | str, ...]:
    """What stands between times, with a mark for each of these."""
    found: list[tuple[int, int] | str] = []
    for span in spans:
        found += ["\0", span]
    return tuple(found[1:])


@dataclass(frozen=True)
class _Texts:
    """Texts of one shape; and their octets, a row each, where a character is an octet."""

    texts: pa.Array
    octets: U8 | None

    @classmethod
    def of(cls, texts: pa.Array) -> _Texts:
        """These, of which there is one at least."""
        size = len(texts[0].as_py())
        _, offsets, octets = texts.buffers()
        begin, end = np.frombuffer(offsets, np.int32)[[texts.offset, texts.offset + len(texts)]]
        if end - begin != size * len(texts):
            return cls(texts, None)
        return cls(texts, np.frombuffer(octets or b"", np.uint8)[begin:end].reshape(len(texts), size))

    def part(self, low: int, high: int) -> pa.Array | str:
        """From one character to before another: of each text, or where it is the same in all."""
        if self.octets is None:
            return pc.utf8_slice_codeunits(self.texts, low, high)
        part = self.octets[:, low:high]
        if (part == part[0]).all():
            return part[0].tobytes().decode("ascii")
        edges = np.arange(0, part.size + 1, high - low, dtype=np.int32)
        return pa.StringArray.from_buffers(len(part), pa.py_buffer(edges), pa.py_buffer(part.tobytes()))

    def number(self, low: int, high: int) -> pa.Array:
        """The numbers that stand there."""
        if self.octets is None or high - low > MOST_DIGITS:
            return pa.array(map(int, pc.utf8_slice_codeunits(self.texts, low, high).to_pylist()), pa.int64())
        found = np.zeros(len(self.octets), np.int64)
        for at in range(low, high):
            found = 10 * found + self.octets[:, at] - ord("0")
        return pa.array(found)

    def joined(self, parts: Sequence[tuple[int, int] | str]) -> pa.Array:
        """Parts of each text, back to back."""
        columns = [one if isinstance(one, str) else self.part(*one) for one in parts if isinstance(one, str) or one[0] < one[1]]
        if not any(isinstance(one, pa.Array) for one in columns):
            return pa.repeat(pa.scalar("".join(columns), pa.string()), len(self.texts))
        return pc.binary_join_element_wise(*columns, "")
