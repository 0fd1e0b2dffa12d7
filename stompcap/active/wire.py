"""One connection of a scripted side: sends octets as they stand, collects what the peer sends, and records both."""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from stompcap.active.addresses import of_socket
from stompcap.active.frames import Frame, Malformed, Parser
from stompcap.active.recording import Recorded, Recording

AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: close(2) sends RST


@dataclass
class Wire:
    """A connected socket. `log` has what was said, in order: whether by the peer, and the octets; `heard` is when the peer last spoke."""

    socket: socket.socket
    client: bool
    """Whether this side is the client."""
    recording: Recording | None = None
    asked: Recorded | None = None
    """The connection in the recording, where its SYN is there already."""
    ended: str = ""
    """How the peer ended the connection: FIN, RST, or what of its octets is no frame."""
    heard: float = field(default_factory=time.monotonic)
    log: list[tuple[bool, bytes]] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    parser: Parser = field(default_factory=Parser)
    on_frame: Callable[[Frame], None] = lambda frame: None

    def __post_init__(self) -> None:
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.malformed = ""
        self._recorded = self.asked
        if self.recording is not None and self._recorded is None:
            names = of_socket(self.socket.getsockname()), of_socket(self.socket.getpeername())
            self._recorded = self.recording.connection(*(names if self.client else names[::-1]))
            self._recorded.asked()
        if self._recorded is not None:
            self._recorded.established()

    def send(self, octets: bytes, pieces: int = 0, gap_s: float = 0) -> None:
        """Send octets, in pieces of so many where that is not 0; a peer that is gone is noted, not raised."""
        size = pieces or len(octets) or 1
        for at in range(0, len(octets), size):
            piece = octets[at : at + size]
            if self._recorded is not None:
                self._recorded.sent(self.client, piece)
            try:
                self.socket.sendall(piece)
            except OSError:
                self.receive(0.01)  # what it said before
                self.ended = self.ended or "RST"
                break
            if self._recorded is not None:
                self._recorded.taken(by_client=not self.client)
            if gap_s:
                time.sleep(gap_s)
        self.log.append((False, octets))

    def receive(self, seconds: float) -> bool:
        """Take what comes next within that time; false where nothing does, or the peer has ended."""
        if self.ended in ("FIN", "RST") or not select.select([self.socket], [], [], max(0.0, seconds))[0]:
            return False
        try:
            octets = self.socket.recv(60_000)
        except OSError:
            octets = None
        self.heard = time.monotonic()
        if not octets:
            self.ended = "FIN" if octets is not None else "RST"
            if self._recorded is not None:
                (self._recorded.reset if octets is None else self._recorded.finished)(not self.client)
            return False
        self.log.append((True, octets))
        if self._recorded is not None:
            self._recorded.sent(not self.client, octets)
            self._recorded.taken(by_client=self.client)
        self._parse(octets)
        return True

    def _parse(self, octets: bytes) -> None:
        """The frames of what came; what is none ends the reading of frames."""
        if self.malformed:
            return
        self.parser.feed(octets)
        try:
            while (frame := self.parser.next()) is not None:
                if frame.command == "CONNECTED":
                    self.parser.version = known(frame.get("version"))
                self.on_frame(frame)
                self.frames.append(frame)
        except Malformed as error:
            self.malformed = str(error)

    def finish(self, seconds: float = 0.5) -> None:
        """Say that nothing more comes, hear the peer out for that long, so that no RST takes away what was said last, and close."""
        if self._recorded is not None and not self.ended:
            self._recorded.finished(self.client)
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)
        until = time.monotonic() + seconds
        while not self.ended and (left := until - time.monotonic()) > 0:
            self.receive(left)
        self.socket.close()

    def close(self, *, reset: bool = False) -> None:
        """End the connection."""
        if self._recorded is not None and self.socket.fileno() >= 0:
            (self._recorded.reset if reset else self._recorded.finished)(self.client)
        if reset:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        self.socket.close()


def known(version: str | None) -> str:
    """The version of a connection by what CONNECTED says."""
    return version if version in ("1.1", "1.2") else "1.0"
