"""Where a walk over a capture may begin again, and what it has to know there: so a part reads what the whole would read in it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

NO_END = 1 << 62


@dataclass(frozen=True)
class Checkpoint:
    """The state of a walk behind a record. Offsets are those of the file, or of what it decompresses to."""

    offset: int  # behind the record
    packets: int = 0  # up to here
    before: int = 0  # where the octets of that record begin
    seconds: int = -1  # of that record; pcap alone
    trusting: bool = False  # whether odd headers are taken as they are; pcap alone
    big: bool = False  # byte order of the section; pcapng alone
    interfaces: NDArray[np.int64] | None = field(default=None, compare=False)  # of the section (stompcap.capture.interfaces); pcapng alone
