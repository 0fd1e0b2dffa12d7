"""What a rule is: a record of facts with one small function, and what such a function answers.

Rules are four-valued. Each opportunity to break one is passed, failed or not evaluable; where there is none the rule is
not applicable. A function answers with masks over units (frames, raw rows, gaps), the engine counts. The rule ids are
public: users write them in SQL.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from stompcap.columns import I64, Bools
from stompcap.settings import filled_in

ALL_VERSIONS = "1.0 1.1 1.2"
LENIENCY = "M S I"  # strictest first


@dataclass(frozen=True)
class Units:
    """What masks index: one entry per thing judged, with the octet and the time a finding about it names.

    `session` is the index in the dialogue's streams, `side` who sent it, `version` the session's (-1 where not known).
    `trusted`: what surely is what it seems; others cannot fail (None: all are). `context`: what was judged in an earlier
    step, or will be in a later one, and is not judged in this (None: all are judged).
    """

    session: I64
    side: I64
    offset: I64
    ts_ns: I64
    version: I64
    trusted: Bools | None = None
    context: Bools | None = None

    def __len__(self) -> int:
        return len(self.session)


@dataclass(frozen=True)
class Judged:
    """What a rule says about units.

    applicable   the opportunities
    failed       broken ones
    evidence     what was seen. Of frames: a template, `{name}` being a header of the frame, or a function of the
                 indices of the failed units; of other units: plain words, or such a function
    unevaluable  opportunities the capture cannot judge; they do not count as failed
    units        what the masks index; None: the frames of the dialogue
    lenient      failures that have the second of the rule's two levels
    blamed       the side that broke it, where that is not the one that sent the unit
    weight       how many opportunities a unit stands for, one each by default; a failed unit is always one
    pending      the opportunities wait for what is to come: the rule's `decide` judges them, in this step or a later one.
                 `failed` is then the verdict unless `decide` gives another; `unevaluable` stands in any case
    key          of pending ones: two numbers per unit that `decide` is given back, such as the time after which it fails
    """

    applicable: Bools
    failed: Bools
    evidence: str | Callable[[I64], pa.Array] = ""
    unevaluable: Bools | None = None
    units: Units | None = None
    lenient: Bools | None = None
    blamed: I64 | None = None
    weight: I64 | None = None
    pending: bool = False
    key: I64 | None = None


@dataclass(frozen=True)
class Decision:
    """What a rule says about its pending verdicts, one entry each; those that are not `decided` go on waiting.

    None: all are applicable, failed is as it was stored, nothing more is unevaluable.
    """

    decided: Bools
    applicable: Bools | None = None
    failed: Bools | None = None
    unevaluable: Bools | None = None


# Any is a RuleContext (and a Pending): these are made of units, so their modules import this one. The functions declare them.
Verdict = Callable[[Any], "Judged | tuple[Judged, ...]"]
Decide = Callable[[Any, Any], Decision]


@dataclass(frozen=True)
class Rule:
    """One rule of the catalogue.

    id           public name
    versions     protocol versions it applies to
    side         who must obey: client, server or both
    level        M MUST, S SHOULD, I INFO; `M/I` where circumstances soften it; a mapping where versions differ
    observed     what it takes to judge it: F a frame, H header text, S session state, T time, X more than one session,
                 L a layer between TCP and STOMP
    clause       where the specifications say it
    title        the rule in a line
    explanation  the rule in a paragraph
    pitfalls     what looks like a breach and is none, and who is known for it; empty where nothing misleads. Title, explanation
                 and pitfalls are the docstring of its function, in this order, parted by blank lines
    breaks       a short transcript that breaks it; empty where no capture can show that
    keeps        one that keeps it
    negotiated   whether the session's version decides if it applies; else the function does
    judge        the function: what the frames, raw rows and records of a step and the sessions that close say
    decide       for a rule with pending verdicts: which of them what came since has decided. Those of a session that closes
                 must all be
    enabled      whether it is judged at all
    """

    id: str
    versions: tuple[str, ...]
    side: str
    level: str | Mapping[str, str]
    observed: str
    clause: str
    title: str
    explanation: str
    pitfalls: str
    breaks: str
    keeps: str
    negotiated: bool
    judge: Verdict = field(repr=False, compare=False)
    decide: Decide | None = field(default=None, repr=False, compare=False)
    enabled: bool = True

    @property
    def level_text(self) -> str:
        """The level as the table `rules` has it: per version where versions differ, `off` where it is not judged."""
        if not self.enabled:
            return "off"
        if isinstance(self.level, str):
            return self.level
        return ", ".join(f"{level} in {version}" for version, level in self.level.items())

    def levels(self, version: str | None) -> tuple[str, str]:
        """Level and softened level in a version; where it is not known, the mildest of all."""
        if isinstance(self.level, str):
            strict, _, lenient = self.level.partition("/")
            return strict, lenient or strict
        if version is None or version not in self.level:
            mildest = max(self.level.values(), key=LENIENCY.index)
            return mildest, mildest
        return self.level[version], self.level[version]


class Chapter:
    """A group of rules; `rule` registers a function beside the facts of its record."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.rules: list[Rule] = []

    def rule(
        self,
        rule_id: str,
        *,
        versions: str,
        side: str,
        level: str | Mapping[str, str],
        observed: str,
        clause: str,
        keeps: str,
        breaks: str = "",
        negotiated: bool = True,
        decide: Decide | None = None,
    ) -> Callable[[Verdict], Verdict]:
        """Register the decorated function; its docstring is title, explanation and, where there are any, pitfalls.

        A threshold's name in braces stands for its default.
        """

        def register(judge: Verdict) -> Verdict:
            title, explanation, pitfalls = [*filled_in(inspect.getdoc(judge) or "").split("\n\n"), "", ""][:3]
            self.rules.append(
                Rule(
                    rule_id, tuple(versions.split()), side, level, observed, clause, title.removesuffix("."),
                    " ".join(explanation.split()), " ".join(pitfalls.split()), inspect.cleandoc(breaks), inspect.cleandoc(keeps),
                    negotiated, judge, decide,
                )
            )
            return judge

        return register
