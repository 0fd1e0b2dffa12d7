"""The machine settles what settling by hand settles, in dialogues drawn at random from few frames, so that they meet."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from stompcap.session import Options
from stompcap.session.facts import TARGET_PENDING
from tests.session.deliveries.plain_settling import AUTO, ENCLOSED, PENDING, REPLACED, SETTLED, VOIDED, Plain
from tests.session.transcript import run

OPENINGS = {
    "1.0": "> CONNECT login:a\n< CONNECTED session:1 server:{0}\n",
    "1.1": "> CONNECT accept-version:1.1 host:/\n< CONNECTED version:1.1 server:{0}\n",
    "1.2": "> CONNECT accept-version:1.2 host:/\n< CONNECTED version:1.2 server:{0}\n",
}
STATES = (PENDING, SETTLED, ENCLOSED, VOIDED, AUTO, REPLACED)  # in the order of the machine's codes
SERVERS = {"Other/1": {}, "RabbitMQ/3": {"ack_scope_connection": True, "by_message_id": True},
           "ActiveMQ/5": {"single": True}, "CoilMQ/1": {"by_message_id": True}}
SESSIONS = 40

WORDS = {
    "id": ["1", "1", "2"],
    "at": ["/a", "/a", "/b"],
    "mode": ["client", "client", "client-individual", "auto", "odd"],
    "m": ["m", "n"],
    "ack": ["ACK", "ACK", "NACK"],
    "in": ["", "", "transaction:t", "transaction:u"],
    "t": ["t", "t", "u"],
}
FRAMES = [
    (2, "> SUBSCRIBE id:{id} destination:{at} ack:{mode}"),
    (1, "> SUBSCRIBE destination:{at} ack:{mode}"),
    (1, "> UNSUBSCRIBE id:{id}"),
    (1, "> UNSUBSCRIBE destination:{at}"),
    (5, "< MESSAGE message-id:{m} ack:{m} subscription:{id} destination:{at}"),
    (2, "< MESSAGE message-id:{m} subscription:{id} destination:{at}"),
    (2, "< MESSAGE message-id:{m} destination:{at}"),
    (3, "> {ack} id:{m} message-id:{m} subscription:{id} {in}"),
    (2, "> {ack} id:{m} message-id:{m} {in}"),
    (1, "> BEGIN transaction:{t}"),
    (1, "> COMMIT transaction:{t}"),
    (2, "> ABORT transaction:{t}"),
]


def drawn(chance: random.Random) -> list[str]:
    """A dialogue."""
    weights, frames = zip(*FRAMES, strict=True)
    chosen = chance.choices(frames, weights, k=chance.randrange(6, 40))
    return ["> SUBSCRIBE id:1 destination:/a ack:client"] + [
        frame.format(**{name: chance.choice(among) for name, among in WORDS.items()}) for frame in chosen
    ]


Settled = tuple[list[tuple[str, int, str | None]], list[int]]
"""Per delivery its state, what settled it and how; the ACKs and NACKs before whose delivery another stood open."""


def by_hand(version: str, lines: list[str], quirks: dict[str, bool]) -> Settled:
    plain = Plain(version, **quirks)
    for number, line in enumerate(lines, 2):  # behind CONNECT and CONNECTED
        _, command, *headers = line.split()
        plain.frame(number, command, dict(header.split(":", 1) for header in headers))
    return [(d.state, d.by, d.how) for d in plain.deliveries], plain.earlier


def settled(opening: str, dialogues: list[list[str]], scope: str) -> list[Settled]:
    """What the machine makes of the dialogues, a list of each."""
    analysis = run(*(opening + "\n".join(lines) for lines in dialogues), options=Options(ack_scope=scope))
    found, d, facts = analysis.deliveries, analysis.dialogue, analysis.facts
    told: list[Settled] = [([], []) for _ in dialogues]
    columns = (found[name].tolist() for name in ("session", "state", "by_ordinal", "direct"))
    for session, state, by, direct in zip(*columns, strict=True):
        told[session][0].append((STATES[state], by, ("cumulative", "direct")[direct] if by >= 0 else None))
    for frame in np.flatnonzero(facts.unsettled_earlier & (facts.target == TARGET_PENDING)).tolist():
        told[int(d.session[frame])][1].append(int(d.ordinal[frame]))
    return told


def compared(version: str, server: str, quirks: dict[str, bool], scope: str, seed: str) -> None:
    chance = random.Random(seed)
    dialogues = [drawn(chance) for _ in range(SESSIONS)]
    found = settled(OPENINGS[version].format(server), dialogues, scope)
    for lines, rows in zip(dialogues, found, strict=True):
        assert rows == by_hand(version, lines, quirks), "\n".join(lines)


@pytest.mark.parametrize(("version", "server"), list(product(sorted(OPENINGS), sorted(SERVERS))))
def test_any_dialogue_is_settled_as_by_hand(version: str, server: str) -> None:
    compared(version, server, SERVERS[server], "auto", version + server)


@pytest.mark.parametrize("scope", ["subscription", "connection"])
def test_and_by_the_option(scope: str) -> None:
    compared("1.2", "RabbitMQ/3", {"ack_scope_connection": scope == "connection", "by_message_id": True}, scope, scope)


@pytest.mark.slow
@pytest.mark.parametrize(("version", "server"), list(product(sorted(OPENINGS), sorted(SERVERS))))
def test_many_dialogues(version: str, server: str) -> None:
    for seed in range(10):
        compared(version, server, SERVERS[server], "auto", f"{seed} {version} {server}")
