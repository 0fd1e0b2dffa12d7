"""Who works at the brokers while they are recorded, and what goes wrong, when: seconds since the recording began."""
from __future__ import annotations

import time

from data.recorder.incidents.service import Link, Scene, Service, consumes, produces

FLAKY_S, FREEZE_S, SLOW_S, RESTART_S, END_S = 70, 110, 140, 270, 345
TIMES_SLOWER = 20
IDLE_CUT_S = 20


def warehouse(now_s: float) -> float:
    """Service time of the consumer that is well all the time."""
    return 0.02


def billing(now_s: float) -> float:
    """Service time of the consumer that slows, and stays slow."""
    return 0.02 if now_s < SLOW_S else 0.02 * TIMES_SLOWER


def billing_works(link: Link) -> None:
    """Takes 20 times as long from a known moment on."""
    def service(now_s: float) -> float:
        if now_s >= SLOW_S:
            link.scene.note("consumer_slow", "login", "billing", "/queue/invoices")
        return billing(now_s)

    consumes("/queue/invoices", service)(link)


def mailer_works(link: Link) -> None:
    """Freezes with messages in hand: reads, acknowledges and beats no more, and is never started again."""
    link.subscribe("/queue/mail", "client-individual", 5)
    while link.up:
        message = link.message()
        if link.scene.seconds() > FREEZE_S:
            break
        if message is not None:
            link.scene.rest(0.03)
            link.client.settle(message, 0)
    if not link.scene.over.is_set():
        link.scene.note("consumer_stalled", "login", "mailer", "/queue/mail", heartbeat_ms=link.client.log.heartbeat_c2s_ms)
        link.client.hush()
        link.client.stopped = True
        link.client.reader.join(2)
    link.scene.over.wait()
    link.client.socket.close()


def flaky_works(link: Link) -> None:
    """Well at first; later each connection takes some messages and dies with them."""
    scene = link.scene
    if scene.seconds() < FLAKY_S:
        link.subscribe("/queue/jobs", "client-individual", 5)
        while link.up and scene.seconds() < FLAKY_S:
            if (message := link.message()) is not None:
                scene.rest(0.03)
                link.client.settle(message, 0)
        if link.up:
            link.leave()
        return
    scene.note("reconnect_loop", "login", "flaky", "/queue/jobs")
    link.subscribe("/queue/jobs", "client-individual", 5)
    until = time.monotonic() + 6
    taken = 0
    while link.up and time.monotonic() < until:
        if (message := link.message()) is not None and (taken := taken + 1) % 5 < 3:
            link.client.settle(message, 20)
    link.client.reset()


def reporting_works(link: Link) -> None:
    """Nothing: it is never let in."""


def listens(link: Link) -> None:
    """Waits for a message that never comes; reads what the server closes with."""
    link.subscribe("/queue/alarms", "auto", 5)
    while link.up:
        link.message()
    if link.client.ended and not link.scene.over.is_set():
        link.scene.note("idle_cut", "login", "standby", "/queue/alarms", idle_s=IDLE_CUT_S)


def stops_by(link: Link) -> None:
    """A service that connects now and then, sends a few messages and leaves: harmless."""
    for number in range(3):
        headers = [("destination", "/queue/audit"), ("content-type", "text/plain"), ("content-length", "7")]
        link.client.ask("SEND", headers, b"entry %d" % number)
        link.scene.rest(0.2)


SERVICES = [  # in the order in which they begin
    Service("shop", "127.0.1.11", produces({"/queue/orders": 1.2})),
    Service("warehouse", "127.0.1.12", consumes("/queue/orders", warehouse)),
    Service("sensors", "127.0.1.13", produces({"/queue/readings": 0.6}, receipts=0)),
    Service("dashboard", "127.0.1.14", consumes("/queue/readings", warehouse, "auto")),
    Service("gateway", "127.0.1.15", stops_by, None, again_s=(38, 42)),
    Service("auditor", "127.0.1.16", consumes("/queue/audit", warehouse)),
    Service("crm", "127.0.1.17", produces({"/queue/invoices": 3.2, "/queue/mail": 0.8})),
    Service("billing", "127.0.1.18", billing_works),
    Service("mailer", "127.0.1.19", mailer_works, (5_000, 5_000), beatless=("artemis",)),
    Service("scheduler", "127.0.1.20", produces({"/queue/jobs": 1.2}, receipts=0)),
    Service("flaky", "127.0.1.21", flaky_works, None, again_s=(0.8, 1.2)),
    Service("reporting", "127.0.1.22", reporting_works, None, again_s=(1.9, 2.1)),
    Service("accounts", "127.0.1.23", produces({"/queue/ledger": 0.7}, receipts=0)),
    Service("standby", "127.0.1.24", listens, None, balanced=True, again_s=(1.0, 1.5)),
]
STRANGERS = ("reporting",)
"""Logins that the broker knows with another passcode."""


def known_from_the_start(scene: Scene) -> None:
    """What is wrong all the time."""
    scene.note("refused", "login", "reporting")
    scene.note("no_consumer", "destination", "/queue/ledger", "/queue/ledger")
