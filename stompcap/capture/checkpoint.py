"""Where a walk over a capture can resume, and the state it needs there, so that a part yields what the whole file would."""

from __future__ import annotations

from dataclasses import dataclass, field

from stompcap.columns import I64

NO_END = 1 << 62


@dataclass(frozen=True)
class Checkpoint:
    """The state of a walk behind a record. Offsets are in the file, or in its decompressed octets."""

    offset: int  # behind the record
    packets: int = 0  # so far
    before: int = 0  # where the octets of that record begin
    seconds: int = -1  # of that record; pcap only
    trusting: bool = False  # whether implausible headers are accepted; pcap only
    big: bool = False  # byte order of the section; pcapng only
    interfaces: I64 | None = field(default=None, compare=False)  # of the section (stompcap.capture.interfaces); pcapng only
