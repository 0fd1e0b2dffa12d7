"""The forms of a matrix: what each shows, and that names and bytes of peers do nothing there."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.cells import cell_len

from stompcap.errors import UsageError
from stompcap.matrix import Matrix, badge, matrix, subjects_of
from stompcap.matrix.counts import Broken, Counts, Judged
from stompcap.matrix.formats import FORMATS, written
from stompcap.matrix.model import MOST
from stompcap.rules.catalogue import RULES

HOSTILE = (
    "<script>alert(1)</script>", "</style><img src=x onerror=alert(1)>", "a|b`c`*d*_e_[f](javascript:g)", "\x1b[2J\x1b]0;x\x07",
    "\u202egnp", "漢字" * 40, "'\"&<>", "{0}{product}%s", "![x](http://evil/)", "www.evil.example", "a@evil.example", "---\n# head",
)  # fmt: skip
MARKDOWN = MarkdownIt("commonmark").enable("table")  # with HTML, as on a forge
FIRST = {"stream_id": "5b1f", "direction": "c2s", "stream_offset": 7, "ts_ns": 1, "capture": "/tmp/a.pcap", "packet": 12}


def made(*names: str, shared: bool = True) -> Matrix:
    """A matrix of clients of these names, each of which has kept a rule, broken one, and one as INFO, its name in all that peers choose."""
    found = Counts(unnamed=3)
    for name in names:
        key = (name, None)
        found.versions[key] = {"1.2": 2}
        found.judged["CN-01", key] = Judged(1234, 2)
        found.judged["SN-01", key], found.judged["CN-20", key] = Judged(22, 2), Judged(2, 2, shared)
        first = {**FIRST, "evidence": name, "raw": b"SEND\n" + name.encode("utf-8", "surrogateescape") + b"\xff\0"}
        found.broken["SN-01", "M", key] = Broken(2, 1, first)
        found.broken["CN-20", "I", key] = Broken(2, 2, {**first, "raw": None, "packet": None, "capture": None})
    return matrix(found, subjects_of("client_product,client_version"))


class Tags(HTMLParser):
    """Names of elements, and of their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text += data


def test_a_cell_is_not_judged_kept_or_broken_with_its_proof():
    page = written(made("acme"), "md")
    assert "| CN-01 | MUST | CONNECT has accept-version | kept, 1,234 |" in page
    assert "| SN-01 | MUST | SEND has destination | **2** of 22 |" in page
    assert "| 2 INFO of ≤2 |" in page
    assert "TX-01" in page.partition("Not judged")[2]
    assert r"`a.pcap, packet 12`: `acme`; `SEND\nacme\xff\0`" in page
    text = written(made("acme"), "text", 110)
    assert re.search(r"^CN-01   MUST    CONNECT has accept-version +ok 1234$", text, re.MULTILINE)
    assert re.search(r"^SN-01   MUST    SEND has destination +2/22$", text, re.MULTILINE)
    assert r"    SEND\nacme\xff\0" in text
    assert "3 sessions left out" in text


@pytest.mark.parametrize("width", [80, 110])
@pytest.mark.parametrize("count", [1, 2, 5, 12])
def test_text_fits_the_terminal_and_has_every_product(width, count):
    names = [f"product number {number:02}" for number in range(count)]
    text = written(made(*names), "text", width)
    assert max(map(cell_len, text.splitlines())) <= width
    for number in range(count):
        assert f"number {number:02}" in text.partition("SN-01  ")[0] or f"number {number:02}" in text


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", HOSTILE)
def test_names_of_peers_do_nothing(form, name):
    text = written(made(name, "acme"), form, 80)
    plain = written(made("x", "acme"), form, 80)
    if form == "json":
        assert json.loads(text)["products"][0]["client_product"] in (name, "acme")
        assert text.isascii()
        return
    assert all(one.isprintable() for one in text.replace("\n", ""))
    if form == "html":
        assert (Tags(text).seen, Tags(text).attributes) == (Tags(plain).seen, Tags(plain).attributes)
        assert "script" not in Tags(text).seen
    elif form == "md":
        wanted, got = (Tags(MARKDOWN.render(one)) for one in (plain, text))
        assert (got.seen, got.attributes) == (wanted.seen, wanted.attributes)
    else:
        assert max(map(cell_len, text.splitlines())) <= 80


@given(st.text(min_size=1, max_size=80), st.sampled_from([80, 110]))
def test_any_name_fits(name, width):
    text = written(made(name, "acme"), "text", width)
    assert max(map(cell_len, text.splitlines())) <= width
    assert Tags(written(made(name, "acme"), "html")).seen == Tags(written(made("x", "acme"), "html")).seen


def test_a_page_loads_nothing_and_its_policy_names_its_style():
    page = written(made("acme"), "html")
    style = re.search("<style>(.*?)</style>", page, re.DOTALL)[1]
    assert f"style-src 'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'" in page
    assert "default-src 'none'" in page
    assert not re.search(r"https?:|url\(|@import|\son\w+=|style=", page)
    assert "0000  53 45 4e 44 0a" in page, "the bytes of a proof"


@pytest.mark.parametrize("name", HOSTILE)
def test_a_badge_is_well_formed_whatever_the_product_is_called(name):
    drawn = ET.fromstring(badge.written(made(name, shared=False), "b.svg"))
    assert [one.text for one in drawn.iter("{http://www.w3.org/2000/svg}text")] == ["STOMP 1.2 MUST", "1/2"]
    assert {one.tag.partition("}")[2] for one in drawn.iter()} == {"svg", "title", "rect", "g", "text"}
    assert json.loads(badge.written(made(name, shared=False), "b.json")) == {
        "schemaVersion": 1, "label": "STOMP 1.2 MUST", "message": "1/2", "color": "red",
    }  # fmt: skip


def test_a_lake_has_no_badge():
    with pytest.raises(UsageError, match="made of captures"):
        badge.written(made("acme"), "b.svg")


def test_what_was_never_tried_is_no_green_badge():
    found = Counts({("acme", None): {"1.2": 1}})
    told = json.loads(badge.written(matrix(found, subjects_of("client_product,client_version")), "b.json"))
    assert (told["message"], told["color"]) == ("not judged", "lightgrey")


def test_of_many_products_those_with_the_most_sessions_have_columns():
    found = Counts()
    for number in range(MOST + 8):
        found.versions[f"p{number}", None] = {None: number + 1}
    drawn = matrix(found, subjects_of("client_product,client_version"))
    assert [column.name for column in drawn.columns] == [f"p{number}" for number in range(8, MOST + 8)]
    assert drawn.left_out == 8
    assert {rule.id for rule in drawn.untried} == {rule.id for rule in RULES if rule.side != "server"}
