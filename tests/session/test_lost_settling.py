"""Dialogues of well-behaved clients, a part of the frames lost: what is still told of deliveries is what the whole dialogue tells."""

from __future__ import annotations

import random
from itertools import product

import pytest

from tests.session.plain_settling import PENDING, VOIDED, Plain
from tests.session.transcript import encode, picked, run

OPENINGS = {
    "1.0": "> CONNECT login:a\n< CONNECTED session:1 server:{0}\n",
    "1.1": "> CONNECT accept-version:1.1 host:/\n< CONNECTED version:1.1 server:{0}\n",
    "1.2": "> CONNECT accept-version:1.2 host:/\n< CONNECTED version:1.2 server:{0}\n",
}
END = "\n> DISCONNECT\n> FIN\n< FIN\n"
SERVERS = {"Other/1": {}, "RabbitMQ/3": {"wide": True, "lax": True}, "ActiveMQ/5": {"single": True}}
SESSIONS, LOST = 40, 0.12
UNSURE = ("unknown", "open")


class Client:
    """Writes a dialogue in which each MESSAGE is acknowledged once, where its subscription asks for it, or not at all."""

    def __init__(self, plain: Plain, chance: random.Random) -> None:
        self.plain, self.chance = plain, chance
        self.lines: list[str] = []
        self.open: list[str] = []
        self.count = 0
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

    def step(self) -> None:
        """One more frame, whichever."""
        what, chance, plain = self.chance.random(), self.chance, self.plain
        live = [s for s in plain.subscriptions if s.active]
        waiting = [d for d in plain.deliveries if d.state in (PENDING, VOIDED) and d.mode in ("client", "client-individual")]
        if what < 0.4 and live:
            one = chance.choice(live)
            name = self.new()
            self.say(f"< MESSAGE message-id:m{name} ack:m{name} subscription:{one.name} destination:{one.destination}")
        elif what < 0.75 and waiting:
            one = chance.choice(waiting)
            inside = f"transaction:{chance.choice(self.open)}" if self.open and chance.random() < 0.4 else ""
            command = chance.choice(["ACK", "ACK", "NACK"])
            self.say(f"> {command} id:{one.message_id} message-id:{one.message_id} subscription:{one.name} {inside}")
        elif what < 0.83:
            self.open.append(f"t{self.new()}")
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


def told(opening: str, dialogues: list[list[str]]) -> dict[tuple[object, ...], tuple[object, ...]]:
    """What is told of each delivery."""
    rows = run(*(opening + "\n".join(lines) + END for lines in dialogues)).tables["deliveries"]
    names = ("stream_id", "delivered_ns", "status", "settlement", "ack_latency_us", "commit_latency_us", "transaction_outcome")
    return {row[:2]: row[2:] for row in picked(rows, *names)}


def contradictions(version: str, server: str, seed: object) -> list[object]:
    """What is told of the dialogues with losses that is not so, or a latency that is another."""
    chance = random.Random(f"{seed} {version} {server}")
    dialogues = []
    for _ in range(SESSIONS):
        client = Client(Plain(version, **SERVERS[server]), chance)
        for _ in range(chance.randrange(6, 40)):
            client.step()
        dialogues.append(client.lines)
    lossy = [without_some(lines, chance) for lines in dialogues]
    opening = OPENINGS[version].format(server)
    whole, found = told(opening, dialogues), told(opening, lossy)
    assert any(row[0] in UNSURE for row in found.values())
    return [(key, row, whole[key], lossy[int(str(key[0]))]) for key, row in found.items() if not _agree(row, whole[key])]


def _agree(row: tuple[object, ...], true: tuple[object, ...]) -> bool:
    """Whether what is told may be so. Of what a cumulative ACK seems to have settled an earlier one, inside a transaction, may be lost:
    it has no latency then.
    """
    if row[0] in UNSURE:
        return True
    doubted = row[0] == "settled" and row[2] is None
    return (row[0] == true[0] or doubted) and all(mine in (None, its) for mine, its in zip(row[2:4], true[2:4], strict=True))


CASES = list(product(sorted(OPENINGS), sorted(SERVERS)))


@pytest.mark.parametrize(("version", "server"), CASES)
def test_nothing_is_told_of_deliveries_that_the_whole_dialogue_does_not_tell(version: str, server: str) -> None:
    assert contradictions(version, server, 0) == []


@pytest.mark.slow
@pytest.mark.parametrize(("version", "server"), CASES)
def test_nor_over_many_seeds(version: str, server: str) -> None:
    assert [found for seed in range(1, 25) for found in contradictions(version, server, seed)] == []
