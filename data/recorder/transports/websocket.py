"""WebSocket upon a client's socket, by wsproto: each `sendall` is a message; pings are answered; Close is answered and said."""
from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from typing import Any

from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Ping,
    Pong,
    RejectConnection,
    RejectData,
    Request,
    TextMessage,
)
from wsproto.extensions import PerMessageDeflate
from wsproto.utilities import ProtocolError

from data.recorder.client import Connection
from data.recorder.truth import Record

SUBPROTOCOLS = ("v12.stomp", "v11.stomp", "v10.stomp")


@dataclass(frozen=True)
class WebSocket:
    """How a client wants it: whether messages are deflated and windows kept, text or binary, octets a frame of a longer message."""

    deflate: bool = False
    kept: bool = True
    text: bool = True
    split: int | None = None
    path: str = "/ws"
    subprotocols: tuple[str, ...] = SUBPROTOCOLS


class WebSocketSocket:
    """A WebSocket client on a socket or on TLS; what it agreed and how it ended is in `told["websocket"]`."""

    def __init__(self, under: Connection, host: str, wanted: WebSocket, told: Record) -> None:
        self.under, self.wanted = under, wanted
        self.using = threading.Lock()
        self.machine = WSConnection(ConnectionType.CLIENT)
        self.facts: Record = {"path": wanted.path, "asked": list(wanted.subprotocols), "subprotocol": None, "deflate": None,
                              "messages_c2s": 0, "messages_s2c": 0, "pings_c2s": 0, "pings_s2c": 0,
                              "close_code_c2s": None, "close_code_s2c": None, "closed_by": None}
        told["websocket"] = self.facts
        self.part = b""
        extensions = []
        if wanted.deflate:
            extensions.append(PerMessageDeflate(client_no_context_takeover=not wanted.kept, server_no_context_takeover=not wanted.kept))
        asked = Request(host=host, target=wanted.path, subprotocols=list(wanted.subprotocols), extensions=list(extensions))
        under.sendall(self.machine.send(asked))
        self._answered()

    def _answered(self) -> None:
        while True:
            chunk = self.under.recv(65536)
            if chunk is None:
                continue
            self.machine.receive_data(chunk or None)
            for event in self.machine.events():
                if isinstance(event, AcceptConnection):
                    self.facts["subprotocol"] = event.subprotocol
                    agreed = [one for one in event.extensions if one.enabled()]
                    self.facts["deflate"] = bool(agreed)
                    return
                if isinstance(event, RejectConnection | RejectData):
                    raise RuntimeError(f"WebSocket refused: {event}")

    def recv(self, most: int) -> bytes | None:
        """The messages that a read completes, one after the other; None where it completes none."""
        try:
            chunk = self.under.recv(most)
        except OSError:
            if self.facts["close_code_s2c"] is not None:  # a reset behind Close is an end all the same
                return b""
            raise
        if chunk is None:
            return None
        if not chunk:
            return b""
        with self.using:
            self.machine.receive_data(chunk)
            return b"".join(self._events()) or None

    def _events(self) -> list[bytes]:
        found = []
        for event in self.machine.events():
            if isinstance(event, TextMessage | BytesMessage):
                data = event.data.encode() if isinstance(event.data, str) else bytes(event.data)
                self.part += data
                if event.message_finished:
                    found.append(self.part)
                    self.part = b""
                    self.facts["messages_s2c"] += 1
            elif isinstance(event, Ping):
                self.facts["pings_s2c"] += 1
                self.under.sendall(self.machine.send(event.response()))
            elif isinstance(event, CloseConnection):
                self.facts["close_code_s2c"] = int(event.code)
                if self.facts["closed_by"] is None:
                    self.facts["closed_by"] = "server"
                    self.facts["close_code_c2s"] = int(event.code)
                    with contextlib.suppress(OSError):
                        self.under.sendall(self.machine.send(event.response()))
            elif isinstance(event, Pong):
                self.facts["pongs_s2c"] = self.facts.get("pongs_s2c", 0) + 1
        return found

    def sendall(self, octets: bytes) -> None:
        """One message, in several frames where it is longer than a frame should be."""
        size = self.wanted.split or len(octets)
        data = octets.decode() if self.wanted.text else octets
        with self.using:
            wire = b""
            try:
                for at in range(0, len(data), size):
                    last = at + size >= len(data)
                    piece = data[at:at + size]
                    kind = TextMessage if isinstance(piece, str) else BytesMessage
                    wire += self.machine.send(kind(piece, message_finished=last))
            except ProtocolError as error:  # closed already
                raise OSError(str(error)) from error
            self.facts["messages_c2s"] += 1
            self.under.sendall(wire)

    def ping(self, payload: bytes) -> None:
        """A ping of the client."""
        with self.using:
            self.facts["pings_c2s"] += 1
            self.under.sendall(self.machine.send(Ping(payload)))

    def shutdown(self, how: int) -> None:
        """Close, code 1000; the server answers and then closes TCP."""
        with self.using, contextlib.suppress(OSError, ProtocolError):
            if self.facts["closed_by"] is None:
                self.facts["closed_by"], self.facts["close_code_c2s"] = "client", 1000
                self.under.sendall(self.machine.send(CloseConnection(1000)))

    def fileno(self) -> int:
        """The TCP socket's."""
        return self.under.fileno()

    def setsockopt(self, level: int, option: int, value: Any) -> None:
        """An option of the TCP socket."""
        self.under.setsockopt(level, option, value)

    def getsockname(self) -> Any:
        """The client's endpoint."""
        return self.under.getsockname()

    def getpeername(self) -> Any:
        """The server's."""
        return self.under.getpeername()

    def close(self) -> None:
        """Close what is below."""
        self.under.close()
