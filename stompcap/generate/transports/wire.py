"""A TCP connection whose octets go through writers before they become packets, at the times of the same connection in plain TCP.

What opens the writers is sent before the conversation begins, at times below 0; what they say beside it, between two of its packets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from stompcap.generate.transports.writer import Flight, Writer
from stompcap.generate.wire import ACK, MSS, PSH, TICK_NS, US, Wire

ASIDE_NS = 2 * US
"""From packet to packet of what is said aside, or less where many lie between two ticks."""
ROUND_TRIP_NS = 150 * US
"""From flight to flight of what opens the writers."""


class CarriedWire(Wire):
    """The packets of one connection so far, as Wire has them; `sent` counts the octets that are carried."""

    def __init__(self, client_port: int, initial: tuple[int, int], server_port: int, writers: Sequence[Writer]) -> None:
        """`writers` in the order in which they lie on TCP, the outermost first."""
        super().__init__(client_port, initial, server_port)
        self._writers = writers
        self._said_ns = 0  # the time of the last packet that was said aside

    def open(self) -> None:
        """The handshake, and what opens the writers; the conversation begins when it would without them."""
        flights = [flight for depth, writer in enumerate(self._writers) for flight in self._carried(depth, writer.opening())]
        packets = sum(-(-len(octets) // MSS) for _, octets in flights)
        self.ns -= packets * TICK_NS + len(flights) * ROUND_TRIP_NS
        super().open()
        for from_client, octets in flights:
            self.ns += ROUND_TRIP_NS
            for at in range(0, len(octets), MSS):
                self.segment(from_client, PSH | ACK, octets[at : at + MSS])

    def send(self, from_client: bool, octets: bytes, captured: bool = True) -> list[int]:
        """Send octets; returns by when each MSS of them can be read."""
        pieces = [octets[at : at + MSS] for at in range(0, len(octets), MSS)]
        pieces, known = self._wrap(len(self._writers), from_client, pieces)
        times = []
        for number, piece in enumerate(pieces):
            if piece:
                self.segment(from_client, PSH | ACK, piece, captured)
            else:
                self.ns += TICK_NS
            times.append(self.ns)
            if number % 2:
                self.segment(not from_client, ACK)
        self.sent[not from_client] += len(octets)
        self._aside(flight for depth, writer in enumerate(self._writers) for flight in self._carried(depth, writer.aside()))
        return [times[at] for at in known]

    def close(self) -> None:
        """What closes the writers, the innermost first; then FIN, FIN, ACK."""
        closing = [(depth, writer.closing()) for depth, writer in enumerate(self._writers)]
        self._aside(flight for depth, flights in reversed(closing) for flight in self._carried(depth, flights))
        super().close()

    def truth_rows(self) -> list[dict[str, Any]]:
        """What table transports must say of the writers, the outermost first."""
        return [row for writer in self._writers for row in writer.truth_rows()]

    @property
    def key_log(self) -> list[str]:
        """The lines of the key log by which it can be opened."""
        return [line for writer in self._writers for line in writer.key_log]

    def _wrap(self, depth: int, from_client: bool, pieces: list[bytes]) -> tuple[list[bytes], list[int]]:
        """What the writers below a depth make of pieces, and by which piece each of those can be read."""
        known = list(range(len(pieces)))
        for writer in reversed(self._writers[:depth]):
            pieces, readable = writer.wrap(from_client, pieces)
            known = [readable[at] for at in known]
        return pieces, known

    def _carried(self, depth: int, flights: Iterable[Flight]) -> Iterator[Flight]:
        """What a writer at a depth says by itself, through those below it."""
        for from_client, octets in flights:
            yield from_client, b"".join(self._wrap(depth, from_client, [octets])[0])

    def _aside(self, flights: Iterable[Flight]) -> None:
        """Packets right behind the last one, which put off none."""
        now, said = self.ns, list(flights)
        begin = max(now, self._said_ns)
        step = min(ASIDE_NS, (now + TICK_NS - begin) // (len(said) + 1))
        for number, (from_client, octets) in enumerate(said, 1):
            self._said_ns = begin + number * step
            self.ns = self._said_ns - TICK_NS
            self.segment(from_client, PSH | ACK, octets)
        self.ns = now
