"""Connections through a proxy of this process: what each end sends, in which pieces, and how it ends."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stompcap.active import addresses
from stompcap.active.proxy import Ends, Proxy
from stompcap.active.recording import Recording


@dataclass
class Talk:
    """The pieces that client and server send, and what the other side got."""

    client: Sequence[bytes] = ()
    server: Sequence[bytes] = ()
    got_server: bytes = b""
    got_client: bytes = b""
    names: list[tuple[str, int]] = field(default_factory=list)


async def send(writer: asyncio.StreamWriter, pieces: Sequence[bytes]) -> None:
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(0)
    writer.write_eof()


def pass_on(path: Path, talks: Sequence[Talk], host: str = "127.0.0.1") -> Proxy:
    """All talks at once through one proxy."""

    async def all_of_them() -> Proxy:
        waiting = {talk: number for number, talk in enumerate(map(id, talks))}
        del waiting
        left = list(talks)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            first = await reader.readexactly(4)
            talk = left[int.from_bytes(first, "big")]
            sending = asyncio.create_task(send(writer, talk.server))
            talk.got_server = first + await reader.read()
            await sending
            writer.close()

        server = await asyncio.start_server(serve, host, 0, backlog=200)
        target = addresses.of_socket(server.sockets[0].getsockname())
        listening = addresses.listen("--listen", (host, 0))
        with listening, Recording(str(path)) as recording:
            proxy = Proxy(recording, listening, target, addresses.resolve("--to", target), print)

            async def connect(number: int, talk: Talk) -> None:
                reader, writer = await asyncio.open_connection(*proxy.address)
                talk.names = [addresses.of_socket(writer.get_extra_info("sockname")), target]
                sending = asyncio.create_task(send(writer, [number.to_bytes(4, "big"), *talk.client]))
                talk.got_client = await reader.read()
                await sending
                writer.close()

            clients = [connect(number, talk) for number, talk in enumerate(talks)]
            await asyncio.gather(proxy.run(Ends(connections=len(talks))), *clients)
        server.close()
        return proxy

    return asyncio.run(all_of_them())


def pair() -> tuple[socket.socket, tuple[str, int]]:
    """A socket that listens, and where."""
    made = socket.create_server(("127.0.0.1", 0))
    return made, made.getsockname()[:2]
