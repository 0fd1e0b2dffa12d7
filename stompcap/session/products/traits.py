"""What a session shows of the software at its ends: some texts for each session, out of the first frame of each command.

Names of headers are joined by commas in the order of the wire, where at least three stand there behind the word `sorted` or `mixed`;
a SEND with a body is `sized` (it has a content-length) or `unsized`. Null where the session has no such frame.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.columns import Bools
from stompcap.session.firsts import OfSessions

Traits = dict[str, pa.Array]
FEW = 3  # names that are in alphabetical order by chance once in six times


def _sorted(names: pa.Array, ends: np.ndarray, lines: np.ndarray) -> Bools:
    """Which lists of names, given end to end, ascend."""
    falling = np.zeros(len(names), np.int64)
    if len(names) > 1:
        falling[1:] = pc.greater(names[:-1], names[1:]).to_numpy(zero_copy_only=False)
    total = np.concatenate([[0], np.cumsum(falling)])
    ascends: Bools = total[ends] - total[np.minimum(ends - lines + 1, ends)] == 0
    return ascends


def names_of(headers: pa.Array) -> pa.Array:
    """The names in a column of header lists (ARRAY<STRUCT<name, value>>) as one text each."""
    lines = pc.list_value_length(headers).fill_null(0).to_numpy(zero_copy_only=False)
    ends = np.cumsum(lines)
    names = pc.struct_field(headers.flatten(), "name")
    lists = pa.ListArray.from_arrays(pa.array(np.concatenate([[0], ends]), pa.int32()), names)
    order = np.where(lines < FEW, "", np.where(_sorted(names, ends, lines), "sorted ", "mixed "))
    text = pc.binary_join_element_wise(pa.array(order), pc.binary_join(lists, ","), "")
    return pc.if_else(headers.is_valid(), text, pa.scalar(None, pa.string()))


def of_broker(first: Mapping[str, OfSessions]) -> Traits:
    """What the server's frames show until it delivers something, by the names that `stompcap.session.products.fingerprints` uses."""
    answer, message = first["connected"], first["message"]
    return {
        "session": answer.header("session"),
        "connected": names_of(answer.column("headers")),
        "heart-beat": answer.header("heart-beat"),
        "message": names_of(message.column("headers")),
        "message-id": message.column("message_id"),
        "ack-id": message.column("ack"),
        "error": pa.nulls(len(answer.at), pa.string()),
    }


def of_server(first: Mapping[str, OfSessions]) -> Traits:
    """What the server's frames show."""
    error = first["error"]
    text = pc.binary_join_element_wise(
        error.header("message"), error.column("body_preview"), "\n", null_handling="replace", null_replacement=""
    )
    return of_broker(first) | {"error": text}


def of_client(first: Mapping[str, OfSessions]) -> Traits:
    """What the client's frames show."""
    asked, send = first["connect"], first["send"]
    length = pc.if_else(send.column("content_length").is_valid(), "sized ", "unsized ")
    length = pc.if_else(pc.greater(send.column("body_octets"), 0), length, "")
    return {
        "connect": names_of(asked.column("headers")),
        "offer": pc.binary_join_element_wise(asked.column("command"), pc.fill_null(asked.header("accept-version"), ""), " "),
        "host": asked.header("host"),
        "connect-type": asked.column("content_type"),
        "subscribe": names_of(first["subscribe"].column("headers")),
        "subscription": first["subscribe"].column("id"),
        "send": pc.binary_join_element_wise(length, names_of(send.column("headers")), ""),
        "ack": names_of(first["ack"].column("headers")),
        "begin": first["begin"].column("receipt"),
        "disconnect": first["disconnect"].column("receipt"),
    }
