"""Octets themselves: whether secrets stand there in clear, and whether there are as many as their row says.

A secret in clear is the value of a header with a secret name (stompcap.stomp.secret_names) that is not masked.

To read all octets would cost more than all else that a validation reads, so of large tables some row groups are searched, drawn anew for
each file; `stompcap doctor --secrets` searches whole lakes.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.columns import Bools
from stompcap.lake.tables import small
from stompcap.quality.ranges import Faults, add_faults
from stompcap.stomp.single_values import is_secret_name
from stompcap.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow.parquet as pq

MASKED = "expect_secrets_to_be_masked"
LENGTHS = ("raw_frames", "raw", "expect_raw_to_be_as_long_as_length_octets")
COLUMNS = {"frames": "headers", "raw_frames": "raw"}
SEARCHED_ROWS = 1 << 15
"""Rows of a table that a validation searches, or one row group."""

LIKELY = "(?i)" + "|".join(("pass", "pwd", "secret", "token", "api.{0,1}key", "auth", "cookie", "credential", "jwt", "session.{0,1}id"))
"""What octets with a secret name have: one of its stems or words, each by its first part, for a name may have separators anywhere in it."""
HEAD_OCTETS = 1 << 14
"""Octets of a row in which its head is looked for."""


def judged(lake: str) -> bool:
    """Whether the runs of a lake masked all that is secret by default: none was to keep credentials, or given names that are not secret."""
    given = small(lake, "runs", ["options"]).column("options").to_pylist()
    return not any(word in str(one) for one in given for word in ("--keep-credentials", "secrets.remove"))


def label(table: str) -> str:
    """The name of the check among those of its table."""
    return f"{COLUMNS[table]} {MASKED}"


def chosen(rows: Mapping[str, int]) -> set[str]:
    """Which of some files, given with their rows, are searched: drawn until they have `SEARCHED_ROWS`."""
    found, left = set(), SEARCHED_ROWS
    for name in random.sample(sorted(rows), len(rows)):
        if left > 0:
            found.add(name)
            left -= rows[name]
    return found


def search(file: pq.ParquetFile, table: Table, masked: bool, found: dict[str, Faults]) -> None:
    """Search row groups of a file, drawn until they have `SEARCHED_ROWS`; what is wrong there is added to the faults `found`.

    That are rows with a secret in clear, where all should be `masked`, and rows with more or fewer octets than they say.
    """
    column, left = COLUMNS[table.name], SEARCHED_ROWS
    for number in random.sample(range(file.num_row_groups), file.num_row_groups):
        if left <= 0:
            return
        lengths = ["length_octets", "kind"] if table.name == LENGTHS[0] else []
        group = file.read_row_group(number, columns=[column, *lengths])
        values = group.column(column).combine_chunks()
        left -= len(values)
        if masked:
            broken = _in_headers(values) if table.name == "frames" else _in_octets(values)
            add_faults(file, number, table, label(table.name), (), broken, found)
        if lengths:
            add_faults(file, number, table, f"{LENGTHS[1]} {LENGTHS[2]}", ("length_octets",), _of_other_length(group, values), found)


def _of_other_length(group: pa.Table, raw: pa.Array) -> Bools:
    """Which rows do not have as many octets as they say; a gap has none."""
    gap = pc.equal(group.column("kind").cast(pa.string()), "gap").combine_chunks()
    said = pc.if_else(gap, -1, group.column("length_octets").combine_chunks())
    found: Bools = pc.not_equal(pc.fill_null(pc.binary_length(raw), -1), said).to_numpy(zero_copy_only=False)
    return found


def _in_headers(values: pa.Array) -> Bools:
    """Which rows have a header with a secret name and another value than three asterisks."""
    broken = np.zeros(len(values), np.bool_)
    headers = pc.list_flatten(values)
    names = pc.struct_field(headers, "name").dictionary_encode()
    secret = pa.array([name for name in names.dictionary.to_pylist() if is_secret_name(name)], pa.string())
    value = pc.struct_field(headers, "value")
    shown = pc.and_(pc.is_in(names.cast(pa.string()), value_set=secret), pc.not_equal(pc.if_else(pc.equal(value, ""), "***", value), "***"))
    broken[pc.list_parent_indices(values).filter(pc.fill_null(shown, False)).to_numpy()] = True
    return broken


def _in_octets(values: pa.Array) -> Bools:
    """Which rows begin with a head in which a header with a secret name has a value of other octets than asterisks."""
    broken = np.zeros(len(values), np.bool_)
    heads = pc.binary_slice(values, 0, HEAD_OCTETS)
    for at in np.flatnonzero(pc.fill_null(pc.match_substring_regex(heads, LIKELY), False).to_numpy(zero_copy_only=False)):
        lines = heads[int(at)].as_py().replace(b"\r", b"").partition(b"\n\n")[0].split(b"\n")
        pairs = [line.partition(b":") for line in lines[1:]]
        broken[at] = any(value.strip(b"*\0") and is_secret_name(name.decode("latin-1")) for name, _, value in pairs)
    return broken

