"""Where a broker moved a message from before it delivered it: a dead letter, one that expired, one that waits for another try.

What the recordings of each broker have, and their sources:

| broker   | headers of such a MESSAGE                                                                                                |
| -------- | ------------------------------------------------------------------------------------------------------------------------ |
| ActiveMQ | `original-destination`, and `originalExpiration` (RegionBroker.stampAsExpired, of a NACK too) or the cause; without both |
|          | it is a copy of a virtual topic or of a composite destination. The message-id stays                                      |
| Artemis  | `_AMQ_ORIG_ADDRESS` (Message.referenceOriginalMessage); copies of a divert have it too. The message-id is another one    |
| RabbitMQ | `x-first-death-queue` (rabbit_dead_letter), the name of a queue                                                          |
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from stompcap.columns import I64
from stompcap.session.dialogue import Dialogue
from stompcap.session.products.destinations import destination_names

ACTIVEMQ = "original-destination"
ACTIVEMQ_MOVED = ("originalExpiration", "dlqDeliveryFailureCause")
ARTEMIS = "_AMQ_ORIG_ADDRESS"
RABBITMQ = "x-first-death-queue"


def moved_from(d: Dialogue, messages: I64) -> pa.Array:
    """The name of the destination that each of these MESSAGEs was moved from, null where it was not."""
    copied, address, queue = (d.some_header(name, messages) for name in (ACTIVEMQ, ARTEMIS, RABBITMQ))
    if copied.null_count + address.null_count + queue.null_count == 3 * len(messages):
        return pa.nulls(len(messages), pa.string())
    ours, other = (d.some_header(name, messages) for name in ACTIVEMQ_MOVED)
    dead = pc.or_(ours.is_valid(), other.is_valid())
    named = destination_names(pc.coalesce(pc.if_else(dead, copied, pa.scalar(None, pa.string())), address))
    return pc.coalesce(named, pc.binary_join_element_wise("queue/", queue, ""))
