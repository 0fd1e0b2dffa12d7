"""The public interface of the parser: octets to frame objects, without a lake."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from stompcap.codes import BY_CONTENT_LENGTH_SHORTENED, FRAME, PARTIAL
from stompcap.columns import Octets
from stompcap.options import Options
from stompcap.stomp.decoder import decode
from stompcap.stomp.delimiter import delimit
from stompcap.stomp.delimiter_io import Rows, Runs
from stompcap.stomp.syntax import Syntax
from stompcap.tables import words


@dataclass(frozen=True, kw_only=True)
class Frame:
    """One frame."""

    offset: int
    """Position of the command's first octet, from the beginning."""
    length: int
    """Octets from there to the NUL, both included."""
    command: str
    """In upper case; `command_raw` is as written."""
    command_raw: str
    headers: tuple[tuple[str, str | None], ...]
    """As written, unescaped: with order, repeats and padding; a line without colon is a name with None."""
    header: dict[str, str]
    """Effective values: the first entry of a name wins."""
    body: bytes
    version: str | None
    delimited_by: str
    syntax: Syntax
    decode_errors: tuple[str, ...]
    """Rules (ids) that decoding found broken."""


def frames_of(octets: Octets, rows: Rows, version: str | None, offset: int = 0, keep_credentials: bool = True) -> list[Frame]:
    """The frames among `rows` as objects; `offset` is added to their offsets."""
    frames = rows.frames()
    code = -1 if version is None else words.VERSIONS.index(version)
    batch = decode(octets, frames, np.full(len(frames), code, np.int8), Options.body_preview, keep_credentials)
    result = []
    for number, row in enumerate(batch.to_pylist()):
        end = int(frames.position[number] + frames.length[number]) - 1
        begin = int(frames.position[number] + frames.body[number])
        result.append(
            Frame(
                offset=offset + int(frames.offset[number]),
                length=int(frames.length[number]),
                command=row["command"],
                command_raw=row["command_raw"],
                headers=tuple((h["name"], h["value"]) for h in row["headers"]),
                header=dict(row["header"]),
                body=octets[begin:end].tobytes(),
                version=version,
                delimited_by=row["delimited_by"],
                syntax=Syntax(row["syntax"]),
                decode_errors=tuple(row["decode_errors"]),
            )
        )
    return result


def parse(data: bytes, version: str | None = "1.2") -> list[Frame]:
    r"""The frames in `data`, a stream from its beginning to its end.

    Junk, EOLs and an unfinished frame are left out; `stompcap.stomp.Delimiter` gives them too. Passcodes are not masked.

    Args:
        data: octets that one side sent.
        version: the session's ("1.0", "1.1", "1.2"), which decides how headers are read; None if unknown.

    Raises:
        ValueError: for another version.

    >>> [frame] = parse(b"SEND\ndestination:/queue/a\\cb\n\nhello\x00\n")
    >>> frame.command, frame.header["destination"], frame.body
    ('SEND', '/queue/a:b', b'hello')
    """
    octets = np.frombuffer(data, np.uint8)
    return frames_of(octets, delimit(octets, Runs.whole(octets), lenient=version == "1.0"), version)


def decode_column(raw: pa.Array | pa.ChunkedArray, version: pa.Array | pa.ChunkedArray | str | None = "1.2") -> pa.StructArray:
    """Decode a column of single raw frames, such as `raw_frames.raw`.

    Args:
        raw: binary column; octets around the first frame of a value are ignored.
        version: the session's version for all, or a string column of versions; null or another word is read as unknown.

    Returns:
        A struct column with the fields that `decode` gives, passcodes masked; null where a value is null or has no whole frame.
    """
    raw = _combined(raw).cast(pa.large_binary())
    offsets = np.frombuffer(raw.buffers()[1], np.int64)[raw.offset : raw.offset + len(raw) + 1]
    octets = np.frombuffer(raw.buffers()[2], np.uint8) if raw.buffers()[2] is not None else np.empty(0, np.uint8)
    count = len(raw)
    lengths = np.diff(offsets) * np.asarray(raw.is_valid())
    runs = Runs(
        np.arange(count, dtype=np.int32), offsets[:-1].copy(), lengths, np.zeros(count, np.int64), np.ones(count, np.bool_),
        np.ones(count, np.bool_), lengths,
    )
    frames = _whole(delimit(octets, runs), octets, lengths)
    _, first = np.unique(frames.direction, return_index=True)
    frames = frames.take(first)
    codes = _version_codes(version, count)
    batch = decode(octets, frames, codes[frames.direction])
    row_of = np.full(count, -1, np.int64)
    row_of[frames.direction] = np.arange(len(frames))
    return batch.to_struct_array().take(pa.array(row_of, pa.int64(), mask=row_of < 0))


def _whole(rows: Rows, octets: np.ndarray, lengths: np.ndarray) -> Rows:
    """The frames among the rows; a value that ends in a NUL before its declared length is one too.

    In its stream, it was cut there because another frame followed (delimited_by content_length_shortened).
    """
    last = octets[np.maximum(rows.position + rows.length - 1, 0)] if octets.size else np.zeros(len(rows), np.uint8)
    cut = (rows.kind == PARTIAL) & (rows.body >= 0) & (rows.length == lengths[rows.direction]) & (last == 0)
    kind, by = np.where(cut, FRAME, rows.kind), np.where(cut, BY_CONTENT_LENGTH_SHORTENED, rows.delimited_by)
    return replace(rows, kind=kind, delimited_by=by).frames()


def _combined(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _version_codes(version: pa.Array | pa.ChunkedArray | str | None, count: int) -> np.ndarray:
    if version is None or isinstance(version, str):
        return np.full(count, words.VERSIONS.index(version) if version in words.VERSIONS else -1, np.int8)
    indices = pa.compute.index_in(_combined(version), pa.array(words.VERSIONS))
    return np.asarray(indices.fill_null(-1)).astype(np.int8)
