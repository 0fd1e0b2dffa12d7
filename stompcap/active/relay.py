"""One connection passed on: what each end sends goes to the other as it was read, and into the recording before.

Nothing more is read from an end until the other has taken what was read: a slow receiver slows its sender. A FIN is passed on as the end
of one direction, a RST as a RST.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress

from stompcap.active.addresses import SocketAddress, of_socket
from stompcap.active.packets import MOST
from stompcap.active.recording import Recorded, Recording

PATIENCE_S = 10.0
"""How long the target may take to answer a SYN."""
AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: close(2) sends RST


async def connected(
    recording: Recording, client: socket.socket, targets: Sequence[SocketAddress]
) -> tuple[Recorded, socket.socket] | OSError:
    """Connect to the first address that answers; the error of the last where none does."""
    loop, name = asyncio.get_running_loop(), of_socket(client.getpeername())
    failed: OSError = ConnectionRefusedError()
    for place in targets:
        recorded = recording.connection(name, of_socket(place.address))
        recorded.asked()
        server = socket.socket(place.family, socket.SOCK_STREAM)
        server.setblocking(False)
        try:
            async with asyncio.timeout(PATIENCE_S):
                await loop.sock_connect(server, place.address)
        except (OSError, TimeoutError) as error:
            server.close()
            failed = error if isinstance(error, OSError) and error.errno else TimeoutError(f"no answer in {PATIENCE_S:.0f} s")
            if isinstance(error, ConnectionRefusedError):
                recorded.refused()
            continue
        except BaseException:
            server.close()
            raise
        recorded.established()
        return recorded, server
    return failed


async def relay(recorded: Recorded, client: socket.socket, server: socket.socket) -> None:
    """Pass on both directions until both have ended, or one end has reset the connection. The caller closes the sockets."""
    for end in (client, server):
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    ways = [asyncio.create_task(_pass_on(recorded, client, server, True)), asyncio.create_task(_pass_on(recorded, server, client, False))]
    try:
        done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_EXCEPTION)
        for way in done:
            error = way.exception()
            if isinstance(error, _Reset):
                recorded.reset(error.from_client)
                reset(server if error.from_client else client)
                break
            if error is not None:
                raise error
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


def reset(end: socket.socket) -> None:
    """Have the socket's close send RST."""
    with suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)


class _Reset(Exception):
    """An end has broken the connection off."""

    def __init__(self, from_client: bool) -> None:
        super().__init__(from_client)
        self.from_client = from_client


async def _pass_on(recorded: Recorded, source: socket.socket, target: socket.socket, from_client: bool) -> None:
    """One direction, until its FIN; raises _Reset."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            octets = await loop.sock_recv(source, MOST)
        except OSError as error:
            raise _Reset(from_client) from error
        if not octets:
            break
        recorded.sent(from_client, octets)
        try:
            await loop.sock_sendall(target, octets)
        except OSError as error:
            raise _Reset(not from_client) from error
        recorded.taken(by_client=not from_client)
    recorded.finished(from_client)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
    recorded.taken(by_client=not from_client)
