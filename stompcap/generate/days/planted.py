"""Incidents of known kind, subject and moment, each at a destination and with logins of its own, beside services that are well."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from stompcap.generate.conversation import MS
from stompcap.generate.days.broker import SECOND, Clock, Message, Taker, ended_by_server
from stompcap.generate.days.normal import varied, well
from stompcap.generate.days.services import Service, refused

Row = dict[str, Any]
MINUTE = 60 * SECOND


@dataclass
class Plan:
    """The traffic so far, the services in it, and what was planted."""

    clock: Clock
    services: list[Service]
    rows: list[Row]

    def host(self) -> int:
        """A number that no service has yet."""
        return max(service.host for service in self.services) + 2

    def add(self, service: Service) -> Service:
        """One more service, which begins within some seconds."""
        self.services.append(service)
        service.note = self.rows[-1]["kind"] if self.rows else service.note
        self.clock.at(int(self.clock.dice.uniform(2, 20) * SECOND), service.begin)
        return service

    def expect(self, kind: str, subject_kind: str, subject: str, destination: str | None, begin_ns: int) -> None:
        """Note what is planted."""
        self.rows.append(
            {"kind": kind, "subject_kind": subject_kind, "subject": subject, "destination_name": destination, "begin_ns": begin_ns}
        )

    def part(self, share: float) -> int:
        """A moment by its share of the whole time, in whole seconds."""
        return int(self.clock.end_ns * share) // SECOND * SECOND


def _steady(rate: float) -> Callable[[int], float]:
    return lambda ns: rate


def consumer_slow(plan: Plan) -> None:
    """A consumer takes 20 times as long from one moment to the next; it keeps up, just."""
    begin = plan.part(0.3)
    plan.expect("consumer_slow", "login", "billing", "/queue/invoices", begin)
    before, after = varied(plan.clock.dice, 0.03), varied(plan.clock.dice, 0.6)
    plan.add(Service(plan.clock, plan.host(), "crm", {"/queue/invoices": _steady(1.0)}))
    plan.add(Service(
        plan.clock, plan.host(), "billing", takes="/queue/invoices", prefetch=5, service_s=lambda ns: (before if ns < begin else after)(ns),
    ))  # fmt: skip


def consumer_stalled(plan: Plan) -> None:
    """A consumer settles nothing more, and stays."""
    begin = plan.part(0.4)
    plan.expect("consumer_stalled", "login", "labels", "/queue/labels", begin)
    well_so_far = varied(plan.clock.dice, 0.03)
    plan.add(Service(plan.clock, plan.host(), "packing", {"/queue/labels": _steady(0.5)}))
    plan.add(Service(
        plan.clock, plan.host(), "labels", takes="/queue/labels", prefetch=5, stays_s=(9e5, 9e5),
        service_s=lambda ns: well_so_far(ns) if ns < begin else None,
    ))  # fmt: skip


def refused_loop(plan: Plan) -> None:
    """A wrong passcode, again and again."""
    begin, host = plan.part(0.2), plan.host()
    plan.expect("refused", "login", "reporting", None, begin)
    for ns in range(begin, plan.clock.end_ns, 10 * SECOND):
        plan.clock.at(ns, lambda now: refused(plan.clock, host, "reporting", now) if now >= plan.clock.down_ns else None)


def reconnect_loop(plan: Plan) -> None:
    """A consumer whose connections end after seconds, with messages in hand."""
    begin = plan.part(0.5)
    plan.expect("reconnect_loop", "login", "flaky", "/queue/jobs", begin)
    plan.add(Service(plan.clock, plan.host(), "scheduler", {"/queue/jobs": _steady(0.7)}))
    fast, slow = varied(plan.clock.dice, 0.03), varied(plan.clock.dice, 2.0)
    flaky = Service(
        plan.clock, plan.host(), "flaky", takes="/queue/jobs", prefetch=5, service_s=lambda ns: (fast if ns < begin else slow)(ns)
    )
    plan.add(flaky)

    def dies(ns: int) -> None:
        if flaky.talk:
            flaky.dies(ns, flaky.talk, plan.clock.dice.uniform(1.5, 2.5))
        plan.clock.at(ns + int(plan.clock.dice.uniform(7, 9) * SECOND), dies)

    plan.clock.at(begin, dies)


def queue_nobody_reads(plan: Plan) -> None:
    """Messages for a queue that has no consumer at any time."""
    plan.expect("no_consumer", "destination", "/queue/ledger", "/queue/ledger", 0)
    plan.add(Service(plan.clock, plan.host(), "accounts", {"/queue/ledger": _steady(0.3)}))


def producer_faster(plan: Plan) -> None:
    """A producer sends ten times as many as before, more than the consumer, which is as ever, can take."""
    begin = plan.part(0.6)
    plan.expect("producer_faster", "login", "importer", "/queue/imports", begin)
    plan.add(Service(plan.clock, plan.host(), "importer", {"/queue/imports": lambda ns: 0.3 if ns < begin else 3.0}))
    plan.add(Service(
        plan.clock, plan.host(), "indexer", takes="/queue/imports", prefetch=5, service_s=varied(plan.clock.dice, 0.5)
    ))  # fmt: skip


class _Rejecting(Service):
    """A consumer that refuses one message whenever it is delivered; `poisoned_ns`: from then on, the first that comes."""

    poisoned_ns = 0
    poison: Message | None = None

    def subscribed(self, talk: Any) -> Taker:
        """Its subscription."""
        taker = super().subscribed(talk)
        taker.refuses = self.refuses
        return taker

    def refuses(self, message: Message) -> bool:
        """Whether it is that one."""
        if self.poison is None and self.talk and self.talk.wire.ns >= self.poisoned_ns:
            self.poison = message
        return message is self.poison


def redelivery_loop(plan: Plan) -> None:
    """One message is refused and delivered again, some times a minute, while others pass."""
    begin = plan.part(0.35)
    plan.expect("redelivery_loop", "login", "parser", "/queue/feeds", begin)
    plan.add(Service(plan.clock, plan.host(), "crawler", {"/queue/feeds": _steady(0.5)}))
    rejecting = _Rejecting(plan.clock, plan.host(), "parser", takes="/queue/feeds", prefetch=5, service_s=varied(plan.clock.dice, 0.5))
    rejecting.poisoned_ns = begin
    plan.add(rejecting)


def broker_restart(plan: Plan) -> None:
    """The broker closes all connections within a second, and lets clients in again some seconds later."""
    begin = plan.part(0.85)
    plan.expect("broker_stop", "broker", "127.0.0.1:61613", None, begin)

    def stops(ns: int) -> None:
        plan.clock.down_ns = ns + 8 * SECOND
        for service in plan.services:
            if service.talk:
                ns += int(plan.clock.dice.uniform(1, 20) * MS)
                ended_by_server(service.talk, ns)
                service.over()
                plan.clock.at(plan.clock.down_ns + int(plan.clock.dice.uniform(0.1, 5) * SECOND), service.begin)

    plan.clock.at(begin, stops)


KINDS: dict[str, Callable[[Plan], None]] = {
    "consumer-slow": consumer_slow,
    "consumer-stalled": consumer_stalled,
    "refused": refused_loop,
    "reconnect-loop": reconnect_loop,
    "no-consumer": queue_nobody_reads,
    "producer-faster": producer_faster,
    "redelivery-loop": redelivery_loop,
    "broker-stop": broker_restart,
}
"""What can be planted, by name."""


def day(dice: Random, duration_s: int, rate: float, kinds: Sequence[str] = ()) -> tuple[Clock, list[Row]]:
    """So much time of services that are well, with incidents of some kinds among them; of each what and when."""
    clock = Clock(dice, duration_s * SECOND)
    plan = Plan(clock, well(clock, rate), [])
    for kind in kinds:
        KINDS[kind](plan)
    clock.run()
    for service in plan.services:
        if service.taker:
            service.taker.stays()
    return clock, plan.rows
