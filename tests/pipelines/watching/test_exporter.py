"""`watch --metrics`: what Prometheus is told is what the tables have, whatever came and went between two rounds."""

from __future__ import annotations

import json
import re
import socket
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from pipelines.watching.exporter import MOST_DESTINATIONS, OTHER, TOTALS, Exporter, serve
from stompcap.errors import EnvironmentProblem
from stompcap.lake import tables as lakes
from stompcap.lake.paths import location
from tests.report.sample import table

NOW_S = 1_800_000_000


def delivery(number: int, latency_us: int | None, destination: str = "/queue/a", stream: str = "a") -> dict[str, Any]:
    status = "open" if latency_us is None else "settled"
    return {"stream_id": stream, "stream_offset": number, "destination": destination, "status": status, "ack_latency_us": latency_us,
            "octets_missing": None if latency_us is None else False}  # fmt: skip


def said(exporter: Exporter) -> dict[str, dict[tuple[str, ...], float]]:
    """The samples by name and values of labels, as a scrape has them."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(exporter)
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(generate_latest(registry).decode()):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return found


@pytest.fixture
def lake(tmp_path: Path) -> str:
    lakes.create(str(tmp_path / "lake"))
    return str(tmp_path / "lake")


def test_totals_follow_rows_that_come_and_go(lake: str) -> None:
    exporter = Exporter(lake, lambda: NOW_S)
    exporter.update()
    assert said(exporter).get("stompcap_ack_latency_seconds_count", {}) == {}
    lakes.append(lake, "deliveries", table("deliveries", [delivery(1, 3_000), delivery(2, 40_000), delivery(3, None)]), ["one"], "r")
    exporter.update()
    found = said(exporter)
    assert found["stompcap_ack_latency_seconds_count"] == {("/queue/a",): 2}
    assert found["stompcap_ack_latency_seconds_sum"]["/queue/a",] == pytest.approx(0.043)
    buckets = found["stompcap_ack_latency_seconds_bucket"]
    assert {bound: n for (*_, bound), n in buckets.items() if bound in ("0.0025", "0.005", "0.05", "+Inf")} == {
        "0.0025": 0, "0.005": 1, "0.05": 2, "+Inf": 2,
    }  # fmt: skip
    assert found["stompcap_unsettled_deliveries"] == {("/queue/a",): 1}
    DeltaTable(location(lake, "deliveries")).delete("stream_offset >= 2")
    lakes.append(lake, "deliveries", table("deliveries", [delivery(3, 90_000)]), ["two"], "r")
    exporter.update()
    found = said(exporter)
    assert found["stompcap_ack_latency_seconds_sum"]["/queue/a",] == pytest.approx(0.093)
    assert found["stompcap_unsettled_deliveries"] == {("/queue/a",): 0}


def test_another_exporter_that_begins_later_says_the_same(lake: str) -> None:
    first = Exporter(lake, lambda: NOW_S)
    first.update()
    rows = [{"stream_id": name, "stream_offset": 0, "command": command} for name, command in (("a", "SEND"), ("b", "SEND"), ("c", "HELLO"))]
    lakes.append(lake, "frames", table("frames", rows), ["one"], "r")
    first.update()
    second = Exporter(lake, lambda: NOW_S)
    second.update()
    assert said(first) == said(second)
    assert said(first)["stompcap_frames_total"] == {("SEND",): 2, (OTHER,): 1}


def test_labels_that_clients_choose_are_bounded_and_escaped(lake: str) -> None:
    hostile = 'x"} 1\nstompcap_frames_total 9\x1b[2J'
    names = [hostile, *(f"/queue/{number:04}" for number in range(2 * MOST_DESTINATIONS))]
    lakes.append(lake, "deliveries", table("deliveries", [delivery(at, 5, name) for at, name in enumerate(names)]), ["one"], "r")
    exporter = Exporter(lake, lambda: NOW_S)
    exporter.update()
    counts = said(exporter)["stompcap_ack_latency_seconds_count"]
    assert len(counts) == MOST_DESTINATIONS + 1
    assert sum(counts.values()) == len(names)
    assert counts[OTHER,] == len(names) - MOST_DESTINATIONS
    assert not any("\n" in label or "\x1b" in label for label, in counts)
    assert "stompcap_frames_total" not in said(exporter)


def test_it_answers_on_its_port_and_says_so_when_it_cannot(lake: str) -> None:
    lakes.append(lake, "captures", table("captures", [{"capture_id": "c", "last_ns": (NOW_S - 30) * 10**9}]), ["one"], "r")
    exporter = Exporter(lake, lambda: NOW_S)
    exporter.update()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serve(exporter, "127.0.0.1", port)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        assert b"stompcap_seconds_behind 30.0" in answer.read()
    with pytest.raises(EnvironmentProblem, match=rf"--metrics 127\.0\.0\.1:{port}: cannot listen there \(Address already in use\)"):
        serve(exporter, "127.0.0.1", port)


def test_the_page_lists_all_metrics_with_their_labels() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "watch.md").read_text("utf-8")
    listed = {row.split("`")[1]: row for row in page.splitlines() if row.startswith("| `stompcap_")}
    for one in TOTALS:
        kind = "histogram" if one.buckets else "gauge" if one.falls else "counter"
        row = listed.pop(one.name if one.buckets or one.falls else f"{one.name}_total")
        assert f"| {kind} | {', '.join(f'`{label}`' for label in one.labels)}".rstrip() in row
    assert set(listed) == {"stompcap_seconds_behind"}


def test_the_dashboard_asks_for_metrics_that_there_are() -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "grafana" / "stompcap.json"
    panels = json.loads(page.read_text("utf-8"))["panels"]
    asked = {name for panel in panels for target in panel["targets"] for name in re.findall(r"stompcap_\w+", target["expr"])}
    there = {"stompcap_seconds_behind"}
    there |= {f"{one.name}_bucket" if one.buckets else one.name if one.falls else f"{one.name}_total" for one in TOTALS}
    assert asked <= there
    assert len(asked) == len(panels)


def test_journeys_are_counted_where_the_send_is_known(lake: str) -> None:
    names = ("message_stream_id", "message_offset", "joined_by", "reason", "residence_us")
    rows = [("a", 1, "unique", None, 20_000), ("a", 2, "ordered", None, 30_000), (None, None, "none", "not_yet", None),
            (None, None, "none", "aborted", None)]  # fmt: skip
    held = [dict(zip(names, row, strict=True)) | {"destination_name": "queue/a", "send_offset": at} for at, row in enumerate(rows)]
    lakes.append(lake, "journeys", table("journeys", held), ["one"], "r")
    exporter = Exporter(lake, lambda: NOW_S)
    exporter.update()
    assert said(exporter)["stompcap_residence_seconds_count"] == {("queue/a",): 1}
    assert said(exporter)["stompcap_backlog"] == {("queue/a",): 1}
