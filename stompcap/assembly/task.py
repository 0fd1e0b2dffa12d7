"""What a batch of captures is assembled with: their sources, the user's choices, how much is held at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from stompcap.assembly.sources import Sources
from stompcap.assembly.windows import WINDOW
from stompcap.capture.files import Source
from stompcap.options import Options
from stompcap.tcp.settle import BLOCK

if TYPE_CHECKING:
    from stompcap.assembly.analyser import SessionAnalyser


class Task:
    """One batch of captures: `captures` are path and id by rank, `window` the octets held at a time.

    `spilled` gives the payload that segments carried, where it was spilled. `block` counts the packets of a flow after which settled
    octets are final (stompcap.tcp.settle). `now_ns` is the latest capture time of their source, by which flows are open or over; without
    it all are over. `analyser` takes the sessions, and gives the states of those that go on: without one, flows of many packets do not.
    `before` are the ids of captures by the ranks that they had in the run before. `overtaken`: a run with later captures has gone on
    with flows of many packets already, and their rows are left out. `passcodes` are those known before, by endpoints as SEGMENTS has
    them; where given, those found are added.
    """

    def __init__(
        self,
        captures: Sequence[tuple[str, str]],
        batch_id: str,
        options: Options,
        window: int = WINDOW,
        spilled: Callable[[], Source] | None = None,
        block: int = BLOCK,
        now_ns: int | None = None,
        analyser: SessionAnalyser | None = None,
        before: Sequence[str] = (),
        overtaken: bool = False,
        passcodes: dict[bytes, frozenset[bytes]] | None = None,
    ) -> None:
        self.window = window
        self.block = block
        self.batch_id = batch_id
        self.options = options
        self.now_ns = now_ns
        self.analyser = analyser
        self.before = before
        self.overtaken = overtaken
        self.passcodes = passcodes
        self.capture_ids = pa.array([name for _, name in captures], pa.string())
        self.sources = Sources([path for path, _ in captures], spilled)
