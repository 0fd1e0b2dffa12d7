"""Which broker and which client library speak: from what they write of themselves, else from habits no other has.

A guess without good evidence is none: null. Brokers name themselves in `server` (1.1 and 1.2, "CONNECTED"); where that header is
absent, the forms of session ids and message-ids tell RabbitMQ, ActiveMQ and CoilMQ.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.session.dialogue import I64, Bools

SERVERS = {  # name in the server header, lower case: the name in the tables
    "rabbitmq": "RabbitMQ",
    "activemq": "ActiveMQ",
    "activemq-artemis": "Artemis",
    "apache-apollo": "Apollo",
    "hornetq": "HornetQ",
    "coilmq": "CoilMQ",
}
SERVER_HEADER = r"^\s*(?P<name>[^/\s]+)(?:/(?P<version>[^\s]+))?"
UUID = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
RABBITMQ_SESSION = r"^session-[A-Za-z0-9_-]{22}$"
RABBITMQ_MESSAGE = r"^[TQ]_.*@@session-[A-Za-z0-9_-]{22}@@[0-9]+$"
ACTIVEMQ_SESSION = r"^ID(:|\\c).+-[0-9]+-[0-9]+-[0-9]+(:|\\c)[0-9]+$"  # in CONNECTED colons may stand escaped
ACTIVEMQ_MESSAGE = r"^ID:.+-[0-9]+-[0-9]+(-[0-9]+)?:[0-9]+:"
STOMPJS_RECEIPT = r"^close-[0-9]+$"
STOMPJS_VERSIONS = ("1.2,1.1,1.0", "1.2,1.1", "1.1,1.0", "1.2", "1.1", "1.0")
STOMP_PY_VERSIONS = ("1.1", "1.2")


def _like(values: pa.Array, pattern: str) -> Bools:
    """Which values match a pattern; null does not."""
    found: Bools = pc.fill_null(pc.match_substring_regex(values, pattern), False).to_numpy(zero_copy_only=False)
    return found


def servers(server: pa.Array, session: pa.Array, content_length: pa.Array, message_id: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Broker and its version per session, from three headers of CONNECTED and the message-id of the first MESSAGE."""
    told = pc.extract_regex(server, SERVER_HEADER)
    name, version = pc.struct_field(told, "name"), pc.struct_field(told, "version")
    listed = pc.index_in(pc.utf8_lower(name), value_set=pa.array(list(SERVERS)))
    product = pc.coalesce(pc.take(pa.array(list(SERVERS.values())), listed), name)
    silent = server.is_null().to_numpy(zero_copy_only=False)
    rabbitmq = silent & (_like(session, RABBITMQ_SESSION) | _like(message_id, RABBITMQ_MESSAGE))
    activemq = silent & (_like(session, ACTIVEMQ_SESSION) | _like(message_id, ACTIVEMQ_MESSAGE))
    coilmq = silent & _like(session, UUID) & content_length.is_valid().to_numpy(zero_copy_only=False)
    guess = np.select([rabbitmq, activemq, coilmq], ["RabbitMQ", "ActiveMQ", "CoilMQ"], "").astype(object)
    product = pc.coalesce(product, pa.array(guess, pa.string(), mask=guess == ""))
    version = pc.if_else(pc.equal(version, ""), pa.scalar(None, pa.string()), version)
    return product, version


def _ascending(headers: pa.Array) -> Bools:
    """Which header lists (ARRAY<STRUCT<name, value>>) have at least four lines, in the order of the alphabet."""
    lines = pc.list_value_length(headers).fill_null(0).to_numpy(zero_copy_only=False)
    names = pc.struct_field(headers.flatten(), "name")
    if len(names) < 2:
        return np.zeros(len(headers), np.bool_)
    falling = np.zeros(len(names), np.int64)
    falling[1:] = pc.greater(names[:-1], names[1:]).fill_null(True).to_numpy(zero_copy_only=False)
    ends = np.cumsum(lines)
    total = np.concatenate([[0], np.cumsum(falling)])
    inside: I64 = total[ends] - total[np.minimum(ends - lines + 1, ends)]
    ordered: Bools = (lines >= 4) & (inside == 0)
    return ordered


def clients(command: pa.Array, headers: pa.Array, accept_version: pa.Array, receipt: pa.Array) -> pa.Array:
    """Client library per session, from CONNECT or STOMP and from the receipt that its DISCONNECT asks for.

    stomp.py writes headers in the order of the alphabet, offers one version and ends with a UUID as receipt; stompjs offers
    versions from the newest down and ends with a receipt `close-N`.
    """
    one = pc.or_(accept_version.is_null(), pc.is_in(accept_version, value_set=pa.array(STOMP_PY_VERSIONS)))
    stomp = pc.equal(command, "STOMP").fill_null(False).to_numpy(zero_copy_only=False)
    python = _ascending(headers) & one.to_numpy(zero_copy_only=False) & (stomp | _like(receipt, UUID))
    falling = pc.is_in(accept_version, value_set=pa.array(STOMPJS_VERSIONS)).to_numpy(zero_copy_only=False)
    script = falling & _like(receipt, STOMPJS_RECEIPT)
    guess = np.select([python, script], ["stomp.py", "stompjs"], "").astype(object)
    return pa.array(guess, pa.string(), mask=guess == "")
