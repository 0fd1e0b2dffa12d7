"""docs/matrix.md is what the recordings say."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stompcap.cli.main import app
from tests.e2e.matrix_page import page

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


@pytest.mark.slow
def test_the_page_is_current_and_names_products_with_what_they_broke():
    told = page()
    assert (DOCS / "matrix.md").read_text(encoding="utf-8") == told, "make docs"
    brokers, _, clients = told.partition("\n## Clients")
    assert "| ActiveMQ | Artemis | RabbitMQ |" in brokers
    assert "| go-stomp 3.1.3 | stomp.py 9.0.0 | stompest 2.3.0 | stompjs 7.1.1 | vertx-stomp 4.5.14 |" in clients
    assert "sends host | kept, 18 | **3** of 21 | kept, 18 | **18** of 18 | kept, 18 |" in clients
    assert "- **CN-02**, stompjs 7.1.1: broken (18 MUST, in 18 of 18 sessions; of 18 occasions)" in clients
    assert "passcode:*" in clients


def test_the_badge_that_it_shows_is_what_its_command_draws(tmp_path, monkeypatch):
    told = (DOCS / "matrix.md").read_text(encoding="utf-8")
    (command,) = [line.removeprefix("$ stompcap ") for line in told.splitlines() if line.endswith(".svg")]
    *words, name = shlex.split(command)
    assert f"]({name})" in told
    monkeypatch.chdir(ROOT)
    assert CliRunner().invoke(app, [*words, str(tmp_path / name)]).exit_code == 0
    assert (tmp_path / name).read_text() == (DOCS / name).read_text(), "make docs"
