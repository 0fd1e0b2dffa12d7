"""What the layers of sessions have shown, as units of rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from stompcap.columns import I64, Bools
from stompcap.rules.context import RuleContext
from stompcap.rules.record import Judged, Units


@dataclass(frozen=True)
class Checked:
    """What was checked of one thing: an entry a session that closes and side."""

    units: Units
    broken: Bools
    unknown: Bools
    seen: list[str]

    def judged(self, failed: Bools | None = None, unevaluable: Bools | None = None, seen: Callable[[int], str] | None = None) -> Judged:
        """The answer of a rule: by default what is broken fails, and what is not known is not evaluable. `seen` gives what findings say."""
        every = np.ones(len(self.seen), np.bool_)

        def evidence(index: I64) -> pa.Array:
            return pa.array([seen(at) if seen else self.seen[at] for at in index.tolist()], pa.string())

        return Judged(
            every, self.broken if failed is None else failed, evidence, self.unknown if unevaluable is None else unevaluable, self.units
        )


def checked(ctx: RuleContext, what: str) -> Checked:
    """What was checked of this (stompcap.transport.checks)."""
    session, checks = ctx.checks
    index = [at for at, one in enumerate(checks) if one.what == what]
    mine, of = [checks[at] for at in index], session[index]
    units = Units(
        of, np.array([one.side for one in mine], np.int64), np.array([one.offset for one in mine], np.int64),
        np.array([-1 if one.ts_ns is None else one.ts_ns for one in mine], np.int64), ctx.sessions.version[of],
    )  # fmt: skip
    broken, unknown = (np.array([one.outcome == outcome for one in mine], np.bool_) for outcome in ("broken", "unknown"))
    return Checked(units, broken, unknown, [one.seen for one in mine])
