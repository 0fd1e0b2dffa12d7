"""The page in a real browser: it renders, logs no error and asks the network for nothing."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from stompcap.lake.query import in_process
from stompcap.report import build
from stompcap.report.checks import checks
from stompcap.report.whole import WHOLE
from tests.report.sample import HOSTILE, ask, lake
from tests.report.test_checks import ROWS
from tests.shared import program

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--enable-logging=stderr",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


BROWSER_ITSELF = "not an origin"


@pytest.fixture
def browser() -> str:
    return program(*BROWSERS)


def look(browser: str, page: str, folder: Path, width: int = 1400) -> tuple[bytes, list[str], set[str]]:
    """A picture of the page, its console's lines, and the addresses it asked the network for.

    Chromium phones home by itself; such requests have no initiator, those of the page have one.
    """
    (folder / "page.html").write_text(page, "utf-8")
    command = [
        browser,
        *FLAGS,
        f"--window-size={width},3000",
        f"--user-data-dir={folder / 'profile'}",
        f"--log-net-log={folder / 'net.json'}",
        f"--screenshot={folder / 'page.png'}",
        (folder / "page.html").as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    events = [event.get("params", {}) for event in json.loads((folder / "net.json").read_text("utf-8"))["events"]]
    asked = {
        event["url"] for event in events if "url" in event and event.get("initiator", BROWSER_ITSELF) != BROWSER_ITSELF
    }
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return (folder / "page.png").read_bytes(), console, asked


@pytest.mark.slow
@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("name", ["report", "Data Docs"])
def test_renders_without_errors_or_requests(browser: str, tmp_path: Path, name: str, width: int) -> None:
    tables = lake()
    whole = in_process(tables, [one.query for one in WHOLE.values()])
    page = build(ask(tables) | whole, f"/lake/{HOSTILE}", "made now") if name == "report" else checks(f"/lake/{HOSTILE}", ROWS)
    picture, console, asked = look(browser, page, tmp_path, width)
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > (100_000 if name == "report" else 30_000), "an empty page is a small picture"
    assert console == []
    assert asked == set()


@pytest.mark.slow
def test_a_page_that_misbehaves_is_noticed(browser: str, tmp_path: Path) -> None:
    page = '<img src="http://127.0.0.1:9/x.png"><script>throw new Error("x")</script>'
    _, console, asked = look(browser, page, tmp_path)
    assert len(console) == 1
    assert asked == {"http://127.0.0.1:9/x.png"}
