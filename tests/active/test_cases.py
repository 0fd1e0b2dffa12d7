"""The scripted broker and client against each other, and against peers that do what they must not."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from stompcap.active import addresses, broker
from stompcap.active import echo as echoing
from stompcap.active.driving import Driver
from stompcap.active.driving_cases import CASES as DRIVEN
from stompcap.active.echo import Echo
from stompcap.active.engine import FAILED, PASSED, Result
from stompcap.active.recording import Recording
from stompcap.active.serving import Serving
from stompcap.active.serving_cases import CASES as SERVED
from stompcap.active.steps import Case
from stompcap.active.wire import Wire
from stompcap.rules import RULES
from tests.active import wrong
from tests.examples import slow_behind

PATIENCE_S = 1.0


def test_cases_name_rules_of_the_catalogue() -> None:
    known = {rule.id for rule in RULES}
    for cases in (DRIVEN, SERVED):
        assert len({case.name for case in cases}) == len(cases)
        for case in cases:
            assert case.rules
            assert set(case.rules) <= known, case.name
            assert case.level in ("MUST", "SHOULD", "INFO")
            assert re.match(r"1\.[12] [A-Z]", case.clause), case.name


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stompcap.active.serving.LINGER_S", 0.3)


@contextmanager
def a_broker(recording: Recording | None = None, session: type[broker.Session] = broker.Session) -> Iterator[addresses.Address]:
    """A plain broker, whose sessions are of that class."""
    over = threading.Event()
    with addresses.listen("--listen", ("127.0.0.1", 0)) as listening, pytest.MonkeyPatch.context() as patch:
        patch.setattr("stompcap.active.serving.Session", session)
        serving = Serving(listening, PATIENCE_S, over, recording, "right")
        thread = threading.Thread(target=serving.plain)
        thread.start()
        try:
            yield serving.address
        finally:
            over.set()
            thread.join()


def driven(address: addresses.Address, cases: tuple[Case, ...] | list[Case], patience_s: float = PATIENCE_S) -> dict[str, Result]:
    places = addresses.resolve("HOST:PORT", address)
    driver = Driver(address, places, {"login": "somebody", "passcode": "right"}, patience_s=patience_s)
    return {result.case.name: result for result in driver.run(cases, at_once=24)}


def served(cases: tuple[Case, ...] | list[Case], client: type[Echo] = Echo, patience_s: float = PATIENCE_S) -> dict[str, Result]:
    """The cases, each at once with the others, with a client of that class."""
    found: dict[str, Result] = {}

    def play(case: Case) -> None:
        with addresses.listen("--listen", ("127.0.0.1", 0)) as listening:
            serving = Serving(listening, patience_s, threading.Event())
            peer = threading.Thread(target=connect, args=(serving.address,))
            peer.start()
            found.update({result.case.name: result for result in serving.run([case])})
            peer.join()

    def connect(address: addresses.Address) -> None:
        with suppress(OSError):
            client(Wire(socket.create_connection(address), client=True), 6).run()

    threads = [threading.Thread(target=play, args=(case,)) for case in cases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_a_right_broker_passes_every_case() -> None:
    with a_broker() as address:
        found = driven(address, DRIVEN)
    assert {name: result.reason for name, result in found.items() if result.outcome != PASSED} == {}
    assert list(found) == [case.name for case in DRIVEN]
    assert b"right" not in b"".join(octets for result in found.values() for _, octets in result.proof)


def test_a_right_client_passes_every_case() -> None:
    found = served(SERVED)
    assert {name: result.reason for name, result in found.items() if result.outcome != PASSED} == {}
    assert len(found) == len(SERVED)


@pytest.mark.parametrize("session", slow_behind(2, wrong.BROKERS), ids=lambda one: one.__name__)
def test_a_wrong_broker_fails(session: type[broker.Session]) -> None:
    names = wrong.BROKERS[session]
    with a_broker(session=session) as address:
        found = driven(address, [case for case in DRIVEN if case.name in names], 0.25)
    assert {name: result.outcome for name, result in found.items()} == dict.fromkeys(names, FAILED)
    assert all(result.reason and result.proof for result in found.values())


@pytest.mark.parametrize("client", slow_behind(2, wrong.CLIENTS), ids=lambda one: one.__name__)
def test_a_wrong_client_fails(client: type[Echo]) -> None:
    names = wrong.CLIENTS[client]
    found = served([case for case in SERVED if case.name in names], client, 0.25)
    assert {name: (result.outcome, result.reason) for name, result in found.items() if result.outcome != FAILED} == {}
    assert len(found) == len(names)


def test_every_case_can_fail() -> None:
    assert {case.name for case in DRIVEN} == {name for names in wrong.BROKERS.values() for name in names}
    assert {case.name for case in SERVED} == {name for names in wrong.CLIENTS.values() for name in names}
    assert echoing.END == b"end"
