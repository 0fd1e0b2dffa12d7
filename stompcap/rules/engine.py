"""The engine: every rule over every session of a batch, counted into the tables compliance and compliance_findings.

Sessions may come in steps. An opportunity is counted in the step that has its frame, raw row or record, or, where a rule waits for what
is to come, in the step that decides it. Counts add up until the session closes, findings are given out as they are decided.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import CLIENT, SERVER
from stompcap.columns import I64, Bools, flat, timestamps
from stompcap.rules import pending
from stompcap.rules.catalogue import in_force
from stompcap.rules.context import RuleContext
from stompcap.rules.pending import PENDING, Pending
from stompcap.rules.record import Judged, Rule, Units
from stompcap.rules.tally import COUNTS, IDS, Tally
from stompcap.session.analysis import Analysis
from stompcap.settings import Settings
from stompcap.tables import words

__all__ = ["Judgement", "RuleState", "follow", "in_force", "judge"]


@dataclass(frozen=True)
class RuleState:
    """What the rules keep of sessions that go on: the counts so far (COUNTS), and the pending verdicts (PENDING)."""

    counts: pa.Table
    pending: pa.Table

    @staticmethod
    def empty() -> RuleState:
        """That of sessions that begin."""
        return RuleState(COUNTS.empty_table(), PENDING.empty_table())

    def of(self, streams: pa.Array) -> RuleState:
        """That of these streams alone."""
        counts, waiting = (t.filter(pc.is_in(t.column("stream_id"), value_set=streams)) for t in (self.counts, self.pending))
        return RuleState(counts, waiting)


@dataclass(frozen=True)
class Judgement:
    """The verdicts of a step: compliance of the sessions that closed and compliance_findings, by name; and the state after it."""

    tables: dict[str, pa.Table]
    state: RuleState


def judge(analysis: Analysis, settings: Settings | None = None) -> dict[str, pa.Table]:
    """Tables compliance and compliance_findings (stompcap.tables.gold) of the analysed sessions.

    `compliance` has a row per session that closes and rule that applied at least once; `failed` is the number of findings. A rule that
    `settings` switch off has no rows.
    """
    return follow(analysis, RuleState.empty(), settings).tables


def follow(analysis: Analysis, before: RuleState, settings: Settings | None = None) -> Judgement:
    """Judge a step of sessions; `before` is the state of exactly these after the steps before."""
    settings = settings or Settings()
    ctx = RuleContext(analysis, settings.thresholds)
    streams = flat(ctx.dialogue.streams.column("stream_id"))
    tally = Tally(len(streams))
    earlier, undecided = pending.read(before.pending, IDS, streams), []
    for number, rule in enumerate(in_force(settings)):
        if not rule.enabled:
            continue
        answer = rule.judge(ctx)
        waiting = [earlier.take(np.flatnonzero(earlier.rule == number))] if rule.decide else []
        for judged in answer if isinstance(answer, tuple) else (answer,):
            waiting += _count(ctx, tally, number, rule, judged)
        if waiting:
            undecided.append(_decide(ctx, tally, number, rule, pending.joined(waiting)))
    closed, counts = tally.compliance(streams, timestamps(ctx.sessions.opened_ns), before.counts, ctx.closing)
    tables = {"compliance": closed, "compliance_findings": tally.compliance_findings(streams)}
    return Judgement(tables, RuleState(counts, pending.write(undecided, IDS, streams)))


def _count(ctx: RuleContext, tally: Tally, number: int, rule: Rule, judged: Judged) -> list[Pending]:
    """Count an answer and note its findings, or give back what of it waits for a decision."""
    applicable, unevaluable, trusted = _opportunities(ctx, rule, judged)
    if not applicable.any():
        return []
    if judged.pending:
        return [_verdicts(ctx, number, rule, judged, np.flatnonzero(applicable), unevaluable, trusted)]
    unevaluable = (unevaluable | (judged.failed & ~trusted)) & applicable
    failed = judged.failed & applicable & ~unevaluable
    tally.add(number, _units(ctx, judged).session, judged.weight, applicable, failed, unevaluable)
    if failed.any():
        tally.find(rule, _verdicts(ctx, number, rule, judged, np.flatnonzero(failed), unevaluable, trusted))
    return []


def _units(ctx: RuleContext, judged: Judged) -> Units:
    return ctx.frames if judged.units is None else judged.units


def _opportunities(ctx: RuleContext, rule: Rule, judged: Judged) -> tuple[Bools, Bools, Bools]:
    """Which units of an answer are applicable in this step, not evaluable, and trusted, by the versions of rule and sessions."""
    units = _units(ctx, judged)
    if not judged.applicable.any():
        return judged.applicable, judged.applicable, judged.applicable
    applicable = judged.applicable if units.context is None else judged.applicable & ~units.context
    unevaluable = np.zeros(len(units), bool) if judged.unevaluable is None else judged.unevaluable
    trusted = np.ones(len(units), bool) if units.trusted is None else units.trusted
    if rule.negotiated and len(rule.versions) < len(words.VERSIONS):
        due, unknown, sure = ctx.of_versions(units, rule.versions)
        applicable, unevaluable, trusted = applicable & due, unevaluable | unknown, trusted & sure
    return applicable, unevaluable, trusted


def _verdicts(
    ctx: RuleContext, number: int, rule: Rule, judged: Judged, index: I64, unevaluable: Bools, trusted: Bools
) -> Pending:
    """The units of these indices, with what their findings contain."""
    units = _units(ctx, judged)
    count, side = len(index), units.side[index]
    blamed = side if rule.side == "both" else np.full(count, CLIENT if rule.side == "client" else SERVER, np.int64)
    lenient = np.zeros(count, bool) if judged.lenient is None else judged.lenient[index]
    key = np.zeros((count, 2), np.int64) if judged.key is None else judged.key[index]
    if callable(judged.evidence):
        evidence = judged.evidence(index)
    else:
        evidence = ctx.say(judged.evidence, index) if judged.units is None else pa.repeat(pa.scalar(judged.evidence), count)
    return Pending(
        np.full(count, number), units.session[index], side, blamed if judged.blamed is None else judged.blamed[index], lenient,
        units.offset[index], units.ts_ns[index], units.version[index], judged.failed[index], unevaluable[index], trusted[index],
        key[:, 0], key[:, 1], evidence,
    )


def _decide(ctx: RuleContext, tally: Tally, number: int, rule: Rule, waiting: Pending) -> Pending:
    """Count the pending verdicts that are decided now; returns the others."""
    if rule.decide is None or len(waiting) == 0:
        return waiting
    decision = rule.decide(ctx, waiting)
    applicable = decision.decided if decision.applicable is None else decision.decided & decision.applicable
    failed = waiting.failed if decision.failed is None else decision.failed
    unevaluable = waiting.unevaluable if decision.unevaluable is None else waiting.unevaluable | decision.unevaluable
    unevaluable = (unevaluable | (failed & ~waiting.trusted)) & applicable
    failed = failed & applicable & ~unevaluable
    tally.add(number, waiting.session, None, applicable, failed, unevaluable)
    tally.find(rule, waiting.take(np.flatnonzero(failed)))
    return waiting.take(np.flatnonzero(~decision.decided))
