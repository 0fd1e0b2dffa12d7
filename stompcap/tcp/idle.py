"""When a flow is idle: silent for so long that its next packet belongs to another connection. For kernels, columns and SQL.

A flow is idle after the idle timeout, or after two minutes if none of its connections is open. A connection is open from the first
acknowledgement of its SYN to a RST, or a FIN of both sides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stompcap.capture.integers import Int
from stompcap.columns import I64, Bools
from stompcap.kernel import callee, inline
from stompcap.options import Options
from stompcap.tcp.history import H_SYN, H_SYNACK, H_ZERO, HISTORY_LETTERS
from stompcap.tcp.results import Streams
from stompcap.tcp.state import AFTER_IDLE, HISTORY_BITS, LAST_NS, SIDES, WIDTH, State, closed

IDLE_NS = Options().idle_ns  # where none is given
LINGER_NS = 120 * 10**9  # longer than a connection stays in TIME-WAIT, and than a client waits before it sends a SYN again
CLOCK_STEP_NS = 365 * 24 * 3600 * 10**9  # a time as far ahead tells of a clock that was stepped, not of silence
RECENT = 256  # how many incarnations of a flow a segment is compared with
HANDSHAKE = 1 << H_SYN | 1 << H_SYNACK | 1 << H_ZERO  # what the history of a connection has that nobody has acknowledged
UNANSWERED = "".join(chr(HISTORY_LETTERS[letter]) for letter in (H_SYN, H_SYNACK, H_ZERO))


@inline
def _over(silence_ns: Any, idle_ns: int, some_open: Any) -> Any:
    return ((silence_ns > idle_ns) & (silence_ns < CLOCK_STEP_NS)) | (
        (silence_ns > LINGER_NS) & (silence_ns <= idle_ns) & (some_open == 0)
    )


over: Callable[[Any, int, Any], Any] = getattr(_over, "py_func", _over)  # as it is written; numba hands it back so with no JIT
"""Whether a silence ends what a flow was, by whether one of its connections is open; for numbers and columns."""


def over_sql(silence_ns: str, idle_ns: int, some_open: str) -> str:
    """The same as SQL."""
    return (
        f"({silence_ns} > {idle_ns} AND {silence_ns} < {CLOCK_STEP_NS}"
        f" OR {silence_ns} > {LINGER_NS} AND {silence_ns} <= {idle_ns} AND NOT {some_open})"
    )


OPEN_SQL = (
    "(close_kind <> 'rst' AND rst_ns IS NULL AND (fin_ns_c2s IS NULL OR fin_ns_s2c IS NULL)"
    f" AND NOT regexp_full_match(history, '[{UNANSWERED}]*', 'i'))"
)
"""Whether a row of table streams is of an open connection."""


@callee
def first_after_idle(state: State, known: Int) -> Int:
    """The first connection of a flow that segments may still belong to."""
    for stream in range(known - 1, 0, -1):
        if state[stream, AFTER_IDLE]:
            return stream
    return 0


@callee
def last_time(state: State, known: Int) -> Int:
    """The time of a flow's latest packet; 0 where it has none."""
    at = 0
    for stream in range(known):
        at = max(at, state[stream, LAST_NS])
    return at


@callee
def _some_open(state: State, first: Int, streams: Int) -> bool:
    for stream in range(max(first, streams - RECENT), streams):
        history = state[stream, SIDES + HISTORY_BITS] | state[stream, SIDES + WIDTH + HISTORY_BITS]
        if not closed(state, stream) and history & ~HANDSHAKE:
            return True
    return False


@callee
def idle(state: State, first: Int, streams: Int, silence_ns: Int, idle_ns: Int) -> bool:
    """Whether a flow has been silent for so long that none of its connections goes on."""
    return bool(_over(silence_ns, idle_ns, False)) and bool(_over(silence_ns, idle_ns, _some_open(state, first, streams)))


def may_go_on(streams: Streams, flow: I64, now_ns: int, idle_ns: int) -> Bools:
    """Of each stream, whether it or one beside it in its flow may get segments that come at `now_ns` or later.

    `flow` numbers the flow of each stream; the streams of a flow are adjacent, and in order of time.
    """
    recent, last_ns, some_open = lives(streams, flow)
    found: Bools = recent & ~over(now_ns - last_ns, idle_ns, some_open)
    return found


def lives(streams: Streams, flow: I64) -> tuple[Bools, I64, Bools]:
    """Of each stream whether it goes on while its flow does; of its flow the time of the latest packet, and whether some stream is open."""
    flows, number = int(flow.max(initial=-1)) + 1, np.arange(len(streams))
    first, last = np.zeros(flows, np.int64), np.zeros(flows, np.int64)
    np.maximum.at(last, flow, streams.last_ns)
    first[flow[::-1]] = number[::-1]
    np.maximum.at(first, flow[streams.after_idle], number[streams.after_idle])
    recent = number >= first[flow]
    some_open = np.zeros(flows, np.bool_)
    unanswered = np.array([not history.lower().strip(UNANSWERED) for history in streams.history], np.bool_)
    closed_ones = (streams.rst_by >= 0) | (streams.sides.fin_ns >= 0).all(axis=1)
    some_open[flow[recent & ~closed_ones & ~unanswered]] = True
    return recent, last[flow], some_open[flow]
