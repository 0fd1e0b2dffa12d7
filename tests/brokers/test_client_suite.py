"""A client library's own tests against a real broker, recorded by `stompcap proxy` and judged by `stompcap check`: as a library's CI would.

stompest has its integration tests in its package; ActiveMQ is the broker that they are written for.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import stompcap
from data.recorder.brokers import PORT, ActiveMQ
from data.recorder.needs import BROKERS
from data.recorder.users import user_for
from stompcap.checking import Verdict
from stompcap.checking.formats import FORMATS, written

pytestmark = [pytest.mark.brokers, pytest.mark.slow]
STOMPCAP = str(Path(sys.executable).with_name("stompcap"))
USER = user_for("activemq-suite")
SUITE = """
import logging, os, sys, unittest
import stompest.tests as settings
settings.HOST, settings.PORT = os.environ["STOMPCAP_PROXY_HOST"], int(os.environ["STOMPCAP_PROXY_PORT"])
settings.LOGIN, settings.PASSCODE = sys.argv[1:]
from stompest.tests.sync_client_integration_test import SimpleStompIntegrationTest as Suite
logging.disable()
Suite.TIMEOUT = 0.5
result = unittest.TextTestRunner(verbosity=2).run(unittest.defaultTestLoader.loadTestsFromTestCase(Suite))
failed = {test.id().rpartition(".")[2] for test, _ in (*result.failures, *result.errors)}
on_time = {"test_3_timeout", "test_5_integration_stomp_1_1_heartbeat"}
raise SystemExit(0 if result.testsRun >= 8 and failed <= on_time else 1)
"""
"""Runs all tests but those of TLS. Two of them hold a broker to tenths of a second, and may fail on a machine that is busy."""

KNOWN = {
    "SB-04 MUST client SUBSCRIBE": "the tests of 1.0 subscribe with ack:client-individual, which came with 1.1",
    "HB-01 MUST client -": "the test of heart-beats falls silent, to see the broker close",
}
"""What the suite does against the specification, on purpose."""


class OwnActiveMQ(ActiveMQ):
    """On an address that no recording uses."""

    address = "127.0.0.41"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnActiveMQ]:
    """A broker that knows the user; skips where this machine has none, and fails there under CI."""
    missing = [path for path in BROKERS["activemq"] if path.startswith("/") and not os.path.exists(path)]
    if missing and not os.environ.get("CI"):
        pytest.skip(f"needs {missing[0]}")
    folder = tmp_path_factory.mktemp("activemq")
    with OwnActiveMQ(folder / "home", folder / "cache").running([USER]) as one:
        assert isinstance(one, OwnActiveMQ)
        yield one


@pytest.fixture(scope="module")
def recorded(broker: OwnActiveMQ, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the suite said, through the proxy."""
    path = tmp_path_factory.mktemp("suite") / "suite.pcap"
    suite = [sys.executable, "-W", "ignore", "-c", SUITE, USER.login, USER.passcode]
    proxy = [STOMPCAP, "proxy", "--listen", "127.0.0.1:0", "--to", f"{broker.address}:{PORT}", "-w", str(path), "--", *suite]
    done = subprocess.run(proxy, capture_output=True, text=True, timeout=80, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return path


@pytest.fixture(scope="module")
def verdict(recorded: Path) -> Verdict:
    return stompcap.check(recorded, side="client", level="INFO")


def test_the_suite_breaks_nothing_but_what_it_means_to(recorded: Path, tmp_path: Path) -> None:
    known = tmp_path / "known.json"
    known.write_text(json.dumps({"rules": [{"findings": [{"fingerprint": one} for one in KNOWN]}]}))
    command = [STOMPCAP, "check", str(recorded), "--side", "client", "--baseline", str(known)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "passed: no new finding at MUST" in done.stdout


def test_the_verdict_says_what_the_suite_tried(verdict: Verdict) -> None:
    passed, untried = ({one.rule.id for one in verdict.of(status)} for status in ("passed", "not judged"))
    assert {"CN-02", "SN-01", "SB-01", "TX-04", "AK-03", "FR-19"} <= passed
    assert {"TR-04", "FR-09"} <= untried, "it has no WebSocket, and no NUL in a body"
    assert verdict.judged > 50
    assert {peer.client for peer in verdict.peers} <= {"stompest", None}


def test_a_secret_of_the_suite_is_in_no_verdict(recorded: Path, verdict: Verdict) -> None:
    assert USER.passcode.encode() in recorded.read_bytes()
    assert verdict.new
    assert [form for form in FORMATS if USER.passcode in written(verdict, form)] == []
