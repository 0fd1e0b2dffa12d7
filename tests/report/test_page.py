"""The page: complete, well-formed, harmless whatever the tables hold, and honest where they hold nothing."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import pyarrow as pa
import pytest

from stompcap.report import build
from stompcap.report.queries import QUERIES
from stompcap.visible import visible
from tests.report.sample import HOSTILE, ask, lake

VOID = {"meta", "link", "br"}
SHAPES = {"line", "rect", "circle", "path", "polyline"}


class Outline(HTMLParser):
    """Tags with their attributes, the text, and a check that every element is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def outline(page: str) -> Outline:
    parsed = Outline()
    parsed.feed(page)
    parsed.close()
    assert parsed.open == []
    return parsed


@pytest.fixture(scope="module")
def answers() -> dict[str, pa.Table]:
    return ask(lake())


@pytest.fixture(scope="module")
def page(answers: dict[str, pa.Table]) -> str:
    return build(answers, f"/lake/{HOSTILE}", "made now")


def test_loads_nothing_and_runs_nothing(page: str) -> None:
    found = outline(page)
    names = {tag for tag, _ in found.tags}
    assert names.isdisjoint(
        {"script", "img", "iframe", "object", "embed", "form", "base", "video", "audio", "image", "use"}
    )
    for tag, attributes in found.tags:
        assert not any(name.startswith("on") for name in attributes), tag
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith(("#", "data:,"))
    assert "url(" not in page
    assert "@import" not in page
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in page


def test_hostile_text_is_shown_as_text(page: str) -> None:
    assert "<script" not in page
    assert html.escape(visible(HOSTILE), quote=False).replace('"', "&#34;").replace("'", "&#39;") in page
    assert visible(HOSTILE) in "".join(outline(page).words)
    assert all(c.isprintable() or c == "\n" for c in page)


def test_the_style_of_meters_takes_numbers_only(page: str) -> None:
    for tag, attributes in outline(page).tags:
        if "style" in attributes:
            assert re.fullmatch(r"(width:[\d.]+%|max-width:\d+px)", attributes["style"] or ""), tag


def test_drawings_have_titles_and_descriptions(page: str) -> None:
    drawings = [attributes for tag, attributes in outline(page).tags if tag == "svg"]
    assert [attributes["class"] for attributes in drawings] == ["wide", "narrow"] * 5
    for attributes in drawings:
        assert attributes["role"] == "img"
        for label in (attributes["aria-labelledby"] or "").split():
            assert page.count(f'id="{label}"') == 1


def test_shapes_lie_on_their_drawings(page: str) -> None:
    for drawing in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        width, height = map(int, re.findall(r'viewBox="0 0 (\d+) (\d+)"', drawing)[0])
        for x, y in re.findall(r' c?x="([\d.-]+)" c?y="([\d.-]+)"', drawing):
            assert 0 <= float(x) <= width
            assert 0 <= float(y) <= height


def test_words_lie_on_their_drawings_and_are_readable_on_a_telephone(page: str) -> None:
    """A page of 360 has 314 for a drawing; text is 12 high in a drawing's own units."""
    for drawing in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        width = int(re.findall(r'viewBox="0 0 (\d+) ', drawing)[0])
        assert 'class="wide"' in drawing or 12 * 314 / width > 10
        for x, anchor, words in re.findall(r'<text x="([\d.-]+)".*?text-anchor="(\w+)">(.*?)</text>', drawing):
            long = 6.6 * len(html.unescape(words))
            begin = float(x) - {"start": 0, "middle": long / 2, "end": long}[anchor]
            assert begin > -12, words
            assert begin + long < width + 12, words
    assert re.search(r"@media \(max-width: 820px\) \{.*svg\.wide \{ display: none; \}.*svg\.narrow \{ display: block; \}", page, re.DOTALL)


SHOWN = (
    "Ack latency",
    "Heart-beats",
    "AK-04",
    "FR-27",
    "MUST",
    "dead above 3×",
    "record cut short at octet 1,234,500",
    "1 session direction fell silent for more than three heart-beat intervals.",
    "expect_table_row_count_to_be_between",
)


def test_every_section_is_filled(page: str) -> None:
    text = " ".join("".join(outline(page).words).split())
    assert [words for words in SHOWN if words not in text] == []
    assert "has not run" not in text


@pytest.mark.parametrize("tables", [{}, None], ids=["no tables", "empty tables"])
def test_an_empty_lake_says_so(tables: dict[str, pa.Table] | None) -> None:
    found = {} if tables == {} else ask({name: rows.slice(0, 0) for name, rows in lake().items()})
    text = "".join(outline(build(found)).words)
    assert "The lake has no captures yet" in text
    for stage in ("correlate", "metrics", "validate"):
        assert f'the stage "{stage}" has not run' in text
    assert "<svg" not in build(found)


@pytest.mark.parametrize("name", QUERIES)
def test_any_answer_may_be_missing(answers: dict[str, pa.Table], name: str) -> None:
    outline(build({other: rows for other, rows in answers.items() if other != name}))
    outline(build({name: answers[name]}))


# What an empty table, an outer join or an unknown value leaves null.
PERCENTILES = "p50_us p95_us p99_us max_us cumulative_p50_us cumulative_p95_us"
NULLS = {
    "captures_total": "packets tcp_segments size_octets first_ns last_ns",
    "captures": "format damage packets size_octets first_ns last_ns",
    "sessions_total": "frames_c2s frames_s2c",
    "brokers": "server_product version connect_p50_us",
    "ack_total": PERCENTILES,
    "ack_destinations": f"destination ack_mode {PERCENTILES}",
    "receipts": "command p50_us p95_us",
    "heartbeats": "max_gap_ms ratio server_product client_product",
    "heartbeat_gaps": "ratio excused",
    "rules": "level side clause title explanation",
    "rule_products": "server_product",
    "findings": "evidence",
    "sessions": "client_ip client_port server_ip server_port closed_ns version server_product server_version "
    "client_product error_message ended_by ratio",
    "quality": "column_name observed",
}


@pytest.mark.parametrize("name", NULLS)
def test_nulls_are_shown(answers: dict[str, pa.Table], name: str) -> None:
    rows = answers[name]
    absent = [column for column in NULLS[name].split() if column in rows.column_names]
    nulled = rows
    for column in absent:
        place = rows.column_names.index(column)
        nulled = nulled.set_column(place, column, pa.nulls(rows.num_rows, rows.schema.types[place]))
    page = build(answers | {name: nulled})
    assert "None" not in "".join(outline(page).words)


def test_a_flood_of_names_stays_a_page() -> None:
    rows = lake(sessions=200)
    assert len(build(ask(rows))) < 400_000
