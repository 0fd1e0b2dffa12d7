"""The kinds of traffic that can be generated, each a function that writes one connection, or for violations one a rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from stompcap.generate.conversation import MS, Conversation, to
from stompcap.generate.days.planted import KINDS, day
from stompcap.generate.passed_on import ACTIVEMQ, RABBITMQ, passed_on
from stompcap.generate.silences import broken_heart_beats
from stompcap.generate.transcript import events
from stompcap.generate.transports import OVER, PROBE
from stompcap.generate.wire import ACK, FIN, RST, Session
from stompcap.rules import RULES

DAY_S = 86_400
BEAT_S = 50  # between the heart-beats of rotation
QUEUE = "/queue/orders"
PROBES = 4  # health checks among the connections behind a balancer


@dataclass(frozen=True)
class Wanted:
    """How much is asked for: connections of a group, messages of each, seconds that rotated connections live, rules to break.

    `over` is the transport that carries them (stompcap.generate.transports.OVER), none for plain TCP. `hourly` is the messages of the
    busiest hour of a day, `incidents` what is planted there; `duration_s` is what the profile takes for usual where it is 0.
    """

    connections: int = 20
    messages: int = 50
    duration_s: int = 0
    rules: Sequence[str] = ()
    over: str = ""
    hourly: int = 3_600
    incidents: Sequence[str] = ()


def normal(dice: Random, wanted: Wanted) -> Conversation:
    """Consumes and produces, acknowledges each MESSAGE within milliseconds, asks for receipts, commits and aborts; breaks nothing."""
    return _normal(dice, wanted, "normal", ("0,0", "0,0"))


def carried(dice: Random, wanted: Wanted) -> Conversation:
    """As `normal`, with heart-beats now and then, which are agreed on at an interval that is never used up."""
    talk = _normal(dice, wanted, "carried", ("10000,10000", "10000,10000"), beats=0.2)
    _kept(talk, 10_000)
    return talk


def _normal(dice: Random, wanted: Wanted, note: str, agreed: tuple[str, str], beats: float = 0) -> Conversation:
    talk = Conversation(dice, note, dice.choice(("1.1", "1.2", "1.2")), over=wanted.over)
    talk.connect(beats=agreed)
    talk.subscribe(QUEUE)
    for number in range(wanted.messages):
        talk.pause(1, 50)
        if beats and dice.random() < beats:
            talk.wire.send(dice.random() < 0.5, b"\n")
        name, row = talk.deliver(QUEUE)
        talk.pause(0.1, 80)
        talk.settle(name, row, "NACK" if dice.random() < 0.02 else "ACK")
        if number % 5 == 0:
            talk.ask("SEND", to("/queue/done", b"{}"), b"{}")
            talk.pause(0.5, 10)
            talk.answer()
        if number % 10 == 5:
            talk.transact(number, dice.randrange(1, 4), dice.choice(("committed", "committed", "aborted")))
    talk.disconnect()
    return talk


def slow_consumer(dice: Random, wanted: Wanted) -> Conversation:
    """Takes a prefetch of 5 at once, and acknowledges each later than the one before; the last ones never."""
    talk = Conversation(dice, "slow-consumer", over=wanted.over)
    talk.connect()
    talk.subscribe(QUEUE, prefetch=5)
    for batch in range(0, wanted.messages, 5):
        held = [talk.deliver(QUEUE) for _ in range(5)]
        for name, row in held if batch + 5 < wanted.messages else held[:2]:
            talk.pause(50 + 20 * batch, 500 + 100 * batch)
            talk.settle(name, row)
    talk.disconnect()
    return talk


def loss(dice: Random, wanted: Wanted) -> Conversation:
    """As `normal`, without transactions; a tenth of the packets with MESSAGE, ACK or SEND frames was not captured."""
    talk = Conversation(dice, "loss", over=wanted.over)
    talk.connect()
    talk.subscribe(QUEUE)
    for _ in range(wanted.messages):
        talk.pause(1, 50)
        seen = dice.random() > 0.1
        name, row = talk.deliver(QUEUE, captured=seen, small=True)
        talk.pause(1, 80)
        talk.settle(name, row, captured=not seen or dice.random() > 0.1)
        talk.pause(1, 10)
        talk.ask("SEND", to("/queue/done", b"{}"), b"{}", captured=dice.random() > 0.1)
        talk.pause(1, 10)
        talk.answer()
    talk.disconnect()
    return talk


def rotation(dice: Random, wanted: Wanted) -> Conversation:
    """A connection that lives for days, with heart-beats of a minute both ways and some messages."""
    talk = Conversation(dice, "rotation", over=wanted.over)
    talk.connect(beats=("60000,60000", "60000,60000"))
    talk.subscribe(QUEUE)
    lives_ns, beat = (wanted.duration_s or 7 * DAY_S) * 1000 * MS, BEAT_S * 1000 * MS
    end = talk.wire.ns + lives_ns
    times = [(talk.wire.ns + number * beat, "beat") for number in range(1, lives_ns // beat)]
    times += [(dice.randrange(talk.wire.ns // 1000, end // 1000) * 1000, "message") for _ in range(wanted.messages)]
    for ns, what in sorted(times):
        talk.wire.wait_until(ns)
        if what == "beat":
            talk.wire.send(True, b"\n")
            talk.wire.send(False, b"\n")
        else:
            name, row = talk.deliver(QUEUE)
            talk.pause(1, 80)
            talk.settle(name, row)
    talk.disconnect()
    _kept(talk, 60_000)
    return talk


def _kept(talk: Conversation, interval_ms: int) -> None:
    """Both sides keep to the heart-beats that were agreed on."""
    for way in ("c2s", "s2c"):
        talk.truth.heartbeats.append(
            {"direction": way, "interval_ms": interval_ms, "verdict": "ok", "late": 0, "violations": 0, "dead": 0}
        )


def probe(dice: Random, over: str) -> Conversation:
    """A connection that a balancer opens to see whether the broker is there; it says nothing but its header."""
    talk = Conversation(dice, PROBE, over=over)
    talk.wire.close()
    return talk


def violations(dice: Random, wanted: Wanted) -> list[tuple[Session, Conversation]]:
    """One connection a rule, which breaks it as the example of the catalogue does."""
    of_frames = (rule for rule in RULES if rule.breaks and rule.observed != "L")  # packets of STOMP break no rule of a layer below it
    return [_example(dice, rule.id, rule.breaks) for rule in of_frames if not wanted.rules or rule.id in wanted.rules]


def _example(dice: Random, rule_id: str, text: str) -> tuple[Session, Conversation]:
    talk = Conversation(dice, rule_id)
    talk.truth.findings, talk.truth.others = {rule_id: 1}, True
    for event in events(text):
        from_client = event.side == 0
        talk.wire.ns += MS
        if event.kind == "sends":
            talk.wire.send(from_client, event.octets)
        elif event.kind == "waits":
            talk.wire.ns += event.number * 1000 * MS
        else:
            talk.wire.segment(from_client, FIN | ACK if event.kind == "closes" else RST | ACK)
    return Session(rule_id, tuple(talk.wire.packets), 0), talk


ONE: dict[str, Callable[[Random, Wanted], Conversation]] = {
    "normal": normal,
    "slow-consumer": slow_consumer,
    "broken-heart-beats": lambda dice, wanted: broken_heart_beats(dice, wanted.over),
    "loss": loss,
    "rotation": rotation,
    "carried": carried,
}
PASSED_ON = {"journeys": RABBITMQ, "journeys-activemq": ACTIVEMQ}
"""Groups whose connections share a broker and a clock."""

DAYS = {"day": DAY_S, "incidents": 3_600}
"""Hours of many services, and how long they take where nothing else is asked for."""

PROFILES = (*(name for name in ONE if name != "carried"), "violations", *PASSED_ON, *DAYS, *OVER)


@dataclass(frozen=True)
class Lived:
    """The connections of hours, the number of each one's host, and the incidents planted in them; times count from the beginning."""

    talks: Sequence[tuple[Session, Conversation]]
    hosts: Sequence[int]
    incidents: Sequence[dict[str, Any]]


def lived(name: str, seed: int, wanted: Wanted) -> Lived:
    """A day on which nothing is wrong, or incidents: all kinds where none is named."""
    dice = Random(seed)  # noqa: S311 - traffic that anyone can make again is wanted
    kinds = () if name == "day" else wanted.incidents or tuple(KINDS)
    clock, rows = day(dice, wanted.duration_s or DAYS[name], wanted.hourly / 3_600, kinds)
    return Lived([(talk.session(), talk) for _, talk in clock.talks], [host for host, _ in clock.talks], rows)


def made(name: str, seed: int, wanted: Wanted) -> list[tuple[Session, Conversation]]:
    """The connections of one group."""
    dice = Random(seed)  # noqa: S311 - traffic that anyone can make again is wanted
    if name == "violations":
        return violations(dice, wanted)
    if name in PASSED_ON:
        return [(talk.session(), talk) for talk in passed_on(dice, wanted.connections, wanted.messages, PASSED_ON[name])]
    if name in OVER:
        name, wanted = "carried", replace(wanted, over=name)
    talks = [ONE[name](dice, wanted) for _ in range(wanted.connections)]
    if wanted.over == "proxy":
        talks += [probe(dice, PROBE) for _ in range(PROBES)]
    return [(talk.session(), talk) for talk in talks]
