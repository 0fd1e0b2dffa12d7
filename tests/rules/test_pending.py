"""Pending verdicts: what a rule cannot decide yet goes on from step to step, and is counted once, when it is decided."""

from __future__ import annotations

from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from stompcap.rules import engine
from stompcap.rules.record import Chapter, Decision, Judged, Rule, Units
from stompcap.session.dialogue import Dialogue, RawRows

STREAMS = pa.array(["a", "b"])
NONE = np.zeros(0, np.int64)


def empty(kind: type, **given: Any) -> Any:
    """A dialogue or raw rows without an entry."""
    boolean = ("earlier", "beside", "unheard", "trusted", "shortened", "redacted")
    columns = {f.name: NONE.astype(bool) if f.name in boolean else NONE for f in fields(kind) if f.init and not f.name.startswith("_")}
    return kind(**columns | given)


def step(*closing: bool) -> Any:
    """A step without frames of two sessions; as much of an analysis as the engine looks at."""
    count = len(STREAMS)
    dialogue = empty(
        Dialogue, rows=empty(RawRows), starts=np.zeros(count + 1, np.int64), frames=None, streams=pa.table({"stream_id": STREAMS})
    )
    return SimpleNamespace(
        dialogue=dialogue, facts=None, first={}, closing=np.array(closing),
        sessions=SimpleNamespace(version=np.full(count, 2, np.int8), opened_ns=np.zeros(count, np.int64)),
        tables={"sessions": pa.table({"possible_versions": pa.nulls(count, pa.string())})},
        clocks=None, deliveries=None, subscriptions=None, transactions=None, receipts=None,
    )


@pytest.fixture
def rule(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The first rule of the catalogue, replaced by one that sees `new` units and decides those whose key is `over`."""
    told: dict[str, Any] = {"new": [], "over": [], "failed": True, "trusted": True}

    def decide(ctx: Any, pending: Any) -> Decision:
        return Decision(
            np.isin(pending.key, told["over"]) | ctx.closing[pending.session], failed=np.full(len(pending), told["failed"])
        )

    @(chapter := Chapter("Made up")).rule(
        engine.IDS[0].as_py(), versions="1.0 1.1 1.2", side="client", level="M", observed="S", clause="none", keeps="", decide=decide
    )
    def judge(ctx: Any) -> Judged:
        """Nothing."""
        count = len(told["new"])
        session, key = (np.array(column, np.int64) for column in (zip(*told["new"], strict=True) if count else ([], [])))
        units = Units(
            session.astype(np.int32), np.zeros(count, np.int8), key * 10, key, np.full(count, 2, np.int8), np.full(count, told["trusted"])
        )
        return Judged(np.ones(count, bool), np.zeros(count, bool), "passcode: made up", units=units, pending=True,
                      key=np.stack([key, key], axis=1))

    [made] = chapter.rules
    assert isinstance(made, Rule)
    monkeypatch.setattr(engine, "in_force", lambda settings: (made,))
    return told


def counts(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row[n] for n in ("stream_id", "applicable", "failed", "not_evaluable")) for row in table.to_pylist()]


def test_a_verdict_waits_until_it_is_decided(rule: dict[str, Any]) -> None:
    rule["new"] = [(0, 1), (0, 2), (1, 3)]
    first = engine.follow(step(False, False), engine.RuleState.empty())
    assert first.state.pending.num_rows == 3
    assert [table.num_rows for table in first.tables.values()] == [0, 0]
    rule.update(new=[], over=[2])
    second = engine.follow(step(False, False), first.state)
    [finding] = second.tables["compliance_findings"].to_pylist()
    assert (finding["stream_id"], finding["stream_offset"], finding["evidence"]) == ("a", 20, "passcode:***")
    assert counts(second.state.counts) == [("a", 1, 1, 0)]
    rule["failed"] = False
    last = engine.follow(step(True, True), second.state)
    assert counts(last.tables["compliance"]) == [("a", 2, 1, 0), ("b", 1, 0, 0)]
    assert (last.state.pending.num_rows, last.state.counts.num_rows) == (0, 0)


def test_what_is_decided_at_once_does_not_wait(rule: dict[str, Any]) -> None:
    rule["new"] = [(1, 3)]
    judged = engine.follow(step(True, True), engine.RuleState.empty())
    assert counts(judged.tables["compliance"]) == [("b", 1, 1, 0)]
    assert judged.state.pending.num_rows == 0


def test_what_may_be_no_frame_does_not_fail(rule: dict[str, Any]) -> None:
    rule.update(new=[(1, 3)], trusted=False)
    state = engine.follow(step(False, False), engine.RuleState.empty()).state
    rule["new"] = []
    assert counts(engine.follow(step(True, True), state).tables["compliance"]) == [("b", 1, 0, 1)]


def test_state_of_some_streams(rule: dict[str, Any]) -> None:
    rule["new"] = [(0, 1), (1, 3)]
    state = engine.follow(step(False, False), engine.RuleState.empty()).state
    assert state.of(pa.array(["b"])).pending["stream_id"].to_pylist() == ["b"]
