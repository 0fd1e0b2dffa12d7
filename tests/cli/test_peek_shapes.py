"""Captures in files that lost the order of their packets, as peek shows them: as it shows the one file."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from stompcap.cli import entry
from tests.e2e.test_clocks import BY_CLOCK
from tests.e2e.truth import DATA
from tests.mangler.shapes import SHAPES, Shape
from tests.mangler.taken_apart import SYN, segments

RECORDINGS = [f"{name}.pcap" for name in ("activemq_dialogue", "rabbitmq_dialogue", "rabbitmq_heartbeats", "rabbitmq_violations")]
RECORDINGS += ["artemis_library.pcapng"]
OF_FILES = ("capture", "packet")
OF_TIMES = (*OF_FILES, "time", "ns", "relative_us", "duration_us", "ack_p50_us", "ack_max_us", "evidence", "findings", "findings_by_side")
DIRECTIONS = ("c2s", "s2c")
Line = dict[str, Any]
Shown = Callable[[Sequence[Path]], list[Line]]
Heard = dict[tuple[int, str], list[tuple[int, int]]]


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shown:
    """The lines that peek prints of captures; the connection is named by its client's port."""

    def peek(paths: Sequence[Path]) -> list[Line]:
        monkeypatch.setattr("sys.argv", ["stompcap", "peek", *map(str, paths), "--json"])
        assert entry.outcome() == 0
        printed = capsys.readouterr()
        assert printed.err == ""
        lines = [json.loads(line) for line in printed.out.splitlines()]
        ports = {line["stream_id"]: line["client_port"] for line in lines if line["type"] == "session"}
        return [line | {"stream_id": ports[line["stream_id"]]} for line in lines]

    return peek


def files(shape: Shape, name: str, folder: Path) -> list[Path]:
    [paths] = shape.files(DATA / name, folder)
    return paths


def without(lines: Sequence[Line], names: Sequence[str], *types: str) -> list[list[tuple[str, Any]]]:
    """Lines of these types less some of what they have."""
    some = [line for line in lines if not types or line["type"] in types]
    return [[(name, value) for name, value in line.items() if name not in names] for line in some]


def by_connection(lines: Sequence[Line], kind: str) -> dict[int, list[Line]]:
    found: dict[int, list[Line]] = defaultdict(list)
    for line in lines:
        if line["type"] == kind:
            found[line["stream_id"]].append(line)
    return found


def heard(name: str) -> Heard:
    """By client's port and direction: the offset of each segment, ascending, and how much of the other direction its sender had got."""
    begins, found = dict[tuple[bytes, int, bytes, int], int](), defaultdict[tuple[int, str], list[tuple[int, int]]](list)
    for one in segments(DATA / name):
        if one.flags & SYN:
            begins[one.way] = one.seq + 1
        other = begins.get((*one.way[2:], *one.way[:2]))
        if one.payload and one.way in begins and other is not None:
            to_server = one.dport < one.sport
            key = (one.sport if to_server else one.dport), DIRECTIONS[not to_server]
            found[key].append(((one.seq - begins[one.way]) % 2**32, (one.ack - other) % 2**32))
    for key, of in found.items():
        of.sort()
        found[key] = list(zip((offset for offset, _ in of), accumulate((acked for _, acked in of), max), strict=True))
    return found


def out_of_order(frames: Sequence[Line], port: int, known: Mapping[tuple[int, str], Sequence[tuple[int, int]]]) -> list[tuple[Line, Line]]:
    """Pairs of frames of which the second was shown first, though its sender had received the first."""
    wrong, shown_so_far = [], list[Line]()
    for frame in frames:
        for before in shown_so_far:
            acked = [most for offset, most in known.get((port, before["direction"]), ()) if offset <= before["stream_offset"]]
            if acked and before["direction"] != frame["direction"] and frame["stream_offset"] + frame["octets"] <= acked[-1]:
                wrong.append((frame, before))
        shown_so_far.append(frame)
    return wrong


def cases(*, times: bool) -> list[Any]:
    """Recordings and shapes, those in which packets have the times that they had, and the others."""
    return [
        pytest.param(name, shape, id=f"{name}, {words}", marks=[pytest.mark.slow] if name != RECORDINGS[-1] else [])
        for name in RECORDINGS
        for words, shape in SHAPES.items()
        if shape.times == times and "back" not in words
    ]


@pytest.mark.parametrize(("name", "shape"), cases(times=True))
def test_where_times_are_right_nothing_differs(name: str, shape: Shape, shown: Shown, tmp_path: Path) -> None:
    assert without(shown(files(shape, name, tmp_path)), OF_FILES) == without(shown([DATA / name]), OF_FILES)


@pytest.mark.parametrize(("name", "shape"), cases(times=False))
def test_where_a_clock_is_off_frames_and_what_became_of_them_are_the_same(name: str, shape: Shape, shown: Shown, tmp_path: Path) -> None:
    found, wanted = shown(files(shape, name, tmp_path)), shown([DATA / name])
    for kind in ("session", "close", "summary"):
        assert sorted(without(found, OF_TIMES, kind)) == sorted(without(wanted, OF_TIMES, kind))
    findings = [[line for line in lines if line.get("rule_id") not in BY_CLOCK] for lines in (found, wanted)]
    assert sorted(without(findings[0], OF_TIMES, "finding")) == sorted(without(findings[1], OF_TIMES, "finding"))
    known, frames = heard(name), by_connection(wanted, "frame")
    assert known
    for port, lines in by_connection(found, "frame").items():
        for way in DIRECTIONS:
            one, other = ([line for line in some if line["direction"] == way] for some in (lines, frames[port]))
            assert without(one, (*OF_TIMES, "note")) == without(other, (*OF_TIMES, "note"))
        assert not out_of_order(lines, port, known), port
        assert not out_of_order(frames[port], port, known), port
