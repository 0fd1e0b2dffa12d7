"""Named arrays and tables as octets: a list of names, types and shapes, then their octets as they are.

They are not compressed, for the lake's files are, and states of many connections together better than each alone. A table is a record
batch of Arrow without its schema, which the layout of states has (`stompcap.assembly.resume.state_layout`); one without rows is not there.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stompcap.columns import U8

Arrays = Mapping[str, NDArray[Any]]
MAGIC = b"stompcap"
ALIGNED = 8
"""Octets: where an array begins, kernels take it as it is."""


def pack(arrays: Arrays) -> bytes:
    """The octets that `unpack` reads."""
    directory = json.dumps([(name, values.dtype.str, values.shape) for name, values in arrays.items()], separators=(",", ":")).encode()
    parts = [MAGIC, len(directory).to_bytes(ALIGNED, "little"), directory, _filling(len(directory))]
    for values in arrays.values():
        parts += [values.tobytes(), _filling(values.nbytes)]
    return b"".join(parts)


def unpack(octets: bytes) -> dict[str, NDArray[Any]]:
    """The arrays by name, which may be written to; also of the archives (npz) that older versions wrote.

    Raises ValueError for other octets.
    """
    if not is_packed(octets):
        with np.load(io.BytesIO(octets), allow_pickle=False) as held:
            return dict(held)
    begin = len(MAGIC) + ALIGNED
    at = begin + int.from_bytes(octets[len(MAGIC) : begin], "little")
    directory, held = json.loads(octets[begin:at]), bytearray(octets)
    arrays = {}
    for name, kind, shape in directory:
        at += -at % ALIGNED
        dtype = np.dtype(kind)
        arrays[name] = np.ndarray(shape, dtype, held, at) if math.prod(shape) else np.empty(shape, dtype)
        at += arrays[name].nbytes
    return arrays


def is_packed(octets: bytes) -> bool:
    """Whether `pack` of any version wrote these octets, and not an older version something else."""
    return octets.startswith(MAGIC)


def _filling(count: int) -> bytes:
    return bytes(-count % ALIGNED)


def of_tables(tables: Mapping[str, pa.Table], schemas: Mapping[str, pa.Schema], prefix: str = "") -> dict[str, U8]:
    """Tables in these schemas as arrays of octets, whose names begin with `prefix`."""
    found = {}
    for name, table in tables.items():
        if table.num_rows:
            schema = schemas[name]
            (batch,) = (table if table.schema.equals(schema) else table.select(schema.names).cast(schema)).combine_chunks().to_batches()
            found[prefix + name] = np.frombuffer(batch.serialize(), np.uint8)
    return found


def to_table(octets: U8, schema: pa.Schema) -> pa.Table:
    """The table of a schema that `of_tables` has put among arrays."""
    return pa.Table.from_batches([pa.ipc.read_record_batch(pa.py_buffer(octets), schema)])


def to_older_table(octets: U8) -> pa.Table:
    """A table as older versions packed it: an Arrow stream, with its schema."""
    return pa.ipc.open_stream(pa.py_buffer(octets)).read_all()
