"""What a batch of captures is assembled with: their sources, the user's choices, how much is held at a time."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Self

from stompcap.assembly import key_logs
from stompcap.assembly.sources import Sources
from stompcap.assembly.windows import WINDOW
from stompcap.capture.by_rank import CapturesByRank
from stompcap.capture.files import Source
from stompcap.capture.some_by_rank import SomeByRank
from stompcap.options import Options
from stompcap.stomp import secret_header_names
from stompcap.tcp.capture_points import CapturePoints
from stompcap.tcp.finality import BLOCK
from stompcap.transport.keys import KeyLog

if TYPE_CHECKING:
    from stompcap.assembly.analyser import SessionAnalyser


class Task:
    """One batch of captures: `captures` are path and id by rank, `window` the octets held at a time.

    `spilled` gives the payload that segments carried, where it was spilled. `block` counts the packets of a flow after which
    octets are final (stompcap.tcp.finality). `now_ns` is the latest capture time of their source, by which flows are open or over; without
    it all are over. `analyser` takes the sessions, and gives the states of those that go on: without one, flows of many packets do not.
    `before` are the ids of those that the run before had, in the order that they had then; `captures` by rank say that themselves.
    `superseded`: a run with later captures has gone on with flows of many packets already, and their rows are left out. `passcodes` are
    those known before, by endpoints as SEGMENTS has them; where given, those found are added. `unused` are the endpoints of flows whose
    saved states are left alone.
    """

    def __init__(
        self,
        captures: CapturesByRank | SomeByRank | Sequence[tuple[str, str]],
        batch_id: str,
        options: Options,
        window: int = WINDOW,
        spilled: Callable[[], Source] | None = None,
        block: int = BLOCK,
        now_ns: int | None = None,
        analyser: SessionAnalyser | None = None,
        before: Sequence[str] = (),
        superseded: bool = False,
        passcodes: dict[bytes, frozenset[bytes]] | None = None,
        unused: Container[bytes] = (),
    ) -> None:
        self.window = window
        self.block = block
        self.batch_id = batch_id
        self.options = options
        self.now_ns = now_ns
        self.analyser = analyser
        self.superseded = superseded
        self.passcodes = passcodes
        self.unused = unused
        self.resumed: set[bytes] = set()
        """The endpoints of flows that go on from their saved state."""

        self.lost: dict[bytes, str] = {}
        """By endpoints: flows whose saved state could not be taken up, and why. Their connections begin anew with what comes."""

        self.unread: set[bytes] = set()
        """The endpoints of flows with a connection that shows STOMP only now, some octets of which were not kept and not read again."""
        self.names = secret_header_names(options.settings.secrets)
        self.secrets: frozenset[bytes] = frozenset()  # what any connection has given as a secret so far
        self.points = CapturePoints()
        self.captures = CapturesByRank.of(captures, before) if isinstance(captures, Sequence) else captures
        self.clocks, self.capture_ids = self.captures.clocks, self.captures.ids
        self.sources = Sources(self.captures.paths, spilled)

    def with_clocks(self, clocks: Sequence[int]) -> Self:
        """The same, with the clocks of its captures by rank (stompcap.capture.rotation)."""
        self.clocks[: len(clocks)] = clocks
        return self

    def keys(self) -> KeyLog:
        """The secrets of TLS connections that are at hand, read when first asked for."""
        return self._keys

    @cached_property
    def _keys(self) -> KeyLog:
        return key_logs.of_task(self.options.keylog, [self.sources.paths[rank] for rank in self.captures.secrets.tolist()])
