"""The engine: every rule over every session of a batch, counted into the tables compliance and compliance_findings.

Sessions may come in pieces (stompcap.session.progress). An opportunity is then counted in the piece that settles it, once, by what
its rule says of `settles`; counts add up until the session is over, findings are given out as they are settled.

Evidence is short, printable and free of secrets whatever a rule quotes: control characters are escaped, passcodes
masked.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.places import END
from stompcap.rules import trust
from stompcap.rules.case import Case
from stompcap.rules.catalogue import RULES, in_force
from stompcap.rules.record import Judged, Rule, Units
from stompcap.session.analysis import Analysis
from stompcap.session.dialogue import CLIENT, I64, SERVER, Bools
from stompcap.session.progress import JUDGED, Progress
from stompcap.settings import Settings
from stompcap.tables import words
from stompcap.tables.gold import COMPLIANCE, COMPLIANCE_FINDINGS

EVIDENCE_CHARACTERS = 200
PASSCODE = r"""(?i)(passcode["']?\s*[:=]).*"""


LATER = {rule.id: 1 << bit for bit, rule in enumerate(rule for rule in RULES if rule.settles != "at once")}
COUNTS = COMPLIANCE.arrow.remove(COMPLIANCE.arrow.get_field_index("passed"))


@dataclass(frozen=True)
class Judgement:
    """What the rules say of sessions, or of pieces of them.

    tables      compliance (of the sessions that are over) and compliance_findings (of what is settled)
    counts      compliance so far of the sessions that go on, without `passed`
    holds       per frame: a rule waits for how it goes on; row_holds: the same per raw row
    counted     per frame, the rules of LATER that have counted it, as bits; row_counted: the same per raw row
    """

    tables: dict[str, pa.Table]
    counts: pa.Table
    holds: Bools
    row_holds: Bools
    counted: I64
    row_counted: I64


@dataclass
class _Ledger:
    """Counts and findings as lists of columns, one entry per rule or answer; joined once at the end.

    `counts` has rule, session, applicable, failed and not evaluable, as five rows, of the sessions where a rule applied.
    `holds` and `counted` are of frames and of raw rows.
    """

    sessions: int
    holds: tuple[Bools, Bools]
    counted: tuple[I64, I64]
    counts: list[I64] = field(default_factory=list)
    findings: list[dict[str, np.ndarray]] = field(default_factory=list)
    evidence: list[pa.Array] = field(default_factory=list)


def judge(analysis: Analysis, settings: Settings | None = None) -> dict[str, pa.Table]:
    """Tables compliance and compliance_findings (stompcap.tables.gold) of the analysed sessions.

    `compliance` has a row per session and rule that applied at least once; `failed` is the number of findings. A rule
    that `settings` switch off has no rows.
    """
    return follow(analysis, COUNTS.empty_table(), settings).tables


def follow(analysis: Analysis, before: pa.Table, settings: Settings | None = None, forgets: Bools | None = None) -> Judgement:
    """Judge one piece of each session; `before` has the counts of the pieces before.

    `forgets`, per session: what waits for its close is told as it stands (stompcap.session.turns).
    """
    settings = settings or Settings()
    case, progress = Case(analysis, settings.thresholds), analysis.progress
    ledger = _Ledger(
        case.d.sessions, (case.none(), np.zeros(len(case.rows), bool)), (progress.counted.copy(), progress.row_counted.copy()),
        [np.zeros((5, 0), np.int64)],
    )
    at_close = progress.closing if forgets is None else progress.closing | forgets
    for number, rule in enumerate(in_force(settings)):
        if not rule.enabled:
            continue
        answer = rule.judge(case)
        total = np.zeros((3, ledger.sessions), np.int64)
        for judged in answer if isinstance(answer, tuple) else (answer,):
            total += _settle(case, progress, ledger, number, rule, judged, at_close if rule.settles == "at close" else progress.closing)
        session = np.flatnonzero(total[0])
        if len(session):
            ledger.counts.append(np.vstack([np.full(len(session), number), session, total[:, session]]))
    if not progress.whole:
        ledger.holds[1][trust.proofs(case.d.rows)] = True
    streams = case.d.streams.column("stream_id")
    over, counts = _counts(ledger, streams, before, progress.closing)
    tables = {"compliance": over, "compliance_findings": _findings(ledger, streams)}
    return Judgement(tables, counts, *ledger.holds, *ledger.counted)


def _settle(case: Case, progress: Progress, ledger: _Ledger, number: int, rule: Rule, judged: Judged, over: Bools) -> I64:
    """Note the findings of one answer; returns applicable, failed, not evaluable opportunities, shape (3, sessions)."""
    units = case.frames if judged.units is None else judged.units
    applicable, unevaluable = judged.applicable, np.zeros(len(units), bool)
    if judged.unevaluable is not None:
        unevaluable = judged.unevaluable
    if rule.negotiated and len(rule.versions) < len(words.VERSIONS):
        due = np.array([version in rule.versions for version in words.VERSIONS] + [True])  # version -1 is the last: not known
        unevaluable = unevaluable | (units.version < 0)
        applicable = applicable & due[units.version]
    if not applicable.any() and (progress.whole or rule.settles == "at once"):  # nothing to count, nothing to wait for
        return np.zeros((3, ledger.sessions), np.int64)
    if judged.failed.any():
        unevaluable = unevaluable | (judged.failed & _unsure(case, rule, units))
    failed = judged.failed & ~unevaluable
    told, late = _told(case, progress, rule, judged, failed)
    unevaluable, failed = unevaluable | late, failed & ~late
    if not progress.whole:
        applicable = applicable & _due(case, progress, ledger, rule, judged, applicable, (told == END) & ~late, over)
    unevaluable, failed = unevaluable & applicable, failed & applicable
    index = np.flatnonzero(failed)
    if len(index):
        ledger.findings.append(_places(number, rule, judged, units, index))
        ledger.evidence.append(_evidence(case, judged, index))
    return np.stack([_count(mask, units, judged.weight, ledger.sessions) for mask in (applicable, failed, unevaluable)])


def _unsure(case: Case, rule: Rule, units: Units) -> Bools:
    """Units that cannot be held against anyone: seeming frames behind a gap, sessions that may be of a version without the rule."""
    unsure = np.zeros(len(units), bool)
    if units is case.frames:
        unsure = ~case.trusted
    elif units is case.rows:
        unsure = ~case.trusted_rows
    if rule.negotiated:
        without = sum(1 << version for version, name in enumerate(words.VERSIONS) if name not in rule.versions)
        unsure = unsure | ((case.possible & without) != 0)[units.session]
    return unsure


def _told(case: Case, progress: Progress, rule: Rule, judged: Judged, failed: Bools) -> tuple[I64, Bools]:
    """By which place each unit was decided, as Rule.settles has it; and the units that were not within the session's memory."""
    none = np.zeros(len(failed), bool)
    of_tables = judged.units is not None and judged.units is not case.rows
    if rule.settles == "at once" or of_tables or (progress.whole and not progress.lapses):
        return np.full(len(failed), -1), none
    told = judged.told
    if told is None:
        told = np.where(failed, case.clear, -1) if rule.settles == "when clear" else np.full(len(failed), END)
    if rule.settles == "at close":
        return told, none
    lapse = progress.lapse if judged.units is None else progress.row_lapse
    return told, (lapse < END) & (told > lapse)


def _due(
    case: Case, progress: Progress, ledger: _Ledger, rule: Rule, judged: Judged, applicable: Bools, waits: Bools, ended: Bools
) -> Bools:
    """The units that a rule counts in this piece; notes those it still waits for, unless it must not wait for a session that has ended."""
    later = rule.settles != "at once"
    if judged.units is None:
        kind, ripe, told, closing = 0, progress.ripe, progress.told, ended[case.d.session]
    elif judged.units is case.rows:
        kind, ripe, told, closing = 1, progress.row_ripe, progress.row_told, ended[case.d.rows.session]
    else:  # of tables, which hold what is new
        over: Bools = progress.closing[judged.units.session]
        return over if later else np.ones(len(over), bool)
    if not later:
        untold: Bools = ripe & ((told & JUDGED) == 0)
        return untold
    bit = LATER[rule.id]
    fresh: Bools = ripe & ((ledger.counted[kind] & bit) == 0)
    pending = waits & ~closing
    ledger.holds[kind][fresh & applicable & pending] = True
    due: Bools = fresh & ~pending
    ledger.counted[kind][due] |= bit
    return due


def _count(mask: Bools, units: Units, weight: I64 | None, sessions: int) -> I64:
    """Opportunities per session."""
    if not mask.any():
        return np.zeros(sessions, np.int64)
    weights = None if weight is None else weight[mask]
    return np.bincount(units.session[mask], weights=weights, minlength=sessions).astype(np.int64)


def _places(number: int, rule: Rule, judged: Judged, units: Units, index: I64) -> dict[str, np.ndarray]:
    """Where findings are, by number: rule, level, side blamed, session, side that sent the unit, offset, time."""
    versions = (*words.VERSIONS, None)
    levels = np.array([[words.LEVELS.index(level) for level in rule.levels(version)] for version in versions])
    soft = np.zeros(len(index), np.int64) if judged.lenient is None else judged.lenient[index].astype(np.int64)
    sent = units.side[index]
    if judged.blamed is not None:
        blamed = judged.blamed[index]
    elif rule.side == "both":
        blamed = sent
    else:
        blamed = np.full(len(index), CLIENT if rule.side == "client" else SERVER, np.int8)
    return {
        "rule": np.full(len(index), number),
        "level": levels[units.version[index], soft],  # version -1 is the last row: not known
        "blamed": blamed,
        "session": units.session[index],
        "sent": sent,
        "offset": units.offset[index],
        "ts_ns": units.ts_ns[index],
    }


def _evidence(case: Case, judged: Judged, index: I64) -> pa.Array:
    """What was seen, fit to be shown."""
    if callable(judged.evidence):
        said = judged.evidence(index)
    elif judged.units is None:
        said = case.say(judged.evidence, index)
    else:
        said = pa.repeat(pa.scalar(judged.evidence), len(index))
    return presentable(said)


def presentable(said: pa.Array) -> pa.Array:
    """Strings of at most EVIDENCE_CHARACTERS, control characters escaped, passcodes masked."""
    if pc.any(pc.match_substring_regex(said, PASSCODE)).as_py():
        said = pc.replace_substring_regex(said, f"(?s){PASSCODE}", r"\1***")
    odd = pc.match_substring_regex(said, r"[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]")
    if pc.any(odd).as_py():
        coded = said.dictionary_encode()
        clean = [_escape(text) for text in coded.dictionary.to_pylist()]
        said = pa.array(clean, pa.string()).take(coded.indices)
    return pc.utf8_slice_codeunits(said, 0, EVIDENCE_CHARACTERS)


def _escape(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _words(choice: tuple[str, ...], codes: np.ndarray) -> pa.Array:
    return pa.array(choice, pa.string()).take(pa.array(codes.astype(np.int64)))


def _counts(ledger: _Ledger, streams: pa.ChunkedArray, before: pa.Table, closing: Bools) -> tuple[pa.Table, pa.Table]:
    """The table compliance of sessions that are over, by session and then in the catalogue's order, and counts of the others."""
    counts = np.concatenate(ledger.counts, axis=1)
    if before.num_rows:
        keys = (before.column("rule_id"), pa.array([r.id for r in RULES])), (before.column("stream_id"), streams.combine_chunks())
        found = [np.asarray(pc.index_in(column, value_set=of)) for column, of in keys]
        numbers = [before.column(name).to_numpy() for name in ("applicable", "failed", "not_evaluable")]
        counts = np.concatenate([counts, np.stack([*found, *numbers]).astype(np.int64)], axis=1)
    pairs, inverse = np.unique(counts[1] * len(RULES) + counts[0], return_inverse=True)
    sums = np.zeros((3, len(pairs)), np.int64)
    for which in range(3):
        np.add.at(sums[which], inverse, counts[2 + which])
    session, rule = np.divmod(pairs, len(RULES))
    ids = tuple(r.id for r in RULES)
    applicable, failed, unevaluable = sums
    columns = [streams.take(pa.array(session)), _words(ids, rule), applicable, applicable - failed - unevaluable, failed, unevaluable]
    table = pa.table(columns, schema=COMPLIANCE.arrow)
    over = pa.array(closing[session], pa.bool_())
    return table.filter(over), table.filter(pc.invert(over)).select(COUNTS.names).cast(COUNTS)


def _findings(ledger: _Ledger, streams: pa.ChunkedArray) -> pa.Table:
    """The table compliance_findings, by session, rule, direction and offset."""
    schema = COMPLIANCE_FINDINGS.arrow
    if not ledger.findings:
        return schema.empty_table()
    f = {name: np.concatenate([part[name] for part in ledger.findings]) for name in ledger.findings[0]}
    order = np.lexsort((f["ts_ns"], f["offset"], f["sent"], f["rule"], f["session"]))
    f = {name: values[order] for name, values in f.items()}
    evidence = pa.concat_arrays(ledger.evidence).take(pa.array(order))
    columns = [
        _words(tuple(r.id for r in RULES), f["rule"]),
        _words(words.LEVELS, f["level"]),
        _words(words.SIDES, f["blamed"]),
        streams.take(pa.array(f["session"])),
        _words(words.DIRECTIONS, f["sent"]),
        f["offset"],
        f["ts_ns"],
        pa.array(f["ts_ns"] // 1000).cast(schema.field("found_ts").type),
        evidence,
    ]
    return pa.table(columns, schema=schema)
