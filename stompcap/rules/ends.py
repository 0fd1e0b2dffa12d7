"""How far the capture can be trusted to the end of a session: who spoke last, who closed, what is missing.

That something did not happen is proved by what was captured after it could have happened, never by the capture's silence: a
packet lost at the very end leaves no gap behind.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from stompcap.codes import BOTH, CLIENT, CLOSE_OPEN, SERVER
from stompcap.columns import I64, Bools
from stompcap.session.clocks import LAST, Clocks
from stompcap.session.facts import SessionFacts


class Ends:
    """Ends of sessions; arrays of shape (sessions, 2) have the side as their second index."""

    def __init__(self, sessions: SessionFacts, clocks: Clocks) -> None:
        self._s, self._clocks = sessions, clocks

    @cached_property
    def lost(self) -> Bools:
        """Octets of the side are missing, its beginning apart, shape (sessions, 2)."""
        lost: Bools = self._s.gaps > 0
        return lost

    @cached_property
    def whole(self) -> Bools:
        """All that the side sent was captured, from its SYN to its FIN, shape (sessions, 2)."""
        complete: Bools = self._s.start & (self._s.gaps == 0) & self._s.fin
        return complete

    @cached_property
    def open_ns(self) -> I64:
        """The latest moment at which the side had certainly not closed: its last octets or its FIN, shape (sessions, 2).

        A RST proves nothing: it also answers what comes for a connection that was closed before. -1 where the side's clock stepped:
        the latest of its times may be from before.
        """
        latest = np.where(self._s.fin, np.maximum(self._s.end_ns, self._s.spoke_ns), self._s.spoke_ns)
        direction = np.arange(latest.size)
        stepped = self._clocks.steps_until(direction, np.full(latest.size, LAST)).reshape(-1, 2) > 0
        return np.where(stepped, -1, latest)

    @cached_property
    def cut_off(self) -> Bools:
        """Per session: the capture ends while the stream is open."""
        cut: Bools = self._s.close_kind == CLOSE_OPEN
        return cut

    def closed_first(self, side: int) -> Bools:
        """Per session: the side closed it, perhaps at the same time as the other.

        Here and below a Close of WebSocket or a close_notify of TLS comes before TCP's: the server closes TCP whoever asked.
        """
        closed: Bools = (self._s.ended_by == side) | (self._s.ended_by == BOTH)
        return closed

    @cached_property
    def closed_by_client(self) -> Bools:
        """Per session: the client certainly closed it first."""
        return np.asarray(self._s.ended_by == CLIENT)

    @cached_property
    def closed_by_server(self) -> Bools:
        """Per session: the server certainly closed it first."""
        return np.asarray(self._s.ended_by == SERVER)
