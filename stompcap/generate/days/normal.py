"""Services that are well: the traffic of a day, on its own and beside incidents."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from stompcap.generate.days.broker import SECOND, Clock
from stompcap.generate.days.services import Service, Visitor, refused, rhythm

STREAMS = (
    ("shop", "warehouse", "/queue/orders", 0.45),
    ("sensors", "dashboard", "/queue/readings", 0.3),
    ("web", "mail", "/queue/mails", 0.2),
)
"""Producer, consumer, destination, and share of the messages; the rest is of visitors."""


def varied(dice: Random, median_s: float) -> Callable[[int], float]:
    """A service time that varies as such times do; one of 2,000 takes a second longer."""
    return lambda ns: dice.lognormvariate(0, 0.5) * median_s + (1.0 if dice.random() < 1 / 2_000 else 0)


def at_most(rate: float) -> Callable[[int], float]:
    """Messages a second by the time of the day."""
    return lambda ns: rate * rhythm(ns)


def deployed(clock: Clock, services: list[Service], ns: int) -> None:
    """A new version of everything: all leave within two seconds, as they should, and are back after some."""
    for service in services:
        if talk := service.talk:
            clock.at(ns + int(clock.dice.uniform(0, 2) * SECOND), lambda now, service=service, talk=talk: service.leave(now, talk))  # type: ignore[misc]


def well(clock: Clock, rate: float) -> list[Service]:
    """Services that send so many messages a second at the busiest, begun within half a minute; some mistype a passcode, once an hour."""
    dice = clock.dice
    services: list[Service] = []
    for producer, consumer, destination, share in STREAMS:
        services.append(Service(clock, len(services), producer, {destination: at_most(rate * share)}))
        for _ in range(2 if producer == "shop" else 1):
            services.append(Service(
                clock, len(services), consumer, takes=destination, service_s=varied(dice, dice.uniform(0.01, 0.06)),
                prefetch=0 if consumer == "dashboard" else dice.choice((5, 20)), beats_ms=60_000 if consumer == "mail" else 0,
            ))  # fmt: skip
    services.append(Service(clock, len(services), "auditor", takes="/queue/audit", service_s=varied(dice, 0.02)))
    services.append(Visitor(clock, len(services), "cron", {"/queue/audit": at_most(1)}, every_s=300))
    services.append(Visitor(clock, len(services), "nightly", {"/queue/orders": at_most(1)}, every_s=2 * 3_600, count=40))
    for service in services:
        clock.at(int(dice.uniform(0, 30) * SECOND), service.begin)
    clock.at(clock.end_ns // 3, lambda ns: deployed(clock, services, ns))
    for hour in range(clock.end_ns // (3_600 * SECOND) + 1):
        when = int((hour + dice.random()) * 3_600 * SECOND)
        clock.at(when, lambda ns: refused(clock, len(services), f"operator{dice.randrange(3)}", ns, "mistyped"))
    return services
