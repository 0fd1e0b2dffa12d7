"""Searches the files of a lake for secrets, in all their forms; it names tables and columns, never values."""

from __future__ import annotations

import io
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from stompcap.lake.paths import filesystem
from stompcap.stomp.needles import Needles, packed, search
from stompcap.stomp.secret_forms import LEAST, forms

ARCHIVE = b"PK\x03\x04"


@dataclass(frozen=True)
class Found:
    """A secret in a file: its line in the file of secrets, its form, the column (empty for the file's own octets), how many times."""

    path: str
    column: str
    line: int
    form: str
    times: int


class Searcher:
    """The secrets of a file, one a line, in all their forms."""

    def __init__(self, secrets: Sequence[bytes]) -> None:
        """`secrets` by line; empty ones are left out."""
        self.short = [number for number, secret in enumerate(secrets, 1) if 0 < len(secret) < LEAST]
        """Lines with secrets that are too short to be searched for."""
        words, self._forms = dict[bytes, int](), list[tuple[int, str]]()
        for number, secret in enumerate(secrets, 1):
            for octets, form, _ in forms(secret):
                if octets not in words:
                    words[octets] = 0
                    self._forms.append((number, form))
        self._needles: Needles | None = packed(words) if words else None

    def lake(self, lake: str) -> Iterator[Found]:
        """What any file below the lake has of them."""
        if self._needles is None:
            return
        files, root = filesystem(lake)
        entries = files.get_file_info(fs.FileSelector(root, recursive=True))
        for entry in sorted(entries, key=lambda entry: entry.path):
            if entry.is_file:
                with files.open_input_file(entry.path) as file:
                    octets = file.read()
                yield from self._file(entry.path[len(root) :].lstrip("/"), octets)

    def _file(self, path: str, octets: bytes) -> Iterator[Found]:
        """What a file has."""
        yield from self._found(path, "", self.times(octets))
        if path.endswith(".parquet"):
            table = pq.ParquetFile(pa.BufferReader(octets)).read()
            for name in table.column_names:
                times = Counter[tuple[int, str]]()
                for chunk in table.column(name).chunks:
                    for leaf in _leaves(chunk):
                        times += self._in_values(leaf)
                yield from self._found(path, name, times)

    def _found(self, path: str, column: str, times: Counter[tuple[int, str]]) -> Iterator[Found]:
        yield from (Found(path, column, line, form, count) for (line, form), count in sorted(times.items()))

    def times(self, octets: bytes) -> Counter[tuple[int, str]]:
        """How often each secret is in these octets, and in the members of an archive."""
        assert self._needles is not None
        found = search(np.frombuffer(octets, np.uint8), self._needles)
        times = Counter(self._forms[word] for word in found[:, 2].tolist())
        if octets.startswith(ARCHIVE):
            with zipfile.ZipFile(io.BytesIO(octets)) as archive:
                for name in archive.namelist():
                    times += self.times(archive.read(name))
        return times

    def _in_values(self, values: pa.Array) -> Counter[tuple[int, str]]:
        """How often each secret is in one of these values."""
        assert self._needles is not None
        values = values.drop_null().cast(pa.large_binary())
        archives = pc.starts_with(values, ARCHIVE)
        times = Counter[tuple[int, str]]()
        for value in values.filter(archives):
            times += self.times(value.as_py())
        if not len(values) or values.buffers()[2] is None:
            return times
        offsets = np.frombuffer(values.buffers()[1], np.int64)[values.offset : values.offset + len(values) + 1]
        octets = np.frombuffer(values.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
        found = search(octets, self._needles)
        value = np.searchsorted(offsets - offsets[0], found[:, 0], "right")
        within = found[:, 1] <= (offsets - offsets[0])[np.minimum(value, len(offsets) - 1)]
        return times + Counter(self._forms[word] for word in found[within, 2].tolist())


def _leaves(array: pa.Array) -> Iterator[pa.Array]:
    """The strings and octets in an array, however deep."""
    kind = array.type
    if pa.types.is_struct(kind):
        for part in array.flatten():
            yield from _leaves(part)
    elif pa.types.is_map(kind):
        yield from _leaves(array.keys)
        yield from _leaves(array.items)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield from _leaves(array.flatten())
    elif pa.types.is_dictionary(kind):
        yield from _leaves(array.dictionary)
    elif pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        yield array


def lines_of(octets: bytes) -> list[bytes]:
    """The secrets of a file, one a line."""
    return [line.removesuffix(b"\r") for line in octets.split(b"\n")]
