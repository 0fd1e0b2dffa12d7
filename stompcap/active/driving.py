"""The scripted client: plays cases against a broker, several at once, each on connections and a queue of its own."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from stompcap.active.addresses import Address, SocketAddress, host_port, why
from stompcap.active.engine import NOT_JUDGED, Play, Result
from stompcap.active.recording import Recording
from stompcap.active.steps import Case
from stompcap.active.wire import Wire
from stompcap.errors import EnvironmentProblem

CONNECT_S = 5.0


@dataclass(frozen=True)
class Driver:
    """Where the broker is, and what CONNECT says: `known` has host, and login and passcode where they are given."""

    target: Address
    targets: Sequence[SocketAddress]
    known: Mapping[str, str] = field(default_factory=dict)
    queue: str = "/queue/stompcap"
    patience_s: float = 2
    recording: Recording | None = None

    def run(self, cases: Sequence[Case], at_once: int = 8) -> Iterator[Result]:
        """The results, in the order of the cases; raises EnvironmentProblem where the broker cannot be reached at all."""
        try:
            self._connect().close()
        except OSError as error:
            raise EnvironmentProblem(f"{host_port(self.target)}: {why(error)}; start the broker or name another") from error
        pool = ThreadPoolExecutor(at_once)
        try:
            yield from pool.map(self.play, cases)
        finally:  # where a signal ends it, nobody waits for cases that are under way
            pool.shutdown(wait=False, cancel_futures=True)

    def play(self, case: Case) -> Result:
        """Play one case."""
        try:
            wire = self._wire(case)
        except OSError as error:
            return Result(case, NOT_JUDGED, f"no connection: {why(error)}")
        known = {"host": "/", **self.known, "queue": f"{self.queue}.{case.name}.{secrets.token_hex(4)}"}
        play = Play(wire, case, known, self.patience_s, lambda: self._wire(case))
        result = play.run()
        play.wire.close()
        return result

    def _wire(self, case: Case) -> Wire:
        wire = Wire(self._connect(), client=True, recording=self.recording)
        wire.parser.version = case.version
        return wire

    def _connect(self) -> socket.socket:
        """Connect to the first address that answers; raises OSError."""
        for number, place in enumerate(self.targets):
            made = socket.socket(place.family, socket.SOCK_STREAM)
            made.settimeout(CONNECT_S)
            try:
                made.connect(place.address)
            except OSError:
                made.close()
                if number == len(self.targets) - 1:
                    raise
                continue
            return made
        raise ConnectionRefusedError
