"""Which side of a connection is the server.

The handshake tells it. Where none was captured the commands do, then the first octets of another protocol, then the masks of WebSocket,
which clients alone set (RFC 6455, 5.1), then the ports. A client's port may be any, one where STOMP is expected too: systems that take
ports from 49152 on (RFC 6335, 6) use 61613 now and then.
"""

from __future__ import annotations

import numpy as np

from stompcap import codes
from stompcap.codes import HIGH, LOW, NOBODY
from stompcap.columns import I8, Bools
from stompcap.options import Options
from stompcap.tables.words import ROLES
from stompcap.tcp.results import Reassembly, Streams

# IANA's Service Name and Transport Protocol Port Number Registry: all system ports, and user ports of protocols that are often found
WELL_KNOWN = (
    *range(1, 1024),
    1080, 1194, 1352, 1414, 1433, 1434, 1521, 1723, 1883,  # SOCKS, OpenVPN, Notes, MQ, SQL Server, Oracle, PPTP, MQTT
    2049, 2375, 2376, 2379, 2380, 2404, 2483, 2484, 3128, 3260, 3306, 3389,  # NFS, Docker, etcd, IEC 104, Oracle, proxy, iSCSI, MySQL, RDP
    4369, 4840, 5060, 5061, 5222, 5269, 5432, 5671, 5672, 5900,  # EPMD, OPC UA, SIP, XMPP, PostgreSQL, AMQP, VNC
    6000, 6379, 6514, 6667, 6697, 8000, 8008, 8080, 8443, 8883,  # X11, Redis, syslog, IRC, HTTP, MQTT
    9100, 9418, 11211, 19999, 20000, 27017, 44818,  # printers, Git, memcached, DNP3, MongoDB, EtherNet/IP
)  # fmt: skip
SENDER = np.full(len(ROLES), NOBODY, np.int8)
"""By role: whether it is that of a client (0) or of a server (1); -1 where both may say it."""
SENDER[[codes.ROLE_CLIENT, codes.ROLE_HTTP, codes.ROLE_WEBSOCKET, codes.ROLE_MQTT, codes.ROLE_CORE, codes.ROLE_TLS_CLIENT]] = 0
SENDER[[codes.ROLE_SERVER, codes.ROLE_HTTP_SERVER, codes.ROLE_WEBSOCKET_SERVER, codes.ROLE_TLS_SERVER]] = 1


def client_by_octets(roles: I8) -> I8:
    """The side that the first octets show to be the client, by the roles of both; -1 if they show neither."""
    sender = SENDER[roles]
    low = (sender[:, LOW] == 0) | (sender[:, HIGH] == 1)
    high = (sender[:, HIGH] == 0) | (sender[:, LOW] == 1)
    return np.select([low & ~high, high & ~low], [LOW, HIGH], default=NOBODY).astype(np.int8)


def clients(reassembly: Reassembly, by_octets: I8, by_layers: I8, options: Options) -> I8:
    """The client's side of each stream: by the handshake, by `by_octets` and `by_layers` (-1 where these do not tell), by the ports."""
    streams = reassembly.streams
    by_ports = _server_by_ports(streams, options)
    # ports that tell nothing: servers listen on the smaller one
    by_size = np.where(streams.low_port > streams.high_port, LOW, HIGH)
    choices = [streams.initiator >= 0, by_octets >= 0, by_layers >= 0, by_ports >= 0]
    return np.select(choices, [streams.initiator, by_octets, by_layers, 1 - by_ports], default=by_size).astype(np.int8)


def stomp_expected(streams: Streams, options: Options) -> Bools:
    """Whether the server's port, as far as the handshake and the ports tell it, is one where STOMP is expected."""
    low, high = (np.isin(port, list(options.ports)) for port in (streams.low_port, streams.high_port))
    server = np.where(streams.initiator >= 0, 1 - streams.initiator, _server_by_ports(streams, options))
    return np.select([server == LOW, server == HIGH], [low, high], default=low | high)


def _server_by_ports(streams: Streams, options: Options) -> I8:
    """The side with a port of servers: a well-known one of another protocol comes before one where STOMP is expected; else -1."""
    others = [port for port in WELL_KNOWN if port not in options.ports]
    low, high = (2 * np.isin(port, others) + np.isin(port, list(options.ports)) for port in (streams.low_port, streams.high_port))
    return np.select([low > high, high > low], [LOW, HIGH], default=NOBODY).astype(np.int8)
