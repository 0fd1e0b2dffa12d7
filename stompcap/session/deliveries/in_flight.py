"""How long how many deliveries of a subscription were in flight, and when it was last settled; kernels, frame by frame.

In flight are deliveries that a cumulative ACK would settle: delivered in mode client or client-individual, neither settled nor enclosed
in a transaction. Time passes from the SUBSCRIBE's first octet to that of the UNSUBSCRIBE, by the times that frames count by
(`Dialogue.at_ns`); in microseconds, so that sums over days of many deliveries fit. What passes behind the last change of the number is
added when the table is made (stompcap.session.subscriptions.in_flight).
"""

from __future__ import annotations

from typing import NamedTuple

from stompcap.columns import I64
from stompcap.kernel import inline

UNKNOWN = -1  # `changed_us` of a subscription that an older version has followed


class InFlight(NamedTuple):
    """Per subscription; the fields of stompcap.session.subscriptions.records.Subscription."""

    first_ns: I64
    ended_ordinal: I64
    ended_first_ns: I64
    limit: I64
    in_flight: I64
    most: I64
    changed_us: I64
    area_us: I64
    full_us: I64
    idle_us: I64
    full_since_ns: I64
    settled_ordinal: I64
    settled_ns: I64
    earlier_ordinal: I64
    earlier_ns: I64


@inline
def pass_time(of: InFlight, subscription: int, ordinal: int, ns: int) -> None:
    """Count the time up to a frame at which the number in flight changes; it ends with the subscription."""
    if of.changed_us[subscription] == UNKNOWN:
        return
    now = ns
    if of.ended_ordinal[subscription] >= 0 and of.ended_ordinal[subscription] < ordinal:
        now = of.ended_first_ns[subscription]
    since = max(of.changed_us[subscription], of.first_ns[subscription] // 1000)
    passed, number = max(now // 1000 - since, 0), of.in_flight[subscription]
    of.area_us[subscription] += number * passed
    if number == 0:
        of.idle_us[subscription] += passed
    elif of.limit[subscription] > 0 and number >= of.limit[subscription]:
        of.full_us[subscription] += passed
    of.changed_us[subscription] = since + passed


@inline
def one_more(of: InFlight, subscription: int, ordinal: int, ns: int) -> None:
    """A delivery is in flight, from a frame on."""
    pass_time(of, subscription, ordinal, ns)
    of.in_flight[subscription] += 1
    number = of.in_flight[subscription]
    of.most[subscription] = max(of.most[subscription], number)
    if of.full_since_ns[subscription] < 0 and of.limit[subscription] > 0 and number >= of.limit[subscription]:
        of.full_since_ns[subscription] = ns


@inline
def one_less(of: InFlight, subscription: int, ordinal: int, ns: int) -> None:
    """A delivery is no more in flight."""
    pass_time(of, subscription, ordinal, ns)
    of.in_flight[subscription] -= 1
    if of.in_flight[subscription] < of.limit[subscription]:
        of.full_since_ns[subscription] = -1


@inline
def settles(of: InFlight, subscription: int, ordinal: int, ns: int) -> None:
    """An ACK or NACK settles or encloses deliveries of a subscription: from now on it is the last one that did, and the one before it."""
    if of.settled_ordinal[subscription] != ordinal:
        of.earlier_ordinal[subscription], of.earlier_ns[subscription] = of.settled_ordinal[subscription], of.settled_ns[subscription]
        of.settled_ordinal[subscription], of.settled_ns[subscription] = ordinal, ns
