"""Sessions as they come to silver and gold rows: the session machine, then the rules, and only the tables that are wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from stompcap.assembly.parts import SESSION_TABLES, Part, Sessions, by_stream, only_stomp
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
    come: Sessions | None


class SessionAnalyser:
    """Silver and gold rows of sessions as they come, whole or in pieces; `order` ranks captures in wire order.

    A step of the machines costs as much for one session as for hundreds, so sessions in pieces end together.
    """

    def __init__(self, order: Mapping[str, int], options: Options, wants: Callable[[str], bool]) -> None:
        self.order, self.options, self.wants = dict(order), options, wants
        self.states: dict[str, State] = {}  # of the sessions that go on, by stream
        self.come: dict[str, list[Sessions]] = {}  # pieces of them that no step has had yet
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
        for one, upto in zip(by_stream(found), found.upto.tolist(), strict=True):
            if upto != END:
                yield self._wanted(self._piece(one, upto), part.going_on)
                continue
            self._end(one, part.going_on)
            if self._ending_rows > MOST_ROWS:
                yield from self._rest()

    def _rest(self) -> Iterator[Part]:
        """The rows of the sessions whose last pieces have come."""
        from stompcap.assembly.resume import session_steps

        if not self._ending:
            return
        ending, going_on = self._ending, pa.concat_arrays(self._going_on) if self._going_on else None
        self._ending, self._ending_rows, self._going_on = [], 0, []
        streams = pa.concat_tables([one.streams for one, _ in ending])
        tables, _ = self._step(streams, [one for one, _ in ending], END, session_steps.together([state for _, state in ending]))
        yield self._wanted(tables, going_on)

    def _wanted(self, tables: Mapping[str, pa.Table], going_on: pa.Array | None) -> Part:
        return Part({name: table for name, table in tables.items() if self.wants(name)}, going_on=going_on)

    def paused(self, streams: Iterable[str]) -> dict[str, Paused]:
        """The sessions of these streams that go on, by stream; what comes later does not change them."""
        return {
            stream: Paused(self.states[stream], _in_one(self.come[stream]) if stream in self.come else None)
            for stream in streams
            if stream in self.states
        }

    def resume(self, sessions: Mapping[str, Paused]) -> None:
        """Go on with sessions of an earlier run."""
        for stream, paused in sessions.items():
            self.states[stream] = paused.state
            if paused.come is not None:
                self.come[stream] = [paused.come]

    def _whole(self, sessions: Sessions) -> dict[str, pa.Table]:
        # only tasks that want sessions pay for loading the machines
        from stompcap import rules, session

        analysis = session.analyse(
            sessions.streams, sessions.raw_frames, sessions.frames, sessions.segments, self.order, sessions.stalls, self._session_options()
        )
        judged = rules.judge(analysis, self.options.settings) if any(self.wants(name) for name in JUDGED) else {}
        return analysis.tables | judged

    def _piece(self, sessions: Sessions, upto: int) -> dict[str, pa.Table]:
        stream, come, before = self._so_far(sessions)
        if sum(map(_rows, come)) < before.session.size // SHARE:
            self.states[stream], self.come[stream] = before, come
            return {}
        tables, self.states[stream] = self._step(sessions.streams, come, upto, before)
        return tables

    def _end(self, sessions: Sessions, going_on: pa.Array | None) -> None:
        """Take the last piece of a session."""
        _, come, before = self._so_far(sessions)
        last = _in_one(come)
        self._ending.append((last, before))
        self._ending_rows += _rows(last) + before.session.size
        if going_on is not None:
            self._going_on.append(going_on)

    def _so_far(self, sessions: Sessions) -> tuple[str, list[Sessions], State]:
        """The stream of a piece, all pieces that no step has had yet, and the state before these."""
        from stompcap.assembly.resume import session_steps

        (stream,) = sessions.streams.column("stream_id").to_pylist()
        return stream, [*self.come.pop(stream, []), sessions], self.states.pop(stream, session_steps.EMPTY)

    def _step(self, streams: pa.Table, come: list[Sessions], upto: int, before: State) -> tuple[dict[str, pa.Table], State]:
        from stompcap.assembly.resume import session_steps
        from stompcap.session import StepInput

        rows, frames, segments, stalls = (pa.concat_tables([getattr(one, name) for one in come]) for name in SESSION_TABLES)
        count = streams.num_rows
        batch = StepInput(streams, rows, frames, segments, stalls, upto=np.full(count, upto), closing=np.full(count, upto == END))
        return session_steps.resume(batch, before, self.order, self._session_options(), self.options.settings)

    def _session_options(self) -> session.Options:
        from stompcap import session

        return session.Options(self.options.ack_scope, self.options.settings.thresholds)


def _rows(piece: Sessions) -> int:
    return int(piece.raw_frames.num_rows + piece.segments.num_rows)


def _in_one(come: list[Sessions]) -> Sessions:
    """Pieces of a session as one."""
    return replace(come[-1], **{name: pa.concat_tables([getattr(one, name) for one in come]) for name in SESSION_TABLES})
