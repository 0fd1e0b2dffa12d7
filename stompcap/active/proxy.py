"""The recording proxy: accepts connections, passes each on to the target, and ends by a signal, or when what it waits for has ended."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from stompcap.active.addresses import Address, SocketAddress, host_port, of_socket, why
from stompcap.active.recording import Recording
from stompcap.active.relay import connected, relay, reset
from stompcap.errors import EnvironmentProblem
from stompcap.visible import visible

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
AGAIN_S = 0.2
"""How long to wait for free file descriptors."""
ENDING_S = 5.0
"""How long the command that runs beside the proxy may take to end after a signal, and an open connection's last octets."""


@dataclass
class Ends:
    """What ends the proxy beside a signal: seconds, a number of connections that have ended, a command that has."""

    seconds: float | None = None
    connections: int | None = None
    command: Sequence[str] = ()


@dataclass
class Proxy:
    """What it is doing; `warn` is told of each connection that could not be passed on."""

    recording: Recording
    listening: socket.socket
    target: Address
    targets: Sequence[SocketAddress]
    warn: Callable[[str], None]
    accepted: int = 0
    passed_on: int = 0
    failed: int = 0
    code: int | None = None
    """The exit code of the command beside it, where there is one."""
    _beside_runs: bool = False
    _open: set[asyncio.Task[None]] = field(default_factory=set)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """Ends it; set in its loop."""

    @property
    def address(self) -> Address:
        """Where it listens."""
        return of_socket(self.listening.getsockname())

    async def run(self, ends: Ends) -> None:
        """Pass connections on until one of `ends`, or a signal, or the recording breaks; raises EnvironmentProblem for that."""
        loop, here = asyncio.get_running_loop(), threading.current_thread() is threading.main_thread()
        heard = [one for one in SIGNALS if here and signal.getsignal(one) != signal.SIG_IGN]
        for number in heard:
            loop.add_signal_handler(number, self._signalled, number)
        self.recording.when_broken = self.over.set
        others = [asyncio.create_task(self._accept(ends.connections))]
        if ends.command:
            others.append(asyncio.create_task(self._beside(ends.command)))
        try:
            waiting = asyncio.create_task(self.over.wait())
            await asyncio.wait([waiting, *others[1:]], timeout=ends.seconds, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            if ends.command and self._open:  # what the command said last is still under way
                await asyncio.wait(self._open, timeout=AGAIN_S)
        finally:
            for task in (*others, *self._open):
                task.cancel()
            found = await asyncio.gather(*others, *self._open, return_exceptions=True)
            for number in heard:
                loop.remove_signal_handler(number)
        if self.recording.broken is not None:
            raise self.recording.broken
        for one in found:
            if isinstance(one, Exception):
                raise one

    def _signalled(self, number: int) -> None:
        """A signal ends the proxy; the command that it interrupts has not ended well."""
        if self._beside_runs:
            self.code = 128 + number
        self.over.set()

    async def _accept(self, most: int | None) -> None:
        """Accept connections; after `most` of them, wait until they have ended."""
        loop = asyncio.get_running_loop()
        while most is None or self.accepted < most:
            try:
                client, _ = await loop.sock_accept(self.listening)
            except OSError as error:  # no more file descriptors, or a client that has gone again
                self.warn(f"a connection could not be accepted: {why(error)}")
                await asyncio.sleep(AGAIN_S)
                continue
            self.accepted += 1
            task = asyncio.create_task(self._serve(client))
            self._open.add(task)
            task.add_done_callback(self._open.discard)
        self.listening.close()
        while self._open:
            await asyncio.wait(self._open)
        self.over.set()

    async def _serve(self, client: socket.socket) -> None:
        """One connection from its SYN to its end."""
        server = None
        try:
            found = await connected(self.recording, client, self.targets)
            if isinstance(found, OSError):
                self.failed += 1
                self.warn(f"{host_port(self.target)}: {why(found)}; the client was reset")
                reset(client)
                return
            self.passed_on += 1
            recorded, server = found
            await relay(recorded, client, server)
        except OSError as error:  # a client that went before it was asked who it is
            self.warn(f"a connection failed: {why(error)}")
        finally:
            for end in (client, server):
                if end is not None:
                    end.close()

    async def _beside(self, command: Sequence[str]) -> None:
        """Run the command; it finds the proxy in its environment."""
        host, port = self.address
        named = {"STOMPCAP_PROXY": host_port((host, port)), "STOMPCAP_PROXY_HOST": host, "STOMPCAP_PROXY_PORT": str(port)}
        try:
            child = await asyncio.create_subprocess_exec(*command, env={**os.environ, **named})
        except OSError as error:
            remedy = "name a program that can be executed, and its arguments"
            raise EnvironmentProblem(f"{visible(command[0])}: {why(error)}; {remedy}") from error
        self._beside_runs = True
        try:
            code = await child.wait()
        except asyncio.CancelledError:
            if child.returncode is None:
                child.terminate()
                try:
                    await asyncio.wait_for(child.wait(), ENDING_S)
                except TimeoutError:
                    child.kill()
            raise
        self.code = code if code >= 0 else 128 - code
