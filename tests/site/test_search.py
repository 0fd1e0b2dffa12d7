"""The web site has a search of its own: each page and its headings are in the index, and nothing of it is fetched from elsewhere."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.report.test_browser import BROWSERS, FLAGS
from tests.shared import missing, program
from tests.site.notebook import ROOT

pytestmark = pytest.mark.slow

MKDOCS = ROOT / ".venv-site" / "bin" / "mkdocs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not MKDOCS.exists():
        missing(".venv-site: make site")
    made = tmp_path_factory.mktemp("site") / "built"
    command = [MKDOCS, "build", "--strict", "--quiet", "--site-dir", made]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture(scope="module")
def index(site: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((site / "search" / "search_index.json").read_text("utf-8"))["docs"]
    return found


def test_every_page_is_in_the_index(site: Path, index: list[dict[str, Any]]) -> None:
    pages = {path.name for path in site.glob("*.html")} - {"404.html"}
    assert len(pages) > 15
    assert {entry["location"].partition("#")[0] for entry in index} == pages
    assert all(entry["title"].strip() for entry in index)


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("FR-07", "rules.html"), ("ack_latency", "tables.html"), ("stompcap forget", "commands.html"),
        ("How much traffic was there per minute", "sql.html"), ("tcpdump", "capturing.html"), ("mirror", "capturing.html"),
    ],
)  # fmt: skip
def test_what_is_looked_for_is_found(index: list[dict[str, Any]], words: str, place: str) -> None:
    found = {entry["location"].partition("#")[0] for entry in index if words in entry["title"] + re.sub("<[^>]+>", "", entry["text"])}
    assert place in found


def test_a_page_that_is_opened_from_the_disk_is_searched(site: Path, tmp_path: Path) -> None:
    address = f"{(site / 'index.html').as_uri()}?q=ack_latency"
    command = [program(*BROWSERS), *FLAGS, f"--user-data-dir={tmp_path}", "--virtual-time-budget=20000", "--dump-dom", address]
    page = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    found = re.search(r'class="md-search-result__meta">([1-9]\d*) matching documents', page)
    assert found, "nothing was found"
    assert "tables.html" in page[found.end() :]


def test_pages_have_the_field_and_fetch_nothing_from_elsewhere(site: Path) -> None:
    for path in site.glob("*.html"):
        page = path.read_text("utf-8")
        assert 'data-md-component="search-query"' in page, path.name
        fetched = re.findall(r'<(?:script|img|iframe)\b[^>]*?src="([^"]+)"|<link\b[^>]*?rel="stylesheet"[^>]*?href="([^"]+)"', page)
        assert not [address for pair in fetched for address in pair if re.match(r"(https?:)?//", address)], path.name
