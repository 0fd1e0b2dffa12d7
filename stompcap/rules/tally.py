"""The tally: opportunities and findings of a step as they come, and the tables they make."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.columns import I64, Bools
from stompcap.kernel import kernel
from stompcap.rules.catalogue import RULES
from stompcap.rules.evidence import presentable
from stompcap.rules.pending import Pending, joined
from stompcap.rules.record import Rule
from stompcap.tables import words
from stompcap.tables.gold import COMPLIANCE, COMPLIANCE_FINDINGS

COUNTS = pa.schema([COMPLIANCE.arrow.field(name) for name in ("stream_id", "rule_id", "applicable", "failed", "not_evaluable")])
IDS = pa.array([rule.id for rule in RULES], pa.string())


NO_WEIGHTS = np.zeros(0, np.int64)
"""Each opportunity counts once."""


@kernel
def _count(session: I64, weight: I64, applicable: Bools, failed: Bools, unevaluable: Bools, counts: I64) -> None:
    for i in range(len(session)):
        if applicable[i]:
            one = weight[i] if len(weight) else 1
            counts[0, session[i]] += one
            if failed[i]:
                counts[1, session[i]] += one
            if unevaluable[i]:
                counts[2, session[i]] += one


def _words(choice: tuple[str, ...], codes: np.ndarray) -> pa.Array:
    return pa.array(choice, pa.string()).take(pa.array(codes.astype(np.int64)))


@dataclass
class Tally:
    """Counts, and findings as lists of columns, one entry per answer, joined once at the end.

    `counts` has, by rule and session, how often it was applicable, failed and not evaluable.
    """

    sessions: int
    counts: dict[int, I64] = field(default_factory=dict)
    findings: list[Pending] = field(default_factory=list)
    levels: list[I64] = field(default_factory=list)

    def add(self, number: int, session: I64, weight: I64 | None, applicable: Bools, failed: Bools, unevaluable: Bools) -> None:
        """Add opportunities to the counts of their sessions; those that failed or cannot be judged are among the applicable ones."""
        if number not in self.counts:
            self.counts[number] = np.zeros((3, self.sessions), np.int64)
        _count(session, NO_WEIGHTS if weight is None else weight, applicable, failed, unevaluable, self.counts[number])

    def find(self, rule: Rule, failed: Pending) -> None:
        """Note findings of a rule."""
        if len(failed):
            levels = np.array([[words.LEVELS.index(level) for level in rule.levels(name)] for name in (*words.VERSIONS, None)])
            self.levels.append(levels[failed.version, failed.lenient.astype(np.int64)])  # version -1 is the last row: not known
            self.findings.append(failed)

    def compliance(self, streams: pa.Array, opened: pa.Array, before: pa.Table, closing: Bools) -> tuple[pa.Table, pa.Table]:
        """The table compliance of sessions that close, by session and then in the catalogue's order, and COUNTS of the others.

        `streams` are the sessions' ids, `opened` when they began.
        """
        counts = self._with(before, streams)
        rules = np.array(sorted(counts), np.int64)
        sums = np.stack([counts[rule] for rule in rules.tolist()]) if len(rules) else np.zeros((0, 3, self.sessions), np.int64)
        by_session = np.ascontiguousarray(sums.transpose(1, 2, 0)).reshape(3, -1)
        there = np.flatnonzero(by_session[0])
        applicable, failed, unevaluable = by_session[:, there]
        session, rule = np.divmod(there, max(len(rules), 1))
        rule = rules[rule]
        keys, passed = [streams.take(pa.array(session)), IDS.take(pa.array(rule))], applicable - failed - unevaluable
        columns = [*keys, applicable, passed, failed, unevaluable, opened.take(pa.array(session))]
        table = pa.table(columns, schema=COMPLIANCE.arrow)
        if closing.all():
            return table, COUNTS.empty_table()
        closed = pa.array(closing[session], pa.bool_())
        return table.filter(closed), table.filter(pc.invert(closed)).select(COUNTS.names).cast(COUNTS)

    def _with(self, before: pa.Table, streams: pa.Array) -> dict[int, I64]:
        """The counts, and those of earlier steps (COUNTS)."""
        if not before.num_rows:
            return self.counts
        codes = (pc.index_in(before.column(name), value_set=of) for name, of in (("rule_id", IDS), ("stream_id", streams)))
        rule, session = (column.to_numpy().astype(np.int64) for column in codes)
        numbers = np.stack([before.column(name).to_numpy() for name in ("applicable", "failed", "not_evaluable")]).astype(np.int64)
        counts = dict(self.counts)
        for number in np.unique(rule).tolist():
            mine = np.flatnonzero(rule == number)
            counts[number] = counts[number].copy() if number in counts else np.zeros((3, self.sessions), np.int64)
            for total, values in zip(counts[number], numbers, strict=True):
                np.add.at(total, session[mine], values[mine])
        return counts

    def compliance_findings(self, streams: pa.Array) -> pa.Table:
        """The table compliance_findings, by session, rule, direction and offset."""
        schema = COMPLIANCE_FINDINGS.arrow
        if not self.findings:
            return schema.empty_table()
        found, level = joined(self.findings), np.concatenate(self.levels)
        order = np.lexsort((found.ts_ns, found.offset, found.sent, found.rule, found.session))
        found, level = found.take(order), level[order]
        columns = [
            IDS.take(pa.array(found.rule)),
            _words(words.LEVELS, level),
            _words(words.SIDES, found.blamed),
            streams.take(pa.array(found.session)),
            _words(words.DIRECTIONS, found.sent),
            found.offset,
            found.ts_ns,
            pa.array(found.ts_ns // 1000).cast(schema.field("found_ts").type),
            presentable(found.evidence),
        ]
        return pa.table(columns, schema=schema)
