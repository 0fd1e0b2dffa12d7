"""What a rule is: a record of facts with one small function, and what such a function answers.

Rules are four-valued. Each opportunity to break one is passed, failed or not evaluable; where there is none the rule is
not applicable. A function answers with masks over units
(frames, raw rows, gaps), the engine counts. The rule ids are public: users write them in SQL.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from stompcap.places import END
from stompcap.session.dialogue import I8, I32, I64, Bools

if TYPE_CHECKING:
    from stompcap.rules.case import Case

ALL_VERSIONS = "1.0 1.1 1.2"
LENIENCY = "M S I"  # strictest first
SETTLES = ("at once", "when clear", "at close")


@dataclass(frozen=True)
class Units:
    """What masks index: one entry per thing judged, with the place a finding about it names.

    `session` is the index in the dialogue's streams, `side` who sent it, `version` the session's (-1 where not known).
    """

    session: I32
    side: I8
    offset: I64
    ts_ns: I64
    version: I8

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
    told         for rules that do not settle at once, the place on the wire (stompcap.places) by which each opportunity was decided: -1
                 with itself, END where only the close decides. What is left out is said at Rule.settles
    """

    applicable: Bools
    failed: Bools
    evidence: str | Callable[[I64], pa.Array] = ""
    unevaluable: Bools | None = None
    units: Units | None = None
    lenient: Bools | None = None
    blamed: I8 | None = None
    weight: I64 | None = None
    told: I64 | None = None


def until_close(waits: Bools) -> I64:
    """`Judged.told` of units some of which wait for the close, the others being decided with themselves."""
    return np.where(waits, END, -1)


Verdict = Callable[["Case"], "Judged | tuple[Judged, ...]"]


@dataclass(frozen=True)
class Rule:
    """One rule of the catalogue.

    id           public name
    versions     protocol versions it applies to
    side         who must obey: client, server or both
    level        M must, S should, I informational; `M/I` where circumstances soften it; a mapping where versions differ
    observed     what it takes to judge it: F a frame, H header text, S session state, T time, X more than one session
    clause       where the specifications say it
    title        the rule in a line
    explanation  the rule in a paragraph
    pitfalls     what looks like a breach and is none, and who is known for it; empty where nothing misleads. Title, explanation
                 and pitfalls are the docstring of its function, in this order, parted by blank lines
    breaks       a short transcript that breaks it; empty where no capture can show that
    keeps        one that keeps it
    negotiated   whether the session's version decides if it applies; else the function does
    settles      when an opportunity can be told, so that a session of days need not be kept until it ends:
                 `at once`, from the unit, the row behind it in its direction and what came before them on the wire;
                 `when clear`, as soon as nothing to come can change it, by `Judged.told`: by default with itself what passes and what is
                 not evaluable, and what failed when the other side was captured beyond it (a gap of the other side shows only
                 when it goes on, so a rule that looks at its `missed_*` is of this kind). What is not decided Options.memory frames
                 of its session later (raw rows of its direction, where a raw row is judged) is not evaluable;
                 `at close`, for it looks at how the session goes on or ends, however far off. Such units are remembered until they are
                 told, by default until the close: there are but a few of them in a session, or they are what it left open
    judge        the function
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
    settles: str
    judge: Verdict = field(repr=False, compare=False)
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
        settles: str = "at once",
    ) -> Callable[[Verdict], Verdict]:
        """Register the decorated function; its docstring is title, explanation and, where there are any, pitfalls."""

        def register(judge: Verdict) -> Verdict:
            title, explanation, pitfalls = [*(inspect.getdoc(judge) or "").split("\n\n"), "", ""][:3]
            self.rules.append(
                Rule(
                    rule_id,
                    tuple(versions.split()),
                    side,
                    level,
                    observed,
                    clause,
                    title.removesuffix("."),
                    " ".join(explanation.split()),
                    " ".join(pitfalls.split()),
                    inspect.cleandoc(breaks),
                    inspect.cleandoc(keeps),
                    negotiated,
                    settles,
                    judge,
                )
            )
            return judge

        return register
