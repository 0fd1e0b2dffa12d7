"""Streams that go on from window to window: where each stands, and what of it is delimited now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from stompcap import stomp
from stompcap.columns import I64, Bools
from stompcap.stomp.delimiter_io import FRAME_LIMIT, State
from stompcap.transport.carried import Carried
from stompcap.wire_order import END


@dataclass(frozen=True)
class Resumed:
    """Where the windows of a stream go on.

    state      of the delimiter, both directions
    since      number in wire order: segments before it came with earlier windows
    wait       per side, octets that must have come, those left undecided among them, until it is presented again
    presented  per side, the offset up to which it was presented
    """

    state: State
    since: int
    wait: I64
    presented: I64


@dataclass(frozen=True)
class Going:
    """A stream of which more may come, or that began earlier.

    upto   number in wire order: later rows have this one or larger ones; END where the stream ends
    idle   per side, whether nothing came since the windows before
    """

    upto: int
    idle: Bools
    resumed: Resumed | None = None


WHOLE = Going(END, np.zeros(2, np.bool_))


@dataclass(frozen=True)
class Due:
    """What of some streams is delimited now: per direction from `pending` up to `reach`, which is final or not; per stream as in Window."""

    going: tuple[Going, ...]
    state: State
    pending: I64
    reach: I64
    final: Bools
    due: Bools
    wait: I64
    presented: I64

    @staticmethod
    def of(streams: I64, carried: Carried, going: Mapping[int, Going]) -> Due:
        """Of streams of which all that came is delimited together."""
        total, found = carried.octets[streams].reshape(-1), tuple(going.get(stream, WHOLE) for stream in streams.tolist())
        numbers = stomp.beginning(carried.synced[streams].reshape(-1)).numbers
        wait, presented, idle = np.zeros_like(total), np.zeros_like(total), np.zeros(total.size, np.bool_)
        for number, one in enumerate(found if going else ()):
            both = slice(2 * number, 2 * number + 2)
            idle[both] = one.idle
            if (before := one.resumed) is not None:
                wait[both], presented[both] = before.wait, before.presented
                numbers[both] = np.where(before.presented[:, None] > 0, before.state.numbers, numbers[both])
        state = State(numbers)
        reach, final = np.maximum(total, state.pending), np.repeat(np.array([one.upto == END for one in found], np.bool_), 2)
        due = final | (reach - state.pending >= wait) | (idle & (presented < total))
        return Due(found, state, state.pending.copy(), np.where(due, reach, state.pending), final, due, wait, presented)

    @property
    def some(self) -> Bools:
        """Per stream, whether it has a window."""
        found: Bools = (self.final | (self.reach > self.pending)).reshape(-1, 2).any(axis=1) | self.first
        return found

    @property
    def partly(self) -> bool:
        """Whether some stretches are not delimited, or not wholly."""
        return bool(self.pending.any() or not self.due.all())

    @property
    def first(self) -> Bools:
        """Per stream, whether it begins here."""
        return np.array([one.resumed is None for one in self.going], np.bool_)

    @property
    def since(self) -> I64:
        """Per stream, the number in wire order from which on its segments have come with no window."""
        return np.array([0 if one.resumed is None else one.resumed.since for one in self.going], np.int64)

    @property
    def upto(self) -> I64:
        """Per stream, the smallest number in wire order that later rows may have."""
        return np.array([one.upto for one in self.going], np.int64)

    def resumed(self, after: State, size: int) -> tuple[Resumed | None, ...]:
        """How each stream goes on, with the state behind the window; None where it ends."""
        return tuple(None if one.upto == END else self._resumed(number, one, after, size) for number, one in enumerate(self.going))

    def _resumed(self, number: int, one: Going, after: State, size: int) -> Resumed:
        both = slice(2 * number, 2 * number + 2)
        state = State(after.numbers[both])
        wait = waits(self.pending[both], self.reach[both], state.pending, self.due[both], self.wait[both], size)
        since = max(0 if one.resumed is None else one.resumed.since, one.upto)
        return Resumed(state, since, wait, np.maximum(self.presented[both], self.reach[both]))


def waits(pending: I64, reach: I64, decided: I64, due: Bools, before: I64, size: int) -> I64:
    """How many octets must have come until a direction is presented again, by what was pending before, presented, and decided."""
    # what is undecided is presented again when it has doubled; but no more than the delimiter may leave undecided is waited for
    undecided = np.minimum(2 * (reach - decided), FRAME_LIMIT + size)
    return np.where(~due, before, np.where(decided > pending, 0, undecided))
