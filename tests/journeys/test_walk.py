"""The walk along equal SENDs and MESSAGEs: by cases, and against the same definitions written down once more without a walk."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.journeys.walk import HORIZON_NS, LONG, Events, walk

MINUTE = HORIZON_NS // 60
SEND, MESSAGE, AGAIN = 1, -1, 0


class Event(NamedTuple):
    step: int
    minute: int
    sender: int = 1
    early: bool = False


class Told(NamedTuple):
    send: int
    possible: bool
    single: bool
    certain: bool
    in_order: bool


def told(*sequences: list[Event]) -> list[list[Told]]:
    """What the walk finds, sequence by sequence; SENDs as numbers within theirs."""
    every = [event for sequence in sequences for event in sequence]
    number = np.repeat(np.arange(1, len(sequences) + 1), [len(sequence) for sequence in sequences])
    step, minute, sender = (np.array([event[field] for event in every], np.int64) for field in range(3))
    found = walk(Events(number, minute * MINUTE, step, np.array([event.early for event in every], np.bool_), sender))
    rows, answers, begin = list(zip(*(column.tolist() for column in found), strict=True)), [], 0
    for sequence in sequences:
        answers.append([Told(row[0] - begin if row[0] >= 0 else -1, *row[1:]) for row in rows[begin : begin + len(sequence)]])
        begin += len(sequence)
    return answers


def by_definition(events: list[Event]) -> list[Told | None]:
    """The same of one sequence, event by event from all before and around it; None of SENDs."""
    chains: list[list[int]] = []
    for at, event in enumerate(events):
        before = [one for one in range(at) if events[one].step]
        if event.step and (not before or event.minute - events[before[-1]].minute > 60):
            chains.append([])
        if chains:
            chains[-1].append(at)
    of_chain = {at: chain for chain in chains for at in chain}
    excess, bursts = set[int](), list[list[int]]()
    for chain in chains:
        left = 0
        for at in chain:
            if events[at].step == MESSAGE and not left:
                excess.add(at)
            if at in excess or (events[at].step == SEND and not left) or at == chain[0]:
                bursts.append([])
            bursts[-1].append(at)
            left += 0 if at in excess else events[at].step
    of_burst = {at: burst for burst in bursts for at in burst}

    def inherits(at: int) -> bool:
        steps = [events[one] for one in of_chain.get(at, []) if events[one].step]
        many = max((sum(event.step == step for event in steps) for step in (SEND, MESSAGE)), default=0)
        return any(event.early for event in steps) and many > 1

    answers: list[Told | None] = []
    for at, event in enumerate(events):
        if event.step == SEND:
            answers.append(None)
            continue
        sends = [one for one in range(at) if events[one].step == SEND]
        messages = [one for one in range(at + 1) if events[one].step == MESSAGE]
        near = [one for one in sends if event.minute - events[one].minute <= 60]
        steps = [events[one].minute for one in of_chain.get(at, []) if events[one].step]
        unordered = bool(excess & set(of_chain.get(at, []))) or inherits(at) or (bool(steps) and steps[-1] - steps[0] > LONG * 60)
        certain = not unordered
        if event.step == AGAIN:
            since = [one for one in messages if not sends or one > sends[-1]]
            earlier = [one for one in messages if sends and one < sends[-1]]
            other = bool(earlier) and event.minute - events[earlier[-1]].minute <= 60
            certain = not other and len(since) <= 1 and not (inherits(messages[-1]) if since else event.early)
        burst = of_burst.get(at, [])
        offered = [one for one in burst if events[one].step == SEND]
        taken = [one for one in burst if events[one].step == MESSAGE]
        in_order = event.step == MESSAGE and len(offered) == len(taken) and len({events[one].sender for one in offered}) == 1
        in_order = in_order and not unordered
        single = len(near) == 1 and near[-1] == sends[-1]
        send = sends[-1] if sends else -1
        if in_order and not single:
            send = offered[taken.index(at)]
        answers.append(Told(send, bool(near), single, certain, in_order))
    return answers


CASES: dict[str, tuple[list[Event], list[Told]]] = {
    "a MESSAGE of the one SEND": ([Event(SEND, 0), Event(MESSAGE, 1)], [Told(0, True, True, True, True)]),
    "a MESSAGE of none": ([Event(MESSAGE, 0)], [Told(-1, False, False, False, False)]),
    "at a horizon": ([Event(SEND, 0), Event(MESSAGE, 60)], [Told(0, True, True, True, True)]),
    "behind a horizon": ([Event(SEND, 0), Event(MESSAGE, 61)], [Told(0, False, False, False, False)]),
    "two by their order": (
        [Event(SEND, 0), Event(SEND, 1), Event(MESSAGE, 2), Event(MESSAGE, 3)],
        [Told(0, True, False, True, True), Told(1, True, False, True, True)],
    ),
    "two of two connections": (
        [Event(SEND, 0), Event(SEND, 1, 2), Event(MESSAGE, 2), Event(MESSAGE, 3)],
        [Told(1, True, False, True, False), Told(1, True, False, True, False)],
    ),
    "one more MESSAGE than SENDs": (
        [Event(SEND, 0), Event(MESSAGE, 1), Event(MESSAGE, 2)],
        [Told(0, True, True, False, False), Told(0, True, True, False, False)],
    ),
    "a SEND that nobody got": ([Event(SEND, 0), Event(SEND, 1), Event(MESSAGE, 2)], [Told(1, True, False, True, False)]),
    "two from before the capture": (
        [Event(SEND, 0, early=True), Event(MESSAGE, 1), Event(SEND, 2), Event(MESSAGE, 3)],
        [Told(0, True, True, False, False), Told(2, True, False, False, False)],
    ),
    "again, of the one SEND": (
        [Event(SEND, 0), Event(MESSAGE, 1), Event(AGAIN, 2)],
        [Told(0, True, True, True, True), Told(0, True, True, True, False)],
    ),
    "again, of one of two": (
        [Event(SEND, 0), Event(MESSAGE, 1), Event(SEND, 2), Event(AGAIN, 3)],
        [Told(0, True, True, True, True), Told(2, True, False, False, False)],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("events", "wanted"), CASES.values(), ids=CASES.keys())
def test_what_the_walk_finds(events: list[Event], wanted: list[Told]) -> None:
    [found] = told(events)
    assert [one for one, event in zip(found, events, strict=True) if event.step != SEND] == wanted


def test_messages_of_a_chain_that_lasts_for_long_are_told_by_no_order() -> None:
    pairs = [event for begin in range(0, 60 * LONG + 1, 40) for event in (Event(SEND, begin), Event(MESSAGE, begin + 1))]
    [found] = told(pairs)
    assert not any(one.in_order or one.certain for one in found)
    [found] = told(pairs[:-2])
    assert all(one.in_order for one in found[1::2])


ONE = st.tuples(st.sampled_from((SEND, MESSAGE, MESSAGE, SEND, AGAIN)), st.sampled_from((0, 0, 1, 20, 59, 60, 61, 100)),
                st.integers(1, 2), st.sampled_from((False, False, False, True)))  # fmt: skip
SEQUENCE = st.lists(ONE, min_size=1, max_size=14)


@given(st.lists(SEQUENCE, max_size=4))
def test_the_walk_finds_what_the_definitions_say(drawn: list[list[tuple[int, int, int, bool]]]) -> None:
    sequences = []
    for one in drawn:
        minutes = np.cumsum([pause for _, pause, _, _ in one]).tolist()
        sequences.append([Event(step, minute, sender, early) for (step, _, sender, early), minute in zip(one, minutes, strict=True)])
    for events, found in zip(sequences, told(*sequences), strict=True):
        for wanted, one in zip(by_definition(events), found, strict=True):
            assert wanted is None or wanted == one
