"""Opportunities by the side that is judged: whose implementation of a rule some sessions have tried, and how it did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from stompcap.columns import I64, Bools, flat
from stompcap.rules.catalogue import in_force
from stompcap.rules.context import RuleContext
from stompcap.rules.engine import _opportunities as _applicable
from stompcap.rules.engine import _verdicts
from stompcap.rules.occasions import occasion
from stompcap.rules.pending import Pending, joined
from stompcap.rules.record import Rule
from stompcap.rules.tally import IDS
from stompcap.session.analysis import Analysis
from stompcap.settings import Settings
from stompcap.tables import words

COVERAGE = pa.schema([
    ("stream_id", pa.string()), ("rule_id", pa.string()), ("side", pa.string()),
    ("applicable", pa.int64()), ("failed", pa.int64()), ("not_evaluable", pa.int64()),
])  # fmt: skip
Counted = tuple[I64, I64, I64, I64]
"""Of some opportunities: session, side that is judged, PASSED, FAILED or UNEVALUABLE, and how many each stands for."""

PASSED, FAILED, UNEVALUABLE = range(3)


def coverage(analysis: Analysis, settings: Settings | None = None) -> pa.Table:
    """Opportunities of whole sessions (COVERAGE), by session, rule and the side that is judged.

    The engine's own, without those that tried nothing (stompcap.rules.occasions). Failures are those of compliance_findings.
    """
    settings = settings or Settings()
    ctx = RuleContext(analysis, settings.thresholds)
    streams = flat(ctx.dialogue.streams.column("stream_id"))
    found: list[I64] = [np.zeros((6, 0), np.int64)]
    for number, rule in enumerate(in_force(settings)):
        if rule.enabled:
            found += [_summed(number, counted, len(streams)) for counted in _opportunities(ctx, number, rule)]
    rule_of, session, side, applicable, failed, unevaluable = np.concatenate(found, axis=1)
    sides = pa.array(words.SIDES, pa.string()).take(pa.array(side))
    columns = [streams.take(pa.array(session)), IDS.take(pa.array(rule_of)), sides, applicable, failed, unevaluable]
    return pa.table(columns, schema=COVERAGE)


def _opportunities(ctx: RuleContext, number: int, rule: Rule) -> Iterator[Counted]:
    """What a rule says of sessions that close, in its parts."""
    answer, tried, waiting = rule.judge(ctx), occasion(rule.id).tried, []
    for judged in answer if isinstance(answer, tuple) else (answer,):
        applicable, unevaluable, trusted = _applicable(ctx, rule, judged)
        if tried is not None and judged.units is None:
            applicable = applicable & (tried(ctx) | judged.failed)
        index = np.flatnonzero(applicable)
        if not len(index):
            continue
        verdicts = _verdicts(ctx, number, rule, replace(judged, evidence=_nothing), index, unevaluable, trusted)
        if judged.pending:
            waiting.append(verdicts)
        else:
            yield _counted(verdicts, verdicts.failed, verdicts.unevaluable, None if judged.weight is None else judged.weight[index])
    if waiting and rule.decide is not None:
        verdicts = joined(waiting)
        decision = rule.decide(ctx, verdicts)
        due = decision.decided if decision.applicable is None else decision.decided & decision.applicable
        failed = verdicts.failed if decision.failed is None else decision.failed
        unevaluable = verdicts.unevaluable if decision.unevaluable is None else verdicts.unevaluable | decision.unevaluable
        session, side, kind, weight = _counted(verdicts, failed, unevaluable, None)
        yield session[due], side[due], kind[due], weight[due]


def _nothing(index: I64) -> pa.Array:
    """No evidence: it is for findings, and made by the engine."""
    return pa.repeat(pa.scalar(""), len(index))


def _counted(verdicts: Pending, failed: Bools, unevaluable: Bools, weight: I64 | None) -> Counted:
    """What becomes of opportunities; what is not trusted cannot fail."""
    unclear = unevaluable | (failed & ~verdicts.trusted)
    kind = np.where(unclear, UNEVALUABLE, np.where(failed, FAILED, PASSED))
    return verdicts.session, verdicts.blamed, kind, np.ones(len(verdicts), np.int64) if weight is None else weight


def _summed(number: int, counted: Counted, sessions: int) -> I64:
    """The rows of COVERAGE of a rule, as numbers."""
    session, side, kind, weight = counted
    sums = np.zeros((sessions * 2, 3), np.int64)
    np.add.at(sums, (session * 2 + side, kind), weight)
    rows = np.flatnonzero(sums.sum(axis=1))
    return np.vstack([np.full(len(rows), number), rows // 2, rows % 2, sums[rows].sum(axis=1), sums[rows, FAILED], sums[rows, UNEVALUABLE]])
