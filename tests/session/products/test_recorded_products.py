"""Brokers and clients of every recording, told by their habits: never a wrong one, and most of them told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from stompcap import capture, session
from stompcap.assembly import Assembly
from stompcap.assembly.parts import only_stomp
from stompcap.options import Options
from stompcap.session.products import identify as products
from stompcap.session.products import traits
from stompcap.tcp import WIRE_ORDER

DATA = Path(__file__).resolve().parents[3] / "data"
CAPTURES = sorted(path for path in DATA.glob("*.pcap*") if path.with_suffix(".truth.jsonl").exists())
BROKERS = {"rabbitmq": "RabbitMQ", "activemq": "ActiveMQ", "artemis": "Artemis"}
CLIENTS = {"stomp.py": "stomp.py", "stompjs": "stompjs", "go-stomp": "go-stomp", "vertx-stomp": "vert.x", "stompest": "stompest"}

SPOKEN = ("library", "gostomp", "stompest", "stompjs", "vertx")

Told = list[tuple[dict, dict, str | None]]


def analysed(path: Path) -> Told:
    """Per session: the truth about it, its row, and the broker that its traits show without the header `server`."""
    found: Told = []
    for truth, analysis in analyses(path):
        rows = analysis.tables["sessions"].to_pylist()
        hidden = products.servers(pa.nulls(len(rows), pa.string()), traits.of_server(analysis.first))[0]
        found += [(truth[row["client_port"]], row, guess) for row, guess in zip(rows, hidden.to_pylist(), strict=True)]
    return found


def analyses(path: Path) -> Iterator[tuple[dict[int, dict], session.Analysis]]:
    """The truth about a capture's sessions by the client's port, with analyses of them."""
    truth = [json.loads(line) for line in path.with_suffix(".truth.jsonl").read_text().splitlines()]
    by_port = {row["client_port"]: row for row in truth if row["kind"] == "session"}
    assembly = Assembly([(str(path), "cap")], "batch", Options())
    for part in assembly.parts(pa.Table.from_batches(list(capture.read_segments(str(path), 0))).sort_by(WIRE_ORDER)):
        if part.sessions is None:
            continue
        s = only_stomp(part.sessions)
        yield by_port, session.analyse(s.streams, s.raw_frames, s.frames, s.segments, {"cap": 0}, s.stalls)


def truth_of(truth: dict) -> str | None:
    return CLIENTS.get(truth["client"].split("/")[0])


def wrong(told: Told) -> Told:
    return [
        (truth, row, guess) for truth, row, guess in told
        if row["server_product"] not in (BROKERS[truth["broker"]], None) or guess not in (BROKERS[truth["broker"]], None)
        or row["client_product"] not in (truth_of(truth), None)
    ]


@pytest.fixture(scope="module")
def told() -> Told:
    return [session for path in CAPTURES if path.stem.endswith(SPOKEN) for session in analysed(path)]


@pytest.mark.slow
def test_no_product_is_wrong(told: Told) -> None:
    assert not wrong(told)


@pytest.mark.slow
@pytest.mark.parametrize("path", [path for path in CAPTURES if not path.stem.endswith(SPOKEN)], ids=lambda path: path.stem)
def test_no_product_is_wrong_elsewhere(path: Path) -> None:
    """Scripted clients that do what no library does, sessions caught in the middle, violations: all of them nobody's."""
    assert not wrong(analysed(path))


def test_most_are_told(told: Told) -> None:
    """All brokers whose CONNECTED has a session id of its own form or that sent a MESSAGE; all libraries but stompest, which in 1.0
    writes nothing of its own.
    """
    silent = [row["stream_id"] for _, row, guess in told if guess is None and (row["server_product"] != "Artemis")]
    assert not silent
    artemis = [guess for truth, _, guess in told if truth["broker"] == "artemis"]
    assert artemis.count("Artemis") > 0.9 * len(artemis)
    missed = {(truth_of(truth), row["version"]) for truth, row, _ in told if row["client_product"] is None}
    assert missed <= {("stompest", "1.0")}


def test_a_client_that_sends_nothing_is_told_by_its_headers_order() -> None:
    """Of stompest and vert.x, whose CONNECT is alike; what else they write when they only receive is enough."""
    guesses = set()
    for path in (path for path in CAPTURES if path.stem.endswith(("stompest", "vertx"))):
        for truth, analysis in analyses(path):
            shown = traits.of_client(analysis.first)
            unnamed, silent = (pa.nulls(len(shown["send"]), pa.string()) for _ in range(2))
            guessed = products.clients(unnamed, shown | {"send": silent}).to_pylist()
            rows = analysis.tables["sessions"].to_pylist()
            guesses |= {(truth_of(truth[row["client_port"]]), row["version"], guess) for row, guess in zip(rows, guessed, strict=True)}
    assert not [(client, guess) for client, _, guess in guesses if guess not in (client, None)]
    assert {("stompest", "1.2", "stompest"), ("vert.x", "1.2", "vert.x")} <= guesses
    assert ("stompest", "1.2", None) not in guesses
