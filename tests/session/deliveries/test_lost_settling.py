"""Dialogues of clients, a part of the frames lost: what is still told of deliveries is what the whole dialogue tells, or is marked.

Of clients that behave it is so whether it is marked or not, unless the server delivers anew what it was given back.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from itertools import product

import pytest

from tests.examples import THOROUGH
from tests.session.deliveries.plain_settling import PENDING, SETTLED, VOIDED, Delivery, Plain, Subscription
from tests.session.transcript import encode, picked, run

OPENINGS = {
    "1.0": "> CONNECT login:a\n< CONNECTED session:1 server:{0}\n",
    "1.1": "> CONNECT accept-version:1.1 host:/\n< CONNECTED version:1.1 server:{0}\n",
    "1.2": "> CONNECT accept-version:1.2 host:/\n< CONNECTED version:1.2 server:{0}\n",
}
END = "\n> DISCONNECT\n> FIN\n< FIN\n"
SERVERS = {"Other/1": {}, "RabbitMQ/3": {"ack_scope_connection": True, "by_message_id": True}, "ActiveMQ/5": {"single": True}}
SESSIONS, LOST = 24, 0.12
BEHAVED, REPEATS, REUSES = "behaved", "repeats what it acknowledged", "reuses names of transactions"
ANEW = "behaved, and the server delivers anew"
UNNAMED = "behaved, and no MESSAGE names its subscription"
CLIENTS = (BEHAVED, REPEATS, REUSES, ANEW, UNNAMED)


class Client:
    """Writes a dialogue in which each MESSAGE is acknowledged once, or once more after ABORT, where its subscription asks for it, or not at
    all. One that repeats may acknowledge it again, inside transactions and outside; one that reuses begins a transaction by the name of
    one that it ended. A server that delivers anew does so, by the same names, with what was refused or whose transaction was aborted.
    """

    def __init__(self, plain: Plain, chance: random.Random, habit: str) -> None:
        self.plain, self.chance, self.habit = plain, chance, habit
        self.lines: list[str] = []
        self.open: list[str] = []
        self.count = 0
        self.copied: list[Delivery] = []
        for mode in ("client", "client-individual", "auto"):
            self.subscribe(mode)

    def say(self, line: str) -> None:
        _, command, *headers = line.split()
        self.plain.frame(len(self.lines) + 2, command, dict(header.split(":", 1) for header in headers))
        self.lines.append(line)

    def new(self) -> int:
        self.count += 1
        return self.count

    def subscribe(self, mode: str) -> None:
        self.say(f"> SUBSCRIBE id:{self.new()} destination:/{self.chance.choice('ab')} ack:{mode}")

    def names(self) -> Iterator[str]:
        """Names for a transaction."""
        if self.habit == REUSES:
            yield from "tu"
        while True:
            yield f"t{self.new()}"

    def settle(self, one: Delivery) -> None:
        inside = f"transaction:{self.chance.choice(self.open)}" if self.open and self.chance.random() < 0.4 else ""
        command = self.chance.choice(["ACK", "ACK", "NACK"])
        self.say(f"> {command} id:{one.message_id} message-id:{one.message_id} subscription:{one.name} {inside}")

    def returned(self) -> list[Delivery]:
        """What was refused or its transaction aborted, and was not delivered anew."""
        back = [d for d in self.plain.deliveries if d.state == VOIDED or (d.state == SETTLED and self.lines[d.by - 2].startswith("> NACK"))]
        return [d for d in back if not any(d is one for one in self.copied)]

    def deliver_anew(self, one: Delivery, live: list[Subscription]) -> None:
        of = one.subscription if one.subscription in live else self.chance.choice(live)
        self.copied.append(one)
        self.say(f"< MESSAGE message-id:{one.message_id} ack:{one.ack} subscription:{of.name} destination:{of.destination}")

    def step(self) -> None:
        """One more frame, whichever."""
        what, chance, plain = self.chance.random(), self.chance, self.plain
        live = [s for s in plain.subscriptions if s.active]
        waiting = [d for d in plain.deliveries if d.state in (PENDING, VOIDED) and d.mode in ("client", "client-individual")]
        if self.habit == REPEATS and chance.random() < 0.2 and plain.deliveries:
            self.settle(chance.choice(plain.deliveries))
        elif self.habit == ANEW and live and self.returned() and chance.random() < 0.5:
            self.deliver_anew(chance.choice(self.returned()), live)
        elif what < 0.4 and live:
            one = chance.choice(live)
            name = self.new()
            self.say(f"< MESSAGE message-id:m{name} ack:m{name} subscription:{one.name} destination:{one.destination}")
        elif what < 0.75 and waiting:
            self.settle(chance.choice(waiting))
        elif what < 0.83:
            self.open.append(next(name for name in self.names() if name not in self.open))
            self.say(f"> BEGIN transaction:{self.open[-1]}")
        elif what < 0.93 and self.open:
            name = self.open.pop(chance.randrange(len(self.open)))
            self.say(f"> {chance.choice(['COMMIT', 'ABORT'])} transaction:{name}")
        elif what < 0.96 and live:
            self.say(f"> UNSUBSCRIBE id:{chance.choice(live).name}")
        else:
            self.subscribe(chance.choice(["client", "client-individual", "auto"]))


def without_some(lines: list[str], chance: random.Random) -> list[str]:
    """The dialogue with gaps where frames were lost."""
    return [f"{line[0]} GAP {len(encode(line[1:].strip()))}" if chance.random() < LOST else line for line in lines]


COLUMNS = ("status", "ack_mode", "octets_missing", "settlement", "ack_latency_us", "commit_latency_us", "transaction_outcome")
Told = tuple[object, ...]


def told(opening: str, dialogues: list[list[str]]) -> dict[Told, Told]:
    """What is told of each delivery: COLUMNS by stream and time."""
    rows = run(*(opening + "\n".join(lines) + END for lines in dialogues)).tables["deliveries"]
    return {row[:2]: row[2:] for row in picked(rows, "stream_id", "delivered_ns", *COLUMNS)}


def unnamed(line: str) -> str:
    """A MESSAGE without the name of its subscription; anything else as it is."""
    return re.sub(r" subscription:\S+", "", line) if line.startswith("< MESSAGE") else line


def drawn(version: str, server: str, habit: str, chance: random.Random, sessions: int = SESSIONS) -> list[list[str]]:
    """Dialogues."""
    dialogues = []
    for _ in range(sessions):
        client = Client(Plain(version, **SERVERS[server]), chance, habit)
        for _ in range(chance.randrange(6, 40)):
            client.step()
        dialogues.append([unnamed(line) for line in client.lines] if habit == UNNAMED else client.lines)
    return dialogues


def contradictions(version: str, server: str, habit: str, seed: object) -> list[object]:
    """What is told of the dialogues with losses that is not so."""
    chance = random.Random(f"{seed} {version} {server}")
    dialogues = drawn(version, server, habit, chance)
    lossy = [without_some(lines, chance) for lines in dialogues]
    opening = OPENINGS[version].format(server)
    true, found = told(opening, dialogues), told(opening, lossy)
    assert any(row[0] == "unknown" for row in found.values())
    assert any(row[0] == "settled" and row[2] for row in found.values())
    return [(key, row, true[key], lossy[int(str(key[0]))]) for key, row in found.items() if not _agree(row, true[key], habit)]


def _agree(row: Told, true: Told, habit: str) -> bool:
    """Whether what is told is so, or nothing is told, or it is marked that octets are missing where a client may do what this one does."""
    status, mode, missing, *told_of_settling = row
    if habit == UNNAMED and status == "settled" and missing and true[0] == "unknown":
        return True  # whose ACK is ambiguous the whole capture does not tell either; an ACK that names it settles it all the same
    if mode not in (None, true[1]):
        return False
    if status == "unknown":
        return told_of_settling[1:3] == [None, None]
    if habit not in (BEHAVED, UNNAMED) and (missing or mode is None):  # of an unknown mode, any ACK may have been cumulative
        return True
    return status == true[0] and told_of_settling == list(true[3:])


CASES = list(product(sorted(OPENINGS), sorted(SERVERS), CLIENTS))


@pytest.mark.slow
@pytest.mark.parametrize(("version", "server", "habit"), CASES)
def test_nothing_is_told_of_deliveries_that_the_whole_dialogue_does_not_tell(version: str, server: str, habit: str) -> None:
    assert [found for seed in range(4 if THOROUGH else 2) for found in contradictions(version, server, habit, seed)] == []
