"""A dialogue fed with octets and times, judged as if it had been captured: for tests of a client or a broker without a network.

What both sides say is written as the packets of one TCP connection and read back, so that every rule judges it as it judges a capture.
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from stompcap.errors import UsageError
from stompcap.generate.wire import ACK, FIN, RST, STOMP_PORT, Wire
from stompcap.options import Options

if TYPE_CHECKING:
    import pyarrow as pa

    from stompcap.checking.verdict import Finding, Verdict

BEGIN_S = 1_700_000_000
"""When a dialogue begins, seconds since 1970: it has times of its own, so every run gives the same verdict."""

NS, STEP_NS = 1_000_000_000, 1_000_000
NAME = "dialogue"
ETHERNET, SNAPLEN = 1, 262_144


@dataclass(frozen=True)
class DialogueFrame:
    """A frame as it was understood: who sent it, when it was complete (seconds since the begin), its headers in their order.

    `headers` are unescaped as the version says; `errors` are what the decoder could not read.
    """

    side: str
    at: float
    command: str
    headers: tuple[tuple[str, str | None], ...]
    body_octets: int
    body: str
    errors: tuple[str, ...]


class Dialogue:
    r"""One connection, told by both sides' octets.

        d = stompcap.Dialogue()
        d.client(b"CONNECT\naccept-version:1.2\nhost:h\n\n\0", at=0.1)
        d.server(b"CONNECTED\nversion:1.2\n\n\0", at=0.2)
        d.close("client", at=1.0)
        assert d.verdict(side="client").ok

    Times are seconds since the connection was opened and never go back; what has none comes a millisecond after what was before.
    Octets may be parts of frames. What is not closed is open still when the dialogue ends.
    """

    def __init__(self, *, port: int = STOMP_PORT, options: Options | None = None) -> None:
        self.options = options or Options()
        self._wire = Wire(server_port=port)
        self._wire.open()
        self._begin_ns = self._at_ns = self._wire.ns
        self._shut = {True: False, False: False}
        self._tables: dict[str, pa.Table] | None = None

    def client(self, octets: bytes, at: float | None = None) -> Self:
        """The client says this."""
        return self._say(True, octets, at)

    def server(self, octets: bytes, at: float | None = None) -> Self:
        """The server says this."""
        return self._say(False, octets, at)

    def close(self, side: str = "client", at: float | None = None) -> Self:
        """This side sends FIN; the other one answers it by its own, unless it has closed already."""
        first = self._side(side)
        self._until(at)
        for one in (first, not first):
            if not self._shut[one]:
                self._wire.segment(one, FIN | ACK)
                self._shut[one] = True
        self._wire.segment(first, ACK)
        return self

    def reset(self, side: str = "client", at: float | None = None) -> Self:
        """This side sends RST."""
        one = self._side(side)
        self._until(at)
        self._wire.segment(one, RST | ACK)
        self._shut = {True: True, False: True}
        return self

    @property
    def said(self) -> int:
        """How many octets both sides have said."""
        return sum(self._wire.sent)

    @property
    def frames(self) -> Sequence[DialogueFrame]:
        """Their frames so far, in the order in which they were complete."""
        rows = self._judged()["frames"].to_pylist()
        sides = {"c2s": "client", "s2c": "server"}
        return [
            DialogueFrame(
                sides[row["direction"]], (row["last_ns"] - BEGIN_S * NS - self._begin_ns) / NS, row["command"] or row["command_raw"],
                tuple((one["name"], one["value"]) for one in row["headers"]), row["body_octets"], row["body_preview"] or "",
                tuple(row["decode_errors"] or ()),
            )
            for row in sorted(rows, key=lambda row: (row["last_ns"], row["direction"], row["stream_offset"]))
        ]  # fmt: skip

    @property
    def findings(self) -> Sequence[Finding]:
        """What broke a rule so far, at any level."""
        return self.verdict(allow_empty=True).findings

    def verdict(self, *, side: str = "both", level: str = "MUST", known: str | None = None, allow_empty: bool = False) -> Verdict:
        """The verdict on what was said so far; the arguments are those of `stompcap.check`."""
        from stompcap.checking.judging import Asked, verdict_of

        asked = Asked.of(side, level, known, allow_empty=allow_empty)
        return verdict_of(self._judged(), [NAME], self.options, asked)

    def write(self, path: str | Path) -> None:
        """Write it as a capture, for Wireshark and `stompcap peek`."""
        head = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, SNAPLEN, ETHERNET)
        records = [
            struct.pack("<IIII", BEGIN_S + packet.ns // NS, packet.ns % NS, len(packet.octets), packet.wire_octets) + packet.octets
            for packet in self._wire.packets
        ]
        Path(path).write_bytes(head + b"".join(records))

    def _say(self, from_client: bool, octets: bytes, at: float | None) -> Self:
        self._until(at)
        if self._shut[from_client]:
            raise UsageError(f"the {'client' if from_client else 'server'} of this dialogue has closed and cannot say more")
        self._wire.send(from_client, octets)
        return self

    def _until(self, at: float | None) -> None:
        """It is that time now."""
        ns = self._wire.ns + STEP_NS if at is None else self._begin_ns + round(at * NS)
        if ns < self._at_ns:
            raise UsageError(f"at={at}: a dialogue does not go back; it is at {(self._at_ns - self._begin_ns) / NS:g} s")
        self._at_ns = ns
        self._wire.wait_until(ns)
        self._tables = None

    @staticmethod
    def _side(side: str) -> bool:
        if side not in ("client", "server"):
            raise UsageError(f"side {side}: must be client or server")
        return side == "client"

    def _judged(self) -> dict[str, pa.Table]:
        if self._tables is None:
            from stompcap.assembly import captures
            from stompcap.checking.judging import tables_of

            with tempfile.TemporaryDirectory(prefix="stompcap-") as folder:
                path = str(Path(folder, f"{NAME}.pcap"))
                self.write(path)
                packets = captures.Packets()
                captures.read(packets, [path], self.options, _raise)
                self._tables = tables_of(packets, self.options)
        return self._tables


def _raise(error: Exception) -> None:
    raise error
