"""One name per destination, whatever clients and brokers write: `queue/x`, `topic/x`, else as sent.

It depends on nothing but the text, so that it is the same before the broker is known and behind, and for both ends of a message:

- RabbitMQ (Destinations, rabbit_routing_parser): `/queue/x`, `/amq/queue/x` and `/reply-queue/x` are the queue x, `/exchange/amq.topic/x`
  is `/topic/x`. It gives names back percent-encoded, a `/` in them always.
- ActiveMQ (ActiveMQDestination): options of a consumer may follow (`?consumer.prefetchSize=`). It undoes escapes in STOMP 1.0, which has
  none, and trims.
- Artemis: `queue://x`, `jms.queue.x` and the like where its acceptor has no prefixes of its own.
"""

from __future__ import annotations

from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from stompcap.columns import flat

SPELLINGS = (
    (r"^(?:/(?:amq/|reply-)?queue/|queue://|jms\.queue\.)(.+)$", r"queue/\1"),
    (r"^(?:/topic/|/exchange/amq\.topic/|topic://|jms\.topic\.)(.+)$", r"topic/\1"),
)
"""Regular expressions of RE2, and what each becomes."""

OPTIONS = r"\?consumer\..*$"


def destination_names(destinations: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The name of each destination, null where there is none; costs little where a few stand many times."""
    coded = flat(destinations).dictionary_encode()
    if not len(coded.dictionary):
        return pa.nulls(len(coded), pa.string())
    return _named(coded.dictionary.cast(pa.string())).take(coded.indices)


def _named(texts: pa.Array) -> pa.Array:
    names = pc.utf8_trim_whitespace(texts)
    names = pc.replace_substring_regex(names, OPTIONS, "")
    names = pc.replace_substring(names, "\\c", ":")
    for spelling, name in SPELLINGS:
        names = pc.replace_substring_regex(names, spelling, name)
    encoded = pc.match_substring(names, "%")
    if not pc.any(encoded).as_py():
        return names
    return pa.array([unquote(name, errors="surrogateescape") if "%" in name else name for name in names.to_pylist()], pa.string())
