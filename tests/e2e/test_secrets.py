"""Secrets of every kind in every place leave nothing in tables or states, whatever packets and runs they are split over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stompcap.lake.secret_search import Searcher
from tests.capture.packaging import pcap
from tests.e2e.confided import LEFT, NAMES, Confided, Talk, confided, frame
from tests.e2e.runs import Lake
from tests.examples import every, slow_behind

OF_BASE64 = ("community_id", "payload")


def said_in(lake: Lake) -> Iterator[tuple[str, bytes]]:
    """All that tables and states have, with the table's name."""
    for name in sorted(lake.final.keys() | lake.open.keys()):
        table = lake.table(name)
        yield name, repr(table.drop_columns([one for one in OF_BASE64 if one in table.column_names]).to_pylist()).encode()
    for octets in lake.table("stream_state").column("payload").drop_null().to_pylist():
        yield "stream_state", octets


def left_of(lake: Lake, told: Confided) -> list[str]:
    """What is left of secrets in a lake."""
    search = Searcher([value.encode() for value in told.values])
    places = list(told.values.values())
    found = []
    for name, octets in said_in(lake):
        found += [f"{name}: {octets[max(0, one.start() - 40) : one.end() + 20]!r}" for one in LEFT.finditer(octets)]
        found += [f"{name}: {places[line - 1]}, {form}" for line, form in search.times(octets)]
    return found


def assert_none_left(folder: Path, told: Confided, runs: int, lake: Lake) -> None:
    """Take in what is told, in so many runs: none of them leaves anything of it."""
    for number, frames in enumerate(told.runs(runs)):
        lake.run([str(pcap(folder / f"{number}.pcap", frames, nano=True))])
        assert not left_of(lake, told)
    assert lake.table("frames").num_rows > len(told.values) // 2


@pytest.mark.parametrize("runs", [1, 4])
def test_no_secret_is_in_tables_or_states(runs: int, tmp_path: Path) -> None:
    assert_none_left(tmp_path, confided(every(7, NAMES)), runs, Lake())


def test_what_names_tell_is_in_none_where_captures_are_gone(tmp_path: Path) -> None:
    assert_none_left(tmp_path, confided(every(7, NAMES), repeated=False), 5, Lake(kept=False))


@pytest.mark.parametrize("header", [b"passcode:%b", b"x-token:%b", b"x-from:stomp://bob:%b@host", b"x-key:eyJh.eyJz.%b"])
@pytest.mark.parametrize("opens", slow_behind(1, [True, False]))
@pytest.mark.parametrize("block", [4, pytest.param(1000, marks=pytest.mark.slow)])
def test_what_a_connection_gave_is_known_in_later_runs(block: int, opens: bool, header: bytes, tmp_path: Path) -> None:
    told = Confided()
    talk = Talk(told, torn=False)
    value = talk.secret("given").replace(b"~", b"-")
    given = header % value
    talk.opens(*[given] if opens else [])
    talk.says(frame(b"SEND", b"destination:/queue/a", *[] if opens else [given]))
    for number in range(6):
        talk.says(frame(b"MESSAGE", b"message-id:%d" % number, body=b"it is " + given.rpartition(b":")[2]), client=False)
    talk.ends()
    lake = Lake(block=block)
    for number, cut in enumerate((slice(0, 7), slice(7, 10), slice(10, None))):
        lake.run([str(pcap(tmp_path / f"{number}.pcap", told.frames[cut], nano=True))])
    shown = b"".join(octets for _, octets in said_in(lake))
    assert shown.count(b"it is ") >= 6
    assert value not in shown


@pytest.mark.slow
@pytest.mark.parametrize(("names", "kept"), [(NAMES[::50], True), (NAMES[::30], False)])
def test_no_secret_is_in_what_large_connections_leave(names: list[str], kept: bool, tmp_path: Path) -> None:
    assert_none_left(tmp_path, confided(names, repeated=kept), 4, Lake(kept=kept, block=4))
