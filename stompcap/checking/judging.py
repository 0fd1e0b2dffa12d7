"""Captures to a verdict: the machines over whole sessions in this process, then the coverage of each rule and its findings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from stompcap import rules as catalogue
from stompcap import session
from stompcap.assembly import Assembly, SessionAnalyser, captures
from stompcap.assembly.parts import Sessions
from stompcap.capture.find import find
from stompcap.checking import baseline
from stompcap.checking.examples import findings_of
from stompcap.checking.verdict import LEVELS, Finding, Peers, RuleVerdict, Verdict
from stompcap.errors import CaptureError, UsageError
from stompcap.options import Options, one_of
from stompcap.rules.catalogue import in_force
from stompcap.rules.coverage import COVERAGE, coverage
from stompcap.rules.occasions import occasion
from stompcap.tables import TABLES
from stompcap.tables.unknown_times import without_zero
from stompcap.tables.words import DIRECTIONS, SIDES
from stompcap.tcp.flows import in_wire_order
from stompcap.unread import kinds, refusals
from stompcap.visible import visible

if TYPE_CHECKING:
    import os

WHOLE = 1 << 30
"""Octets of a window, and packets of a flow: more than captures have that are read in one process, so that sessions come whole."""

KEPT = ("streams", "transports", "raw_frames", "frames", "sessions", "compliance", "compliance_findings", "coverage")
OCTETS = ("outer_octets_c2s", "outer_octets_s2c")
MOST_REMARKS = 10
CHOICES = (*SIDES, "both")


class _Covering(SessionAnalyser):
    """Sessions, their findings, and which rules each of their sides has tried."""

    def _whole(self, sessions: Sessions) -> dict[str, pa.Table]:
        settings = self.options.settings
        analysis = session.analyse(
            sessions.streams, sessions.raw_frames, sessions.frames, sessions.segments, self.order, sessions.stalls, self._session_options()
        )
        return analysis.tables | catalogue.judge(analysis, settings) | {"coverage": coverage(analysis, settings)}


def check(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], *, side: str = "both", level: str = "MUST", known: str | None = None,
    options: Options | None = None, allow_empty: bool = False,
) -> Verdict:
    """The verdict on some captures: files, folders, globs. What cannot be read is named in it.

    `side`: client, server or both; `level`: MUST, SHOULD or INFO; `known`: path of a baseline. Raises UsageError for other words.
    `allow_empty`: it is `ok` where nothing was judged.
    """
    asked = Asked.of(side, level, known, allow_empty=allow_empty)
    refused: list[str] = []

    def refuse(error: CaptureError) -> None:
        refused.append(str(error))

    named = [paths] if isinstance(paths, str) or hasattr(paths, "__fspath__") else [*paths]
    options, packets = options or Options(), captures.Packets()
    captures.read(packets, find(map(str, named), refuse), options, refuse)
    verdict = verdict_of(tables_of(packets, options), packets.paths, options, asked)
    return replace(verdict, refused=refused, remarks=[*packets.flaws, *packets.lacking, *verdict.remarks][:MOST_REMARKS])


@dataclass(frozen=True)
class Asked:
    """What a verdict is asked for: whose rules, from which level on, and the findings that are known."""

    side: str = "both"
    level: str = "MUST"
    known: frozenset[str] = frozenset()
    allow_empty: bool = False

    @staticmethod
    def of(side: str, level: str, known: str | None, *, allow_empty: bool) -> Asked:
        """As words and the path of a baseline say it; raises UsageError for other words."""
        side, level = side.lower(), level.upper()
        if side not in CHOICES:
            raise UsageError(f"side {visible(side, 40)}: must be {one_of(CHOICES)}")
        if level not in LEVELS:
            raise UsageError(f"level {visible(level, 40)}: must be {one_of(LEVELS)}")
        return Asked(side, level, frozenset() if known is None else baseline.read(known), allow_empty)

    @property
    def sides(self) -> Sequence[str]:
        """The sides whose rules are judged."""
        return SIDES if self.side == "both" else (self.side,)


def verdict_of(tables: Mapping[str, pa.Table], names: Sequence[str], options: Options, asked: Asked) -> Verdict:
    """The verdict on sessions; `names` are those of captures, by their ids."""
    rules = baseline.marked(_rules(tables, names, options, asked.sides), asked.known)
    sent = Counter(tables["frames"].column("direction").to_pylist())
    frames = {one: sent[way] for one, way in zip(SIDES, DIRECTIONS, strict=True)}
    return Verdict(
        asked.side, asked.level, names, (), _others(tables), rules, _peers(tables["sessions"]), frames,
        baseline.gone(rules, asked.known, asked.sides), asked.allow_empty,
    )


def tables_of(packets: captures.Packets, options: Options) -> dict[str, pa.Table]:
    """Tables KEPT of these packets; `coverage` is that of stompcap.rules.coverage, `raw_frames` have their octets."""
    schemas = {name: COVERAGE if name == "coverage" else TABLES[name].arrow for name in KEPT}
    found: dict[str, list[pa.Table]] = {name: [schema.empty_table()] for name, schema in schemas.items()}
    if packets.segments:
        ids = [str(rank) for rank in range(len(packets.paths))]
        analyser = _Covering({name: rank for rank, name in enumerate(ids)}, options, KEPT.__contains__)
        machines = Assembly(list(zip(packets.paths, ids, strict=True)), "", options, WHOLE, block=WHOLE).with_clocks(packets.clocks)
        for part in analyser.analysed(machines.parts(in_wire_order(pa.concat_tables(packets.segments)))):
            for name in part.tables.keys() & found.keys():
                found[name].append(part.tables[name])
    joined = {name: pa.concat_tables(some, promote_options="default") for name, some in found.items()}
    return {name: table if name == "coverage" else without_zero(TABLES[name], table) for name, table in joined.items()}


def _rules(tables: Mapping[str, pa.Table], names: Sequence[str], options: Options, sides: Sequence[str]) -> list[RuleVerdict]:
    """Every rule in force, for each of the sides that it is about."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in (*tables["coverage"].to_pylist(), *_uncovered(tables, options)):
        counts[row["rule_id"], row["side"]].update({name: row[name] for name in ("applicable", "failed", "not_evaluable")})
    found: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in findings_of(tables, names):
        found[finding.rule_id, finding.side].append(finding)
    made = []
    for rule in in_force(options.settings):
        for side in sides if rule.enabled else ():
            if rule.side in (side, "both"):
                count, mine = counts[rule.id, side], tuple(found[rule.id, side])
                passed = count["applicable"] - count["failed"] - count["not_evaluable"]
                needs = occasion(rule.id).words
                made.append(RuleVerdict(rule, side, count["applicable"], passed, count["not_evaluable"], needs, mine))
    return made


def _uncovered(tables: Mapping[str, pa.Table], options: Options) -> list[dict[str, Any]]:
    """Counts of sessions that came in pieces, for their octets are too many after all, where a rule is about one side only."""
    covered = set(tables["coverage"].column("stream_id").to_pylist())
    sides = {rule.id: rule.side for rule in in_force(options.settings)}
    rows = tables["compliance"].to_pylist() if tables["sessions"].num_rows > len(covered) else []
    return [row | {"side": sides[row["rule_id"]]} for row in rows if row["stream_id"] not in covered and sides[row["rule_id"]] != "both"]


def _peers(sessions: pa.Table) -> list[Peers]:
    """Who spoke to whom, the most sessions first."""
    counts = Counter(
        (row["client_product"], " ".join(filter(None, (row["server_product"], row["server_version"]))) or None, row["version"])
        for row in sessions.select(["client_product", "server_product", "server_version", "version"]).to_pylist()
    )
    return [Peers(client, server, version, number) for (client, server, version), number in counts.most_common()]


def _others(tables: Mapping[str, pa.Table]) -> list[str]:
    """What else than STOMP was spoken, in words."""
    names, refused = ["stream_id", "protocol", "transport", "server_port", *OCTETS], refusals(tables["transports"].to_pylist())
    rows = [row for row in tables["streams"].select(names).to_pylist() if sum(row[name] for name in OCTETS)]
    return kinds(row | {"connections": 1, "refused": refused.get(row["stream_id"])} for row in rows)
