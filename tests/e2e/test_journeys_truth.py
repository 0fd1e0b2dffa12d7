"""Journeys of generated traffic: no MESSAGE is joined with a SEND that it did not come of, whatever the capture lacks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from struct import unpack_from
from typing import Any

import pytest

from stompcap.generate.conversation import MS, Conversation, to
from stompcap.generate.group import EPOCH_NS, FILE_HEADER, RECORD_HEADER, SOURCE, TARGET, Group
from stompcap.generate.profiles import PASSED_ON, Wanted
from stompcap.generate.wire import SERVER, SYN
from stompcap.generate.write import Request, generate
from tests.e2e.journeys import Compared, compared, journeys_of
from tests.examples import every

WANTED = Wanted(connections=8, messages=120)
FLAGS = SOURCE + 8 + 13
Keeps = Callable[[bytes, Random], bool]


def records(path: Path) -> list[bytes]:
    """The packet records of a generated pcap, with their headers."""
    octets, at, found = path.read_bytes(), len(FILE_HEADER), []
    while at < len(octets):
        length = RECORD_HEADER + unpack_from("<I", octets, at + 8)[0]
        found.append(octets[at : at + length])
        at += length
    return found


def client(record: bytes) -> bytes:
    """The address of the client of a packet; that of the server is always the same."""
    source, target = record[SOURCE : SOURCE + 4], record[TARGET : TARGET + 4]
    return target if source == SERVER else source


def lost(share: float) -> Keeps:
    """All but a share of the packets; SYNs stay, so that offsets count from the beginning."""
    return lambda record, dice: dice.random() >= share or bool(record[FLAGS] & SYN)


def without(address: bytes) -> Keeps:
    return lambda record, dice: client(record) != address


LACKING: dict[str, tuple[Keeps, float]] = {
    "nothing": (lost(0), 0.99),
    "one packet in a hundred": (lost(0.01), 0.2),
    "one packet in ten": (lost(0.1), 0.16),
    "a producer": (without(bytes((10, 0, 0, 1))), 0.66),
    "a consumer": (without(bytes((10, 0, 0, 7))), 0.97),
}
"""What the capture lacks, and the share of the MESSAGEs that it has which are joined at the least."""


def of_lacking(profile: str, seed: int, keeps: Keeps, folder: Path) -> Compared:
    made = generate(folder / "made.pcap", Request(profile, seed, wanted=WANTED))
    dice = Random(seed)
    made.paths[0].write_bytes(FILE_HEADER + b"".join(one for one in records(made.paths[0]) if keeps(one, dice)))
    truth: dict[str, Any] = json.loads(made.truth.read_text("utf-8"))
    return compared(truth, *journeys_of([str(made.paths[0])]))


CASES = [(profile, lacking, seed) for seed in range(3) for profile in PASSED_ON for lacking in LACKING]


@pytest.mark.slow
@pytest.mark.parametrize("case", every(2, CASES), ids=str)
def test_no_join_is_wrong(case: tuple[str, str, int], tmp_path: Path) -> None:
    profile, lacking, seed = case
    keeps, least = LACKING[lacking]
    found = of_lacking(profile, seed, keeps, tmp_path)
    assert found.wrong == []
    assert set(found.late_us) <= {0}
    assert found.share >= least, found.by


BEATS, EVERY_MS, WAITS_MS = 40, 1_000, 2_500


def beats(path: Path, begin_ms: int, end_ms: int) -> None:
    """A capture of a queue: one SEND a second, all alike, each delivered 2.5 s later; captured between two times, 0 for all."""
    producer, consumer = (Conversation(Random(number), "beats") for number in range(2))
    for talk in (producer, consumer):
        talk.connect(server="RabbitMQ/3.13.7")
    consumer.subscribe("/queue/beats")
    begin = max(producer.wire.ns, consumer.wire.ns)
    for number in range(BEATS):
        producer.wire.wait_until(begin + number * EVERY_MS * MS)
        producer.say(True, ("SEND", to("/queue/beats", b"{}"), b"{}"))
        consumer.wire.wait_until(begin + (number * EVERY_MS + WAITS_MS) * MS)
        name, row = consumer.message(to("/queue/beats", b"{}"), b"{}")
        consumer.settle(name, row)
    path.write_bytes(FILE_HEADER + bytes(Group([talk.session() for talk in (producer, consumer)], spread_ns=0).clone(0)))
    if end_ms:
        within = range(EPOCH_NS + begin + begin_ms * MS, EPOCH_NS + begin + end_ms * MS)
        path.write_bytes(FILE_HEADER + b"".join(one for one in records(path) if seconds_and_ns(one) in within))


def seconds_and_ns(record: bytes) -> int:
    seconds, part = unpack_from("<2I", record)
    return int(seconds * 10**9 + part)


@pytest.mark.parametrize(("begin_ms", "end_ms", "told"), [
    (0, 0, {("ordered", "2.5"): BEATS}),
    (9_900, 34_600, {("ambiguous", None): 25}),
], ids=["all of it", "the middle of it"])  # fmt: skip
def test_what_waited_before_the_capture_is_joined_with_nothing_behind(
    begin_ms: int, end_ms: int, told: dict[Any, int], tmp_path: Path
) -> None:
    """The middle of it begins with a SEND, and has as many as MESSAGEs: each would be joined with one that came two seconds later."""
    beats(tmp_path / "beats.pcap", begin_ms, end_ms)
    _, rows = journeys_of([str(tmp_path / "beats.pcap")])
    found = [(row["joined_by"], row["residence_us"] and f"{row['residence_us'] / 10**6:.1f}") for row in rows if row["message_ns"]]
    assert Counter(found) == told
