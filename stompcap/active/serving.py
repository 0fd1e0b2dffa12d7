"""The scripted broker: plays one case with each connection, or is a plain broker for all."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from threading import Event, Thread

from stompcap.active.addresses import Address, host_port, of_socket, why
from stompcap.active.broker import Broker, Session, converse
from stompcap.active.echo import END
from stompcap.active.engine import NOT_JUDGED, Play, Result
from stompcap.active.frames import Frame
from stompcap.active.recording import Recording
from stompcap.active.serving_cases.shared import message
from stompcap.active.steps import Case
from stompcap.active.wire import Wire, known
from stompcap.errors import EnvironmentProblem
from stompcap.visible import visible

LINGER_S = 2.0
"""How long a client may take to say DISCONNECT once the end was said."""
LONGEST_S = 30.0
"""How long a command may take for one case."""


class Scripted(Session):
    """A session of a case: it answers CONNECT and receipts; all else is the case's."""

    def __init__(self, wire: Wire, headers: Sequence[str] | None) -> None:
        super().__init__(Broker(), wire)
        self.known: dict[str, str] = {}
        self.headers = ("version:{version}", "heart-beat:0,0", "server:stompcap-serve") if headers is None else headers

    def connect(self, frame: Frame) -> None:
        """CONNECT: what the case says, else the highest version of both."""
        offered = (frame.get("accept-version") or "1.0").split(",")
        chosen = next((one for one in self.versions if one in offered), "1.0")
        lines = [line.replace("{version}", chosen) for line in self.headers]
        said = next((line.partition(":")[2] for line in lines if line.startswith("version:")), None)
        self.version = self.wire.parser.version = known(said)
        self.connected = True
        self.wire.send("\n".join(["CONNECTED", *lines, "", ""]).encode() + b"\0")

    def apply(self, frame: Frame) -> None:
        """Nothing is done; what was subscribed to is kept, and the end."""
        if frame.command == "SUBSCRIBE":
            self.known = {"sub": frame.get("id") or "", "queue": frame.get("destination") or ""}
        self.over = frame.command == "DISCONNECT"


@dataclass
class Serving:
    """A listening socket and what it plays; `over` ends it."""

    listening: socket.socket
    patience_s: float
    over: Event
    recording: Recording | None = None
    passcode: str | None = None

    @property
    def address(self) -> Address:
        """Where it listens."""
        return of_socket(self.listening.getsockname())

    def plain(self, ready: Callable[[], bool] = lambda: True) -> int:
        """Be a broker until `over`, or `ready` is false; returns how many connections there were."""
        broker, count = Broker(self.passcode), 0
        while not self.over.is_set() and ready():
            wire = self._accepted(0.1)
            if wire is not None:
                count += 1
                session = Session(broker, wire)
                wire.on_frame = session.frame
                Thread(target=converse, args=(session,), daemon=True).start()
        return count

    def run(self, cases: Sequence[Case], command: Sequence[str] = ()) -> Iterator[Result]:
        """Play each case with the next connection; where there is a command, it is run for each and makes that connection."""
        for case in cases:
            if self.over.is_set():
                return
            child = self._started(command, case) if command else None
            result = self._case(case, child)
            if child is not None:
                result = self._ended(child, result)
            if result is not None:
                yield result

    def _case(self, case: Case, child: subprocess.Popen[bytes] | None) -> Result | None:
        """Play a case with the next connection; None where none comes before the end."""
        until = time.monotonic() + LONGEST_S
        while (wire := self._accepted(0.1)) is None:
            if child is not None and (child.poll() is not None or time.monotonic() > until):
                return Result(case, NOT_JUDGED, "the command made no connection")
            if self.over.is_set():
                return None
        session = Scripted(wire, case.connected)
        wire.on_frame = session.frame
        play = Play(wire, case, {}, self.patience_s)
        result = play.run()
        until, said = time.monotonic() + LINGER_S, False
        while not (wire.ended or wire.malformed or session.over) and time.monotonic() < until:
            if session.known and not said:
                play.known |= session.known
                wire.send(play.filled(message("end", body=END)))
                said = True
            wire.receive(0.05)
        wire.finish(0.2)
        return result

    def _started(self, command: Sequence[str], case: Case) -> subprocess.Popen[bytes]:
        """The command for a case; it finds the broker in its environment. Raises EnvironmentProblem."""
        host, port = self.address
        named = {"STOMPCAP_SERVE": host_port((host, port)), "STOMPCAP_SERVE_HOST": host, "STOMPCAP_SERVE_PORT": str(port)}
        try:
            return subprocess.Popen(command, env={**os.environ, **named, "STOMPCAP_CASE": case.name}, stdin=subprocess.DEVNULL)
        except OSError as error:
            raise EnvironmentProblem(f"{visible(command[0])}: {why(error)}; name a program that can be executed") from error

    def _ended(self, child: subprocess.Popen[bytes], result: Result | None) -> Result | None:
        """Wait for a command's end; connections that it makes meanwhile are closed: they are of no case."""
        until = time.monotonic() + LINGER_S
        while child.poll() is None and time.monotonic() < until:
            wire = self._accepted(0.02)
            if wire is not None:
                wire.close()
        child.kill()
        child.wait()
        while (wire := self._accepted(0)) is not None:
            wire.close()
        return result

    def _accepted(self, seconds: float) -> Wire | None:
        """The next connection, if one comes within that time."""
        if not select.select([self.listening], [], [], seconds)[0]:
            return None
        try:
            made, _ = self.listening.accept()
            made.setblocking(True)
            return Wire(made, client=False, recording=self.recording)
        except OSError:  # it has gone again
            return None
