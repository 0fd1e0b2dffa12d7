"""Sessions as they come to silver and gold rows: the session machine, then the rules, and only the tables that are wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from stompcap.assembly.parts import SESSION_TABLES, Sessions, only_stomp
from stompcap.options import Options

if TYPE_CHECKING:
    from stompcap import session
    from stompcap.assembly.pieces import State

JUDGED = ("compliance", "compliance_findings")
SHARE = 2  # a session takes a step when its new rows are this part of its state, so that time stays linear


@dataclass(frozen=True)
class Paused:
    """A session that goes on: its state, and the rows that no step has had yet."""

    state: State
    come: Sessions | None


class SessionAnalyser:
    """Silver and gold rows of sessions as they come, whole or in pieces; `order` ranks captures in wire order."""

    def __init__(self, order: Mapping[str, int], options: Options, wants: Callable[[str], bool]) -> None:
        self.order, self.options, self.wants = dict(order), options, wants
        self.states: dict[str, State] = {}  # of the sessions that go on, by stream
        self.come: dict[str, list[Sessions]] = {}  # pieces of them that no step has had yet

    def __call__(self, sessions: Sessions) -> dict[str, pa.Table]:
        """Rows by table: all of whole sessions, of a piece those that it or pieces before it make final."""
        found = only_stomp(sessions)
        if found.streams.num_rows == 0:
            return {}
        tables = self._whole(found) if found.upto is None else self._piece(found, found.upto)
        return {name: table for name, table in tables.items() if self.wants(name)}

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
        from stompcap.assembly import pieces
        from stompcap.session import StepInput
        from stompcap.wire_order import END

        (stream,) = sessions.streams.column("stream_id").to_pylist()
        come = [*self.come.pop(stream, []), sessions]
        before = self.states.pop(stream, pieces.EMPTY)
        if upto != END and sum(one.raw_frames.num_rows + one.segments.num_rows for one in come) < before.session.size // SHARE:
            self.states[stream], self.come[stream] = before, come
            return {}
        rows, frames, segments, stalls = (pa.concat_tables([getattr(one, name) for one in come]) for name in SESSION_TABLES)
        batch = StepInput(sessions.streams, rows, frames, segments, stalls, upto=np.array([upto]), closing=np.array([upto == END]))
        tables, after = pieces.resume(batch, before, self.order, self._session_options(), self.options.settings)
        if upto != END:
            self.states[stream] = after
        return tables

    def _session_options(self) -> session.Options:
        from stompcap import session

        return session.Options(self.options.ack_scope, self.options.settings.thresholds)


def _in_one(come: list[Sessions]) -> Sessions:
    """Pieces of a session as one."""
    return replace(come[-1], **{name: pa.concat_tables([getattr(one, name) for one in come]) for name in SESSION_TABLES})
