"""Frames to the columns of table `frames`: command, headers, promoted values, body, and the rules that decoding found broken.

Whole batches at once, by kernels into Arrow buffers; no object per frame. The session's version decides throughout: escapes (1.0 none,
1.1, 1.2), the meaning of a CR before the LF, whether values are trimmed and names match in any case (1.0).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stompcap.columns import I8, I32, I64, Bools, Octets, worded
from stompcap.kernel import kernel
from stompcap.options import Options
from stompcap.stomp import grammar as g
from stompcap.stomp.bodies import read_bodies
from stompcap.stomp.delimiter_io import Rows
from stompcap.stomp.heads import Heads, split_heads
from stompcap.stomp.octets import fold, readonly
from stompcap.stomp.redact import redact
from stompcap.stomp.secret_names import SECRET_NAMES, SecretNames
from stompcap.stomp.strings import bitmap, offsets_of, slices, string_array
from stompcap.stomp.syntax import Syntax
from stompcap.tables import words
from stompcap.tables.schema import HEADER_MAP, HEADERS

RULES = ("FR-02", "FR-03", "FR-04", "FR-07", "FR-08", "FR-15", "FR-17", "FR-18", "FR-19")
"""Rules that one frame's octets and the version decide, in the order of `decode_errors`."""



@kernel
def _command_ends(octets: Octets, position: I64, length: I64) -> None:
    for frame in range(position.size):
        i = position[frame]
        while octets[i] != g.LF:
            i += 1
        if octets[i - 1] == g.CR:
            i -= 1
        length[frame] = i - position[frame]


@kernel
def _stripped(octets: Octets, position: I64, length: I64) -> None:
    for frame in range(position.size):
        while octets[position[frame] + length[frame] - 1] <= g.SPACE:
            length[frame] -= 1


@kernel
def _is_name(octets: Octets, position: I64, length: I64, command: I64, exact: Bools) -> None:
    for frame in range(position.size):
        code = command[frame]
        same = code >= 0 and g.COMMAND_LENGTHS[code] == length[frame]
        if same:
            for k in range(length[frame]):
                if octets[position[frame] + k] != g.COMMAND_OCTETS[code, k]:
                    same = False
                    break
        exact[frame] = same


def decode_errors(syntax: I64, command: I64, exact: Bools, versions: I8) -> pa.ListArray:
    """Per frame the rules (ids) that decoding found broken, without those that the frame's version does not have."""
    handshake = np.isin(command, g.HANDSHAKE)
    v10, v11, v12 = (versions == v for v in range(3))

    def has(bits: Syntax) -> Bools:
        mask: Bools = (syntax & int(bits)) != 0
        return mask

    broken = (
        has(Syntax.CRLF_LINE) & (v10 | v11) & ~handshake,
        has(Syntax.BARE_CR) & v12,
        ~exact & ((command < 0) | v11 | v12),
        has(Syntax.LENGTH_MISSED),
        has(Syntax.LENGTH_INVALID),
        has(Syntax.NO_COLON | Syntax.EMPTY_NAME),
        has(Syntax.NON_ASCII) & v10,
        has(Syntax.NON_UTF8) & (v11 | v12),
        has(Syntax.UNDEFINED_ESCAPE) & (v11 | v12) & ~handshake,
    )
    matrix = np.stack(broken, axis=1)
    offsets = offsets_of(matrix.sum(axis=1))
    return pa.ListArray.from_arrays(pa.array(offsets), worded(np.nonzero(matrix)[1], RULES))


@kernel
def _kept(first: I32, name_at: I32, effective: I64, begin: I64, length: I64, per_frame: I64) -> None:
    """Names of the effective entries, and how many each frame has."""
    kept = 0
    for frame in range(per_frame.size):
        for entry in range(first[frame], first[frame + 1]):
            if effective[entry, 0] >= 0:
                begin[kept] = name_at[entry]
                length[kept] = name_at[entry + 1] - name_at[entry]
                kept += 1
                per_frame[frame] += 1


@kernel
def _lower(names: Octets, name_at: I32, meant: I8) -> None:
    """Put names that match in another case in lower case."""
    for entry in range(meant.size):
        if meant[entry] >= 0:
            for i in range(name_at[entry], name_at[entry + 1]):
                names[i] = fold(names[i])


def headers_column(heads: Heads) -> pa.ListArray:
    """The header lines of each frame in order, as (name, value)."""
    names = string_array(heads.name_at, heads.names)
    values = string_array(heads.value_at, heads.values, heads.has_value)
    entries = pa.StructArray.from_arrays([names, values], fields=list(HEADERS.value_type))
    return pa.ListArray.from_arrays(pa.array(heads.first), entries)


def header_column(heads: Heads) -> pa.MapArray:
    """The effective values of each frame by name; shares the buffers of `headers_column` where all entries are effective."""
    if heads.plain:
        names, values = string_array(heads.name_at, heads.names), string_array(heads.value_at, heads.values)
        return pa.MapArray.from_arrays(pa.array(heads.first), names, values)
    wins = heads.effective[:, 0] >= 0
    begin, length = np.empty((2, int(wins.sum())), np.int64)
    per_frame = np.zeros(heads.first.size - 1, np.int64)
    _kept(heads.first, heads.name_at, heads.effective, begin, length, per_frame)
    value_begin, value_end = heads.effective[wins, 0], heads.effective[wins, 1]
    octets = heads.names
    if (heads.meant >= 0).any():
        octets = octets.copy()
        _lower(octets, heads.name_at, heads.meant)
    names = slices(octets, begin, length)
    values = slices(heads.values, value_begin, value_end - value_begin)
    return pa.MapArray.from_arrays(pa.array(offsets_of(per_frame)), names, values)


def _promoted(heads: Heads, column: int) -> pa.StringArray:
    begin, length = heads.promoted[column]
    present = length >= 0
    if not present.any():
        return pa.nulls(begin.size, pa.string())
    return slices(heads.values, begin, np.maximum(length, 0), present)


def eol_column(syntax: I64) -> pa.StringArray:
    """How the lines of command and headers end: lf, crlf or mixed."""
    lf, crlf = (syntax & int(Syntax.LF_LINE)) != 0, (syntax & int(Syntax.CRLF_LINE)) != 0
    return worded(np.where(lf & crlf, 2, np.where(crlf, 1, 0)), words.EOLS)


def decode(
    octets: Octets,
    frames: Rows,
    versions: I8,
    body_preview: int = Options.body_preview,
    keep_credentials: bool = False,
    masked: Bools | None = None,
    names: SecretNames = SECRET_NAMES,
) -> pa.RecordBatch:
    """The decoded columns of frames, in the order of the frames.

    Args:
        octets: the buffer that contains the frames, redacted or not.
        frames: rows of kind frame (`Rows.frames()`).
        versions: per frame, the session's version: 0 = 1.0, 1 = 1.1, 2 = 1.2, -1 = unknown (read as 1.2; rules of no version apply).
        body_preview: octets of a body that its preview shows.
        keep_credentials: leave secrets readable in headers and previews.
        masked: where the octets are redacted: per frame, whether something in it is masked.
        names: headers whose values are secret, as for `delimit`.

    Returns:
        Columns of `frames` (stompcap.tables.silver) from `command` on that the octets determine: all but key, time, version and lineage.

    Raises:
        OverflowError: where one string column would exceed 2 GiB.
    """
    versions = np.ascontiguousarray(versions, np.int8)
    if keep_credentials:
        masked = np.zeros(len(frames), np.bool_)
    elif masked is None:
        octets, masked = redact(octets, frames, names)
    octets = readonly(octets)
    heads = split_heads(octets, frames, versions, keep_credentials, masked, names)
    length = np.empty(len(frames), np.int64)
    _command_ends(octets, frames.position, length)
    command_raw = slices(octets, frames.position, length)
    _stripped(octets, frames.position, length)
    exact = np.empty(len(frames), np.bool_)
    _is_name(octets, frames.position, length, frames.command, exact)
    columns: dict[str, pa.Array] = {
        "command": slices(octets, frames.position, length, upper=True),
        "command_raw": command_raw,
    }
    for column, name in enumerate(g.PROMOTED[:-1]):
        columns[name.replace("-", "_")] = _promoted(heads, column)
    declared = heads.content_length
    columns["content_length"] = pa.Array.from_buffers(
        pa.int64(), len(frames), [bitmap(declared >= 0), pa.py_buffer(declared)]
    )
    body_octets, preview = read_bodies(octets, frames, body_preview, heads.syntax)
    columns["body_octets"] = pa.array(body_octets)
    columns["body_preview"] = preview
    columns["eol"] = eol_column(heads.syntax)
    columns["delimited_by"] = worded(frames.delimited_by, words.DELIMITERS)
    columns["syntax"] = pa.array(heads.syntax)
    columns["decode_errors"] = decode_errors(heads.syntax, frames.command, exact, versions)
    columns["headers"] = headers_column(heads).cast(HEADERS)
    columns["header"] = header_column(heads).cast(HEADER_MAP)
    return pa.RecordBatch.from_pydict(columns)
