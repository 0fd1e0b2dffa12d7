"""Sessions as they come to silver and gold rows: the session machine, then the rules, and only the tables that are wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from stompcap.assembly.parts import SESSION_TABLES, Part, Sessions, by_stream, only, only_stomp
from stompcap.columns import I64, coded, flat
from stompcap.options import Options
from stompcap.wire_order import END

if TYPE_CHECKING:
    from stompcap import session
    from stompcap.assembly.resume.session_steps import State

JUDGED = ("compliance", "compliance_findings")
MOST_ROWS = 65_536  # of sessions in pieces that end together
SHARE = 2  # a session takes a step when its new rows are this part of its state, so that time stays linear


@dataclass(frozen=True)
class Paused:
    """A session that goes on: its state, and the rows that no step has had yet."""

    state: State
    waiting: Sessions | None


class SessionAnalyser:
    """Silver and gold rows of sessions as they come, whole or in pieces; `order` ranks captures in wire order.

    A step of the machines costs as much for one session as for hundreds, so sessions in pieces end together.
    """

    def __init__(self, order: Mapping[str, int], options: Options, wants: Callable[[str], bool]) -> None:
        self.order, self.options, self.wants = order, options, wants
        self.states: dict[str, Together] = {}  # of the sessions that go on, by stream; of several together where they took a step so
        self.waiting: dict[str, list[Sessions]] = {}  # pieces of them that no step has had yet
        self._ending: list[tuple[Sessions, State]] = []  # sessions whose last piece has come, with the states before it
        self._ending_rows = 0
        self._going_on: list[pa.Array] = []  # ids of streams among them that later captures may go on with

    def analysed(self, parts: Iterable[Part]) -> Iterator[Part]:
        """Parts, and the rows of their sessions: all of whole ones, of a piece those that it or pieces before it make final."""
        for part in parts:
            yield part
            yield from self._sessions_of(part)
        yield from self._rest()

    def _sessions_of(self, part: Part) -> Iterator[Part]:
        found = only_stomp(part.sessions) if part.sessions is not None else None
        if found is None or found.streams.num_rows == 0:
            return
        if found.upto is None:
            yield self._wanted(self._whole(found), part.going_on)
            return
        ends = found.upto == END
        if not ends.all():
            yield self._wanted(self._pieces(only(found, pa.array(~ends))), part.going_on)
        if ends.any():
            self._end(only(found, pa.array(ends)), part.going_on)
        if self._ending_rows > MOST_ROWS:
            yield from self._rest()

    def _rest(self) -> Iterator[Part]:
        """The rows of the sessions whose last pieces have come."""
        from stompcap.assembly.resume import session_steps

        if not self._ending:
            return
        ending, going_on = self._ending, pa.concat_arrays(self._going_on) if self._going_on else None
        self._ending, self._ending_rows, self._going_on = [], 0, []
        streams = pa.concat_tables([one.streams for one, _ in ending], promote_options="default")
        upto = np.full(streams.num_rows, END)
        tables, _ = self._step(streams, [one for one, _ in ending], upto, session_steps.together([state for _, state in ending]))
        yield self._wanted(tables, going_on)

    def _wanted(self, tables: Mapping[str, pa.Table], going_on: pa.Array | None) -> Part:
        return Part({name: table for name, table in tables.items() if self.wants(name)}, going_on=going_on)

    def paused(self, streams: Iterable[str]) -> dict[str, Paused]:
        """The sessions of these streams that go on, by stream; what comes later does not change them."""
        return {
            stream: Paused(self.states[stream].of(stream), _in_one(self.waiting[stream]) if stream in self.waiting else None)
            for stream in streams
            if stream in self.states
        }

    def resume(self, sessions: Mapping[str, Paused]) -> None:
        """Go on with sessions of an earlier run."""
        for stream, paused in sessions.items():
            self.states[stream] = Together.of_streams(paused.state, [stream])
            if paused.waiting is not None:
                self.waiting[stream] = [paused.waiting]

    def _whole(self, sessions: Sessions) -> dict[str, pa.Table]:
        # only tasks that want sessions pay for loading the machines
        from stompcap import rules, session

        analysis = session.analyse(
            sessions.streams, sessions.raw_frames, sessions.frames, sessions.segments, self.order, sessions.stalls, self._session_options()
        )
        judged = rules.judge(analysis, self.options.settings) if any(self.wants(name) for name in JUDGED) else {}
        return analysis.tables | judged

    def _pieces(self, sessions: Sessions) -> dict[str, pa.Table]:
        """Take pieces of sessions: a step of all whose rows are enough for one by now, the others wait."""
        ids = flat(sessions.streams.column("stream_id"))
        names, rows = ids.to_pylist(), _rows_of(sessions, ids)
        waiting = np.array([sum(_rows(one) for one in self.waiting.get(name, ())) for name in names])
        sizes = np.array([self.states[name].sizes[name] if name in self.states else 0 for name in names])
        due = rows + waiting >= sizes // SHARE
        for name, one in zip(ids.filter(pa.array(~due)).to_pylist(), by_stream(only(sessions, pa.array(~due))), strict=True):
            self.waiting.setdefault(name, []).append(one)
        if not due.any():
            return {}
        now = only(sessions, pa.array(due))
        parts, before = self._so_far(now)
        streams = flat(now.streams.column("stream_id")).to_pylist()
        tables, after = self._step(now.streams, parts, now.upto, before)
        self.states |= dict.fromkeys(streams, Together.of_streams(after, streams))
        return tables

    def _end(self, sessions: Sessions, going_on: pa.Array | None) -> None:
        """Take the last pieces of sessions."""
        parts, before = self._so_far(sessions)
        last = replace(_in_one(parts), streams=sessions.streams, upto=sessions.upto)
        self._ending.append((last, before))
        self._ending_rows += _rows(last) + before.session.size
        if going_on is not None:
            self._going_on.append(going_on)

    def _so_far(self, sessions: Sessions) -> tuple[list[Sessions], State]:
        """All pieces of the sessions that no step has had yet, and the state before these."""
        from stompcap.assembly.resume import session_steps

        names = flat(sessions.streams.column("stream_id")).to_pylist()
        parts = [one for name in names for one in self.waiting.pop(name, ())]
        groups: dict[int, tuple[Together, list[str]]] = {}
        for name in names:
            if name in self.states:
                group = self.states.pop(name)
                groups.setdefault(id(group), (group, []))[1].append(name)
        states = [group.some(mine) for group, mine in groups.values()]
        return [*parts, sessions], session_steps.together(states) if states else session_steps.EMPTY

    def _step(self, streams: pa.Table, parts: list[Sessions], upto: I64 | None, before: State) -> tuple[dict[str, pa.Table], State]:
        from stompcap.assembly.resume import session_steps
        from stompcap.session import StepInput

        rows, frames, segments, stalls = (pa.concat_tables([getattr(one, name) for one in parts]) for name in SESSION_TABLES)
        whole = np.full(streams.num_rows, END) if upto is None else upto
        batch = StepInput(streams, rows, frames, segments, stalls, upto=whole, closing=whole == END)
        return session_steps.resume(batch, before, self.order, self._session_options(), self.options.settings)

    def _session_options(self) -> session.Options:
        from stompcap import session

        return session.Options(self.options.ack_scope, self.options.settings.thresholds)


@dataclass(frozen=True)
class Together:
    """The state of sessions behind a step that they took together, and how many rows it has of each stream."""

    state: State
    sizes: Mapping[str, int]

    @staticmethod
    def of_streams(state: State, streams: list[str]) -> Together:
        """The state of these streams."""
        return Together(state, dict(zip(streams, state.sizes(pa.array(streams)).tolist(), strict=True)))

    @cached_property
    def _each(self) -> dict[str, State]:
        return dict(zip(self.sizes, self.state.each(pa.array(list(self.sizes))), strict=True))

    def of(self, stream: str) -> State:
        """That of one stream."""
        return self.state if len(self.sizes) == 1 else self._each[stream]

    def some(self, streams: list[str]) -> State:
        """That of some of the streams."""
        return self.state if len(streams) == len(self.sizes) else self.state.of(pa.array(streams))


def _rows_of(sessions: Sessions, ids: pa.Array) -> I64:
    """How many rows there are of each stream."""
    codes = np.concatenate([coded(table.column("stream_id"), ids) for table in (sessions.raw_frames, sessions.segments)])
    return np.bincount(codes[codes >= 0], minlength=len(ids))


def _rows(piece: Sessions) -> int:
    return int(piece.raw_frames.num_rows + piece.segments.num_rows)


def _in_one(parts: list[Sessions]) -> Sessions:
    """Pieces of a session as one."""
    return replace(parts[-1], **{name: pa.concat_tables([getattr(one, name) for one in parts]) for name in SESSION_TABLES})
