"""Where to listen and where to connect: HOST:PORT as people write it, resolved."""

from __future__ import annotations

import os
import socket
from typing import Any, NamedTuple, cast

from stompcap.errors import EnvironmentProblem, UsageError
from stompcap.visible import visible

HERE = "127.0.0.1"
Address = tuple[str, int]


class SocketAddress(NamedTuple):
    """One address of a host: its family, and what bind(2) and connect(2) take."""

    family: socket.AddressFamily
    address: tuple[str, int] | tuple[str, int, int, int]


def split(option: str, text: str, *, alone: bool) -> Address:
    """Host and port of HOST:PORT, or where `alone` of PORT, which is this machine's; IPv6 in brackets. Raises UsageError."""
    host, colon, port = text.rpartition(":")
    bare = host.startswith("[") and host.endswith("]")
    least = 0 if alone else 1
    if not (port.isascii() and port.isdecimal() and least <= int(port) < 1 << 16) or (":" in host and not bare) or (not host and not alone):
        form = "PORT or HOST:PORT" if alone else "HOST:PORT"
        raise UsageError(f"{option} {visible(text, 60)}: must be {form}, with a port from {least} to 65535 and an IPv6 address in brackets")
    del colon
    return (host[1:-1] if bare else host) or HERE, int(port)


def resolve(option: str, address: Address) -> list[SocketAddress]:
    """All addresses of a host, in the order in which they are to be tried; raises EnvironmentProblem where it has none."""
    try:
        found = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        says = getattr(error, "strerror", None) or "no name of a host"
        raise EnvironmentProblem(f"{option} {visible(address[0], 60)}: {says.lower()}; name a host that can be resolved") from error
    targets = [SocketAddress(one[0], cast("Any", one[4])) for one in found if one[0] in (socket.AF_INET, socket.AF_INET6)]
    return list(dict.fromkeys(targets))


def listen(option: str, address: Address) -> socket.socket:
    """A socket that listens there, non-blocking; raises EnvironmentProblem where that cannot be."""
    place = resolve(option, address)[0]
    made = socket.socket(place.family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if place.family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        made.bind(place.address)
        made.listen(1024)
    except OSError as error:
        made.close()
        raise EnvironmentProblem(f"{option} {host_port(address)}: {why(error)}; name another port or address") from error
    made.setblocking(False)
    return made


def why(error: OSError) -> str:
    """What the system says of an error."""
    return (os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)).lower()


def host_port(address: Address) -> str:
    """An address and its port; IPv6 in brackets."""
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    return f"{visible(host)}:{address[1]}"


def of_socket(name: tuple[str, int] | tuple[str, int, int, int]) -> Address:
    """Address and port of what getsockname(2) says; an IPv4 client of an IPv6 socket has its own address, without a zone."""
    return name[0].removeprefix("::ffff:").partition("%")[0], name[1]
