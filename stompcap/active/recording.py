"""A capture file written packet by packet, each by one call of the system: a process that is killed loses no more than the packet at hand.

pcap with nanoseconds, or pcapng where the name ends so (draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng), little endian, Ethernet. The
writer of stompcap/capture works on columns of packets and compiles; this one must start at once.
"""

from __future__ import annotations

import os
import stat
import struct
import time
from collections.abc import Callable
from threading import Lock
from types import TracebackType

from stompcap.active.addresses import Address, why
from stompcap.active.packets import ACK, FIN, MOST, PSH, RST, SYN, Packets
from stompcap.errors import EnvironmentProblem
from stompcap.visible import visible

ETHERNET, SNAPLEN, NANOSECONDS = 1, 262_144, 9
MODE = 0o600
"""Passcodes are on the wire, and the file has what was on the wire: its owner alone reads it."""


class Recording:
    """An open capture file. Where it cannot be written any more, `broken` says why, and the packets so far are whole."""

    def __init__(self, path: str) -> None:
        """Replace the file; raises EnvironmentProblem where it cannot be written."""
        self.path, self.pcapng = path, path.endswith(".pcapng")
        self.packets = self.octets = 0
        self._lock = Lock()
        self.broken: EnvironmentProblem | None = None
        self.when_broken: Callable[[], None] = lambda: None
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, MODE)
            self._regular = stat.S_ISREG(os.fstat(self._file).st_mode)
            if self._regular:
                os.fchmod(self._file, MODE)
        except OSError as error:
            raise self._problem(error) from error
        self._write(_pcapng_head() if self.pcapng else struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, SNAPLEN, ETHERNET))
        if self.broken is not None:
            raise self.broken

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._file)

    def add(self, packet: bytes, ns: int | None = None) -> None:
        """Write a packet, of now unless a time is given."""
        seconds, rest = divmod(time.time_ns() if ns is None else ns, 10**9)
        size = len(packet)
        if self.pcapng:
            whole = seconds * 10**9 + rest
            head = struct.pack("<IIIII", 0, whole >> 32, whole & 0xFFFFFFFF, size, size)
            record = _block(6, head + packet + bytes(-size % 4))
        else:
            record = struct.pack("<IIII", seconds, rest, size, size) + packet
        with self._lock:
            if self._write(record):
                self.packets += 1

    def connection(self, client: Address, server: Address) -> Recorded:
        """A connection to be recorded."""
        return Recorded(self, client, server)

    def _write(self, record: bytes) -> bool:
        """Write it whole, or as if it had never been begun."""
        if self.broken is not None:
            return False
        try:
            done = os.write(self._file, record)
            while done < len(record):
                done += os.write(self._file, record[done:])
        except OSError as error:
            self.broken = self._problem(error)
            if self._regular:
                os.ftruncate(self._file, self.octets)
            self.when_broken()
            return False
        self.octets += len(record)
        return True

    def _problem(self, error: OSError) -> EnvironmentProblem:
        return EnvironmentProblem(f"{visible(self.path)}: cannot be written ({why(error)}); make room or name another file with -w")


class Recorded:
    """One connection of a recording, told what happened at its two ends as it happens."""

    def __init__(self, recording: Recording, client: Address, server: Address) -> None:
        self.client, self.server = client, server
        self._recording, self._packets = recording, Packets(client, server)

    def asked(self) -> None:
        """The client wants to connect: SYN."""
        self._add(True, SYN)

    def refused(self) -> None:
        """The server does not: RST."""
        self._packets.given(to_client=False)
        self._add(False, RST | ACK)

    def established(self) -> None:
        """It does: SYN and ACK, then the client's ACK."""
        self._packets.given(to_client=False)
        self._add(False, SYN | ACK)
        self.taken(by_client=True)

    def sent(self, from_client: bool, octets: bytes) -> None:
        """An end has sent octets; a segment for each `MOST` of them."""
        for at in range(0, len(octets), MOST):
            self._add(from_client, PSH | ACK, octets[at : at + MOST])
            if at + MOST < len(octets):
                self.taken(not from_client)

    def taken(self, by_client: bool) -> None:
        """An end has been given all that the other has sent so far: ACK."""
        self._packets.given(by_client)
        self._add(by_client, ACK)

    def finished(self, from_client: bool) -> None:
        """An end sends nothing more: FIN."""
        self._add(from_client, FIN | ACK)

    def reset(self, from_client: bool) -> None:
        """An end broke the connection off: RST."""
        self._add(from_client, RST | ACK)

    def _add(self, from_client: bool, flags: int, payload: bytes = b"") -> None:
        self._recording.add(self._packets.segment(from_client, flags, payload))


def _block(kind: int, body: bytes) -> bytes:
    """A block of pcapng; its body is a multiple of four octets."""
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def _pcapng_head() -> bytes:
    """The blocks of the section and of its one interface."""
    name = b"stompcap"
    options = struct.pack("<HH", 2, len(name)) + name + struct.pack("<HHB3xHH", 9, 1, NANOSECONDS, 0, 0)
    section = _block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    return section + _block(1, struct.pack("<HHI", ETHERNET, 0, SNAPLEN) + options)
