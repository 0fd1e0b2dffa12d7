"""What brokers do otherwise than the specification of STOMP has it, where it changes what a frame means."""

from __future__ import annotations

from typing import Annotated, NamedTuple, get_args, get_type_hints

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.columns import Bools


class Quirks(NamedTuple):
    """The quirks of each session's broker; beside each the brokers that have it."""

    ack_scope_connection: Annotated[Bools, "RabbitMQ"]  # a cumulative ACK settles deliveries of the whole connection
    single_nack: Annotated[Bools, "ActiveMQ"]  # a NACK settles one message in mode client too
    by_message_id: Annotated[Bools, "RabbitMQ", "CoilMQ"]  # an ACK goes by message-id, whatever subscription it names, if any
    replies_unasked: Annotated[Bools, "RabbitMQ"]  # what comes from a /temp-queue/ of reply-to, which nobody subscribes to, needs no ACK
    unescapes: Annotated[Bools, "ActiveMQ"]  # escapes in a 1.0 ACK are undone, though 1.0 has none


def quirks_of(product: pa.Array, ack_scope: str) -> Quirks:
    """The quirks of these brokers; `ack_scope` is Options.ack_scope, which decides about ack_scope_connection unless it is `auto`."""
    found = {
        name: np.asarray(pc.is_in(product, value_set=pa.array(get_args(hint)[1:])))
        for name, hint in get_type_hints(Quirks, include_extras=True).items()
    }
    if ack_scope != "auto":
        found["ack_scope_connection"] = np.full(len(product), ack_scope == "connection")
    return Quirks(**found)
