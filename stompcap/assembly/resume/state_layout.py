"""The layout of saved states, as the machines declare it: its digest is their version, and no number has to be remembered.

Who adds a field to what a machine saves (a column of numbers, of a state table, of `frames`) says here, in BEFORE, what it is in
states that were written before there was such a field. For a field of a session's records `Field.before` says so; for a column of the
lake's tables `Column.before` does, and where that says nothing it is null. The part of a layer between TCP and STOMP is `layer` and its
kind. States of other layouts are then taken up as they are
(`stompcap.assembly.resume.older_states`). Of a field about which nothing can be said (LOST), states without it are not taken up: their
connections are computed again from their captures.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from functools import cache, cached_property
from typing import Any, Final, cast

import numpy as np
import pyarrow as pa

from stompcap import codes
from stompcap.assembly.parts import HEAVY, LEARNED, SESSION_TABLES
from stompcap.columns import I64
from stompcap.rules.pending import PENDING
from stompcap.rules.tally import COUNTS
from stompcap.session import state as session_state
from stompcap.stomp import delimiter_io as delimiter
from stompcap.stomp import grammar
from stompcap.tables import TABLES, words
from stompcap.tcp import copies, finality, history
from stompcap.tcp import state as connection
from stompcap.tcp.acknowledged import NOT_YET
from stompcap.tcp.block import Carried
from stompcap.tcp.results import ClockSteps, Retransmissions, ZeroWindows
from stompcap.transport import layers
from stompcap.transport.stretches import Stretches


class Nothing(Enum):
    """What can be said of a field that a state has not: nothing."""

    LOST = 0


LOST: Final = Nothing.LOST
Columns = dict[str, I64]
Value = int | str | bool | None | Nothing | Callable[[Columns], I64]


def _first_reset(of: Columns) -> I64:
    """RST_BY. The kind of close was RST where one came behind a FIN, too; now it is that of the first of both."""
    rst = np.stack([of["low rst_ns"], of["high rst_ns"]])
    fin = np.stack([np.where(of[f"{side} fin_seen"] != 0, of[f"{side} fin_ns"], np.iinfo(np.int64).max) for side in ("low", "high")])
    at = np.where(rst != 0, rst, np.iinfo(np.int64).max)
    fins_first = (of["close_kind"] == codes.CLOSE_RST) & (fin.min(axis=0) < at.min(axis=0))
    of["close_kind"] = np.where(fins_first, codes.CLOSE_FIN, of["close_kind"])
    return np.where((rst != 0).any(axis=0), 1 + at.argmin(axis=0), 0)


BEFORE: Mapping[str, Mapping[str, Value]] = {
    "connection": {
        "rst_by": _first_reset, "clock_min": -connection.UNBOUNDED, "clock_max": connection.UNBOUNDED, "clock_steps": 0,
        "ordered": LOST, "against": 0, "number": 0,  # places were by capture and packet
        "held_min": 0, "held_max": 0, "latest_packet": 0, "placed": 0, "placed_at": 0, "placed_ns": 0,
        **dict.fromkeys(("syn_ns", "syns", "synack_ns", "synacks", "shaken_ns"), 0),
    },
    "side": {
        **dict.fromkeys(("timed", "timed_ns", "timed_place", "newest", "newest_ns", "newest_place", "went_on", "went_ns"), 0),
        "went_ack": -1, "strayed": 0, "latest_at": lambda of: of["data_end"], **dict.fromkeys(("heard", "close_number", "close_order"), 0),
    },
    "tallies": {"strayed": 0, "newest": 0, "final_ns": lambda of: of["settled_ns"]},
    "Carried": {"heard": 0, "acked_ns": NOT_YET},
    "layer proxy": {"checksum": 0},
    "Stretches": {"order": LOST, "at": lambda of: of["row"], "unsure": False},
    "session frames": {"place": LOST},
    "session rows": {"place": LOST},
    **{f"session {name}": layout.before for name, layout in session_state.RECORDS.items()},
}
"""By part of the layout (`numbers`, `arrays` and `schemas` below), what fields are in states that were written before there were these.

Of numbers and arrays it may be a function of the other columns, by name, in which it may change what has another meaning now; those of
a connection's sides are `low ...` and `high ...`.
"""

MEANINGS: tuple[str, ...] = ()
"""Changes of what fields mean that neither names nor types show, oldest first: states from before one of them are not taken up."""


@dataclass(frozen=True)
class Layout:
    """What a state consists of, part by part.

    numbers   names of the columns of matrices of numbers
    arrays    names of arrays of one value a row
    schemas   of tables, as Arrow has them
    words     what codes in any of these are indices of
    """

    numbers: Mapping[str, tuple[str, ...]]
    arrays: Mapping[str, tuple[str, ...]]
    schemas: Mapping[str, pa.Schema]
    words: Mapping[str, tuple[str, ...]]
    meanings: tuple[str, ...]

    @cached_property
    def json(self) -> str:
        """As text, always the same for the same layout."""
        schemas = {name: [f"{field.name} {field.type}" for field in schema] for name, schema in self.schemas.items()}
        parts = {one.name: getattr(self, one.name) for one in fields(self)} | {"schemas": schemas}
        return json.dumps(parts, sort_keys=True)

    @cached_property
    def packed(self) -> bytes:
        """The same as states have it."""
        return zlib.compress(self.json.encode(), 9)

    @property
    def digest(self) -> str:
        """The version of states that have this layout."""
        return hashlib.sha256(self.json.encode()).hexdigest()[:16]


LAYER = "layer "
"""What the names of the parts begin with that layers between TCP and STOMP keep."""

RULES: Mapping[str, pa.Schema] = {"counts": COUNTS, "pending": PENDING}
WAITING_TABLES = ("streams", *SESSION_TABLES)
OF_TABLES = {
    "session frames": "frames", "session first": "frames", "session rows": "raw_frames", "session segments": "segments",
    "session stalls": "stalls", "counts": "compliance", "stream_state": "stream_state", **{f"come {name}": name for name in WAITING_TABLES},
}  # fmt: skip
"""Parts of the layout that have columns of tables of the lake."""


def now() -> Layout:
    """The layout of the states that this version writes."""
    return _with(layers.LAYERS)


@cache
def _with(kinds: tuple[layers.Layer, ...]) -> Layout:
    waiting = {f"come {name}": pa.schema([field for field in TABLES[name].arrow if field.name not in HEAVY]) for name in WAITING_TABLES}
    of_sessions = {f"session {name}": schema for name, schema in session_state.SCHEMAS.items()}
    named = (Carried, Stretches, ZeroWindows, Retransmissions, ClockSteps)
    return Layout(
        numbers={
            "connection": declared(connection, "FIRST_ROW", "SIDES"), "side": declared(connection, "SEEN", "COLUMNS"),
            "tallies": declared(finality, "OCTETS", "TALLIES"), "copies": declared(copies, "KEY", "ENTRY"),
            "delimiter": declared(delimiter, "PHASE", "STATE_FIELDS"), "learned": LEARNED,
        },
        arrays={kind.__name__: tuple(one.name for one in fields(cast("Any", kind))) for kind in named}
        | {LAYER + one.kind: one.keeps for one in kinds},
        schemas={"stream_state": TABLES["stream_state"].arrow, **waiting, **of_sessions, **RULES},
        words={
            "protocol": words.PROTOCOLS, "transport": words.TRANSPORTS, "version_source": words.VERSION_SOURCES,
            "possible": words.POSSIBLE_VERSIONS, "version": words.VERSIONS, "close_kind": words.CLOSE_KINDS, "raw_kind": words.RAW_KINDS,
            "delimited_by": words.DELIMITERS, "mode": words.ACK_MODES, "delivery": words.DELIVERY_STATUSES,
            "transaction": words.TRANSACTION_OUTCOMES, "command": grammar.NAMES,
            "history": tuple(chr(letter) for letter in history.HISTORY_LETTERS),
        },
        meanings=MEANINGS,
    )  # fmt: skip


def declared(module: Any, first: str, behind: str) -> tuple[str, ...]:
    """The constants of a module that number columns, from one of them to before another, in lower case; they count from 0."""
    names = list(vars(module))
    found = names[names.index(first) : names.index(behind)]
    if [getattr(module, name) for name in found] != list(range(len(found))):
        raise TypeError(f"{module.__name__}: {first} and those up to {behind} number columns, and must count from 0")
    return tuple(name.lower() for name in found)


def of_column(part: str, name: str) -> Value:
    """What a column of a table of the lake is in states without it; LOST if it is none, or has a value in every row."""
    table = TABLES.get(OF_TABLES.get(part, ""))
    column = next((one for one in table.columns if one.name == name), None) if table else None
    return LOST if column is None or (column.before is None and not column.nullable) else column.before
