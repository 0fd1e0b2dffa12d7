"""Prometheus itself scrapes a watch, and every panel of the dashboard in docs/grafana asks it something that it answers."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from pipelines.watching.exporter import Exporter, serve
from stompcap.lake import tables as lakes
from tests.pipelines.watching.test_exporter import delivery
from tests.report.sample import table

pytestmark = [pytest.mark.brokers, pytest.mark.slow]
DASHBOARD = Path(__file__).resolve().parents[2] / "docs" / "grafana" / "stompcap.json"
SCRAPED_S, RATED_S, WAITS_S = 1, 20, 60


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def journey(stream: str, at: int) -> dict[str, Any]:
    """Every third SEND has no MESSAGE yet."""
    if at % 3 == 0:
        return {"send_stream_id": stream, "send_offset": at, "joined_by": "none", "reason": "not_yet", "destination_name": "queue/a"}
    message = {"message_stream_id": stream, "message_offset": at, "joined_by": "unique", "residence_us": 500 * at, "redelivery": False}
    return message | {"destination_name": "queue/a"}


def fill(lake: str, batch: int) -> None:
    """Rows of every table that the exporter reads, more with each batch."""
    stream, many = f"{batch:032x}", range(20 * batch, 20 * batch + 20)
    rows: dict[str, list[dict[str, Any]]] = {
        "captures": [{"capture_id": f"{batch}", "last_ns": time.time_ns()}],
        "streams": [{"stream_id": stream, "gap_octets_c2s": 10, "gap_octets_s2c": 0}],
        "sessions": [{"stream_id": stream}],
        "frames": [{"stream_id": stream, "stream_offset": at, "command": "MESSAGE"} for at in many],
        "deliveries": [delivery(at, 1_000 * at if at % 2 else None, stream=stream) for at in many],
        "compliance_findings": [{"rule_id": "HB-01", "stream_id": stream, "stream_offset": at} for at in many],
        "heartbeat_violations": [{"stream_id": stream, "gap_start_ns": at} for at in many],
        "journeys": [journey(stream, at) for at in many],
    }
    for name, held in rows.items():
        lakes.append(lake, name, table(name, held), [f"{batch}"], "r")


def grow(lake: str, exporter: Exporter, stop: threading.Event) -> None:
    """Batches until it is stopped: a rate is one of the last seconds, however long the questions before it took."""
    for batch in count(1):
        fill(lake, batch)
        exporter.update()
        if stop.wait(SCRAPED_S):
            return


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Prometheus that scrapes a watch whose lake grows; skips where there is none, and fails there under CI."""
    program, folder = shutil.which("prometheus"), tmp_path_factory.mktemp("prometheus")
    if program is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("Prometheus is not installed (Debian: apt-get install prometheus)")
    lake = str(folder / "lake")
    lakes.create(lake)
    exporter, port, own = Exporter(lake), free_port(), free_port()
    exporter.update()
    serve(exporter, "127.0.0.1", port)
    (folder / "prometheus.yml").write_text(
        f"global: {{scrape_interval: {SCRAPED_S}s}}\n"
        f"scrape_configs: [{{job_name: stompcap, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}]\n",
        encoding="ascii",
    )
    command = [program, f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}"]
    with (folder / "log").open("wb") as log:
        running = subprocess.Popen([*command, f"--web.listen-address=127.0.0.1:{own}"], stdout=log, stderr=log)
    stop = threading.Event()
    try:
        with ThreadPoolExecutor(1) as pool:
            growing = pool.submit(grow, lake, exporter, stop)
            try:
                yield f"http://127.0.0.1:{own}"
            finally:
                stop.set()
            growing.result()
    finally:
        running.terminate()
        running.wait(30)


def asked(address: str, expression: str) -> list[Any]:
    """What an instant query gives once each of its values is a number, or what it still gives after a minute."""
    until = time.monotonic() + WAITS_S
    while True:
        try:
            with urllib.request.urlopen(f"{address}/api/v1/query?{urllib.parse.urlencode({'query': expression})}") as answer:
                found: list[Any] = json.load(answer)["data"]["result"]
        except OSError:  # it does not listen yet, or is not ready
            found = []
        if (found and all(row["value"][1] != "NaN" for row in found)) or time.monotonic() > until:
            return found
        time.sleep(SCRAPED_S)


def expressions() -> list[tuple[str, str]]:
    return [(panel["title"], target["expr"]) for panel in json.loads(DASHBOARD.read_text("utf-8"))["panels"] for target in panel["targets"]]


@pytest.mark.parametrize(("title", "expression"), expressions())
def test_every_panel_shows_something(title: str, expression: str, prometheus: str) -> None:
    found = asked(prometheus, expression.replace("$__rate_interval", f"{RATED_S}s"))
    assert found, title
    assert all(row["value"][1] != "NaN" for row in found), title
