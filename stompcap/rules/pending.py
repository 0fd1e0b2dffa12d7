"""Pending verdicts: opportunities that rules have seen and not decided yet, from one step of a session to the next.

A row has all that a finding needs, its evidence included, for the frame it was made of is seen once only.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.columns import I64, Bools, flat, integers
from stompcap.rules.evidence import presentable

PENDING = pa.schema([
    ("stream_id", pa.string()),
    ("rule_id", pa.string()),
    ("sent", pa.int8()),
    ("blamed", pa.int8()),
    ("lenient", pa.bool_()),
    ("offset", pa.int64()),
    ("ts_ns", pa.int64()),
    ("version", pa.int8()),
    ("failed", pa.bool_()),
    ("unevaluable", pa.bool_()),
    ("trusted", pa.bool_()),
    ("key", pa.int64()),
    ("other_key", pa.int64()),
    ("evidence", pa.string()),
])


@dataclass(frozen=True)
class Pending:
    """Verdicts of rules, one entry each: those that wait for a decision, and those that have failed.

    rule         its index in the catalogue
    session      index in the dialogue's streams
    sent         who sent what is judged
    blamed       who has broken the rule if it fails
    lenient      it fails at the second of the rule's two levels
    offset, ts_ns, version: as in Units
    failed       the verdict unless the rule decides otherwise
    unevaluable  the capture cannot judge it, whatever comes
    trusted      it surely is what it seems, else it cannot fail
    key, other_key: what the rule stored with it
    evidence     what a finding says, as the frame has it: `presentable` before it leaves the step
    """

    rule: I64
    session: I64
    sent: I64
    blamed: I64
    lenient: Bools
    offset: I64
    ts_ns: I64
    version: I64
    failed: Bools
    unevaluable: Bools
    trusted: Bools
    key: I64
    other_key: I64
    evidence: pa.Array

    def __len__(self) -> int:
        return len(self.session)

    @cached_property
    def receiver(self) -> I64:
        """The side that did not send it."""
        return (1 - self.sent).astype(np.int64)

    def take(self, index: I64) -> Pending:
        """Those of these indices."""
        parts = {f.name: getattr(self, f.name)[index] for f in fields(self) if f.name != "evidence"}
        return Pending(**parts, evidence=self.evidence.take(pa.array(index)))


def joined(parts: list[Pending]) -> Pending:
    """Several as one."""
    columns = {f.name: np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Pending) if f.name != "evidence"}
    return Pending(**columns, evidence=pa.concat_arrays([part.evidence for part in parts]))


def read(table: pa.Table, rules: pa.Array, streams: pa.Array) -> Pending:
    """The rows of the table PENDING, by the catalogue's ids and the ids of the dialogue's streams, which must have them all."""
    columns: dict[str, Any] = {name: flat(table.column(name)).to_numpy(zero_copy_only=False) for name in PENDING.names[2:-1]}
    columns["rule"] = integers(pc.index_in(table.column("rule_id"), value_set=rules))
    columns["session"] = integers(pc.index_in(table.column("stream_id"), value_set=streams)).astype(np.int64)
    return Pending(**columns, evidence=flat(table.column("evidence")))


def write(parts: list[Pending], rules: pa.Array, streams: pa.Array) -> pa.Table:
    """The table PENDING of what goes on waiting."""
    if not parts:
        return PENDING.empty_table()
    pending = joined(parts)
    columns = [streams.take(pa.array(pending.session)), rules.take(pa.array(pending.rule))]
    columns += [pa.array(getattr(pending, name), PENDING.field(name).type) for name in PENDING.names[2:-1]]
    return pa.table([*columns, presentable(pending.evidence)], schema=PENDING)
