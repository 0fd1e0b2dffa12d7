"""The page: complete, well-formed, harmless whatever the tables hold, and honest where they hold nothing."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import pyarrow as pa
import pytest

from stompcap import zones
from stompcap.lake.query import in_process
from stompcap.report import against, build, changes, grouping, markdown, telling
from stompcap.report.page import build_parts, records
from stompcap.report.queries import QUERIES
from stompcap.visible import visible
from tests.examples import slow_behind
from tests.report.drawings import drawings, shapes, words
from tests.report.sample import HOSTILE, ask, lake, table

VOID = {"meta", "link", "br"}
SHAPES = {"line", "path"}
LETTERS = str.maketrans("0123456789abcdef", "ghijklmnopqrstuv")


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
    assert [attributes["class"] for attributes in drawings] == ["wide", "narrow"] * 10
    for attributes in drawings:
        assert attributes["role"] == "img"
        for label in (attributes["aria-labelledby"] or "").split():
            assert page.count(f'id="{label}"') == 1


def test_shapes_lie_on_their_drawings(page: str) -> None:
    for drawing in drawings(page):
        width, height = map(int, re.findall(r'viewBox="0 0 (\d+) (\d+)"', drawing)[0])
        found = [corner for one in shapes(drawing) if one.tag in SHAPES for corner in one.corners]
        assert len(found) > 10
        for x, y in found:
            assert -1 <= x <= width + 1
            assert -1 <= y <= height + 1


def test_words_lie_on_their_drawings_and_are_readable_on_a_telephone(page: str) -> None:
    """A page of 360 has 314 for a drawing; text is 12 high in a drawing's own units."""
    for drawing in drawings(page):
        width, height = map(int, re.findall(r'viewBox="0 0 (\d+) (\d+)"', drawing)[0])
        assert 'class="wide"' in drawing or 12 * 314 / width > 10
        assert "font-size" not in drawing
        found = words(drawing)
        assert len(found) > 3
        for one in found:
            begin, end = one.span
            assert begin > -12, one.text
            assert end < width + 12, one.text
            assert 0 < one.y < height, one.text
    assert re.search(r"@media \(max-width: 820px\) \{.*svg\.wide \{ display: none; \}.*svg\.narrow \{ display: block; \}", page, re.DOTALL)


SHOWN = (
    "Ack latency",
    "Heart-beats",
    "AK-04",
    "FR-27",
    "MUST",
    "By broker",
    "By client library",
    "dead above 3×",
    "record cut short at octet 1,234,500",
    "1 critical incident, 1 warning",
    "since 16:05:00",
    "login at RabbitMQ ·",
    "Likely; another explanation: ",
    "What came later is not in this lake.",
    "packets 7006 to 13546 of",
    "Destinations over time",
    "№ 1",
    "expect_table_row_count_to_be_between",
    "Worst consumers",
    "Distribution by consumer",
    "of 10 in flight",
    "Addresses that opened 10 or more connections",
    "server closed",
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


@pytest.mark.parametrize("name", slow_behind(15, list(QUERIES)))
def test_any_answer_may_be_missing(answers: dict[str, pa.Table], name: str) -> None:
    outline(build({other: rows for other, rows in answers.items() if other != name}))
    outline(build({name: answers[name]}))


# What an empty table, an outer join or an unknown value leaves null.
PERCENTILES = "p50_us p95_us p99_us max_us cumulative_p50_us cumulative_p95_us"
NULLS = {
    "incidents": "destination_name server_product end_ns would_change numbers streams frames packets",
    "minutes": "residence_us ack_us",
    "who": "slowest_us first_ns last_ns",
    "captures_total": "packets tcp_segments size_octets first_ns last_ns",
    "captures": "format damage packets size_octets first_ns last_ns",
    "sessions_total": "frames_c2s frames_s2c",
    "brokers": "server_product version connect_p50_us",
    "ack_total": PERCENTILES,
    "ack_destinations": f"destination ack_mode {PERCENTILES}",
    "residence_total": "p50_us p95_us p99_us max_us",
    "residence_destinations": "destination_name p50_us p95_us p99_us max_us",
    "receipts": "command p50_us p95_us",
    "heartbeats": "max_gap_ms ratio server_product client_product",
    "heartbeat_gaps": "ratio excused",
    "consumers": "subscription destination ack_mode p50_us p95_us max_us prefetch max_in_flight client_ip client_port client_product login",
    "slow_consumers": "subscription destination ack_mode p50_us p95_us max_us prefetch max_in_flight client_ip client_port",
    "silences": "server_product ended_by closed_by excused cut_off_after_intervals gap_start_ns gap_end_ns gap_ms",
    "errors": "server_product",
    "reconnects": "client_ip server_ip server_port lifetime_ns login",
    "evidence": "judged not_evaluable",
    "rules": "level side clause title explanation",
    "broken": "title who sessions judged not_evaluable",
    "product_findings": "product",
    "product_judged": "product",
    "findings": "evidence",
    "sessions": "client_ip client_port server_ip server_port closed_ns version server_product server_version "
    "client_product error_message ended_by ratio",
    "quality": "column_name observed",
}


@pytest.mark.parametrize("name", slow_behind(10, list(NULLS)))
def test_nulls_are_shown(answers: dict[str, pa.Table], name: str) -> None:
    rows = answers[name]
    absent = [column for column in NULLS[name].split() if column in rows.column_names]
    nulled = rows
    for column in absent:
        place = rows.column_names.index(column)
        nulled = nulled.set_column(place, column, pa.nulls(rows.num_rows, rows.schema.types[place]))
    page = build(answers | {name: nulled})
    assert "None" not in "".join(outline(page).words)


def test_links_lead_somewhere(page: str) -> None:
    found = outline(page)
    targets = {attributes.get("id") for _, attributes in found.tags}
    links = [attributes["href"] or "" for tag, attributes in found.tags if tag == "a"]
    assert {"#rule-AK-04", "#sessions"} <= set(links)
    assert [link for link in links if link[1:] not in targets] == []


def test_a_finding_leads_to_its_packet(answers: dict[str, pa.Table]) -> None:
    first = answers["findings"].slice(0, 1).to_pylist()[0]
    place = {name: first[name] for name in ("stream_id", "direction", "stream_offset")}
    found = [place | {"kind": "frame", "command": "SEND", "path": HOSTILE, "packet": 1234}]
    page = build(answers | {"packets": pa.Table.from_pylist(found)}, "a lake; rm -rf ~")
    text = " ".join("".join(outline(page).words).split())
    assert f"SEND packet 1234 of {visible(HOSTILE)}" in text
    assert f"stompcap export {first['stream_id'][:12]} --lake 'a lake; rm -rf ~' -o" in text


def test_errors_that_differ_in_numbers_are_one_text() -> None:
    base = {"outcome": "refused", "server_product": "RabbitMQ"}
    texts = ["no queue 7", "no queue 81", "no topic 7"]
    rows = [base | {"stream_id": str(n), "error_message": text} for n, text in enumerate(texts)]
    found = grouping.errors(records(ask({"sessions": table("sessions", rows)})["errors"]))
    assert [(row["example"], row["sessions"]) for row in found] == [("no queue 7", 2), ("no topic 7", 1)]


def test_what_has_no_room_is_counted(answers: dict[str, pa.Table]) -> None:
    many = pa.table({"level": ["critical", "note"], "number": [200, 61]})
    places = answers["destinations"]
    others = places.set_column(places.column_names.index("total"), "total", pa.array([1002] * len(places)))
    text = " ".join("".join(outline(build(answers | {"incident_levels": many, "destinations": others})).words).split())
    assert f"{261 - len(answers['incidents'])} more incidents are not listed" in text
    assert f"{1002 - len(places):,} more are not shown" in text


def test_all_incidents_are_on_the_page_however_many(answers: dict[str, pa.Table]) -> None:
    [row] = answers["incidents"].slice(0, 1).to_pylist()
    said = ["incident " + f"{number:x}".translate(LETTERS) for number in range(1234)]  # other numbers would say the same
    rows = [row | {"incident_id": f"{number:020x}", "sentence": f"{row['subject']} has {one}"} for number, one in enumerate(said)]
    text = " ".join("".join(outline(build(answers | {"incidents": pa.Table.from_pylist(rows, answers["incidents"].schema)})).words).split())
    assert "1,034 more are at the end of this page" in text
    assert [one for one in said if f"has {one}login " not in text] == []
    assert text.index("The other incidents") < text.index(f"has {said[200]}login ")


def test_of_many_incidents_that_say_the_same_the_first_are_open(answers: dict[str, pa.Table]) -> None:
    [row] = answers["incidents"].slice(0, 1).to_pylist()
    rows = [row | {"incident_id": f"{number:020x}", "sentence": f"{row['subject']} has incident {number}"} for number in range(400)]
    page = build(answers | {"incidents": pa.Table.from_pylist(rows, answers["incidents"].schema)})
    first, _, others = page.partition("<details><summary>and 397 that say the same")
    assert [f'value="{number}"' in first for number in range(1, 5)] == [True, True, True, False]
    assert all(f'value="{number}"' in others for number in range(4, 401))


def test_the_subject_of_an_incident_stands_out(answers: dict[str, pa.Table]) -> None:
    row = answers["incidents"].slice(0, 1).to_pylist()[0] | {"subject": "billing", "sentence": "billing <b> takes"}
    assert telling.sentence(row) == "<strong>billing</strong> &lt;b&gt; takes"
    assert telling.sentence(row | {"subject": "x"}) == "billing &lt;b&gt; takes"


def test_the_header_names_the_time_zone(answers: dict[str, pa.Table]) -> None:
    with zones.showing(zones.find("Asia/Kolkata")):
        assert "times in Asia/Kolkata" in build(answers, "lake")


def test_a_comparison_stands_behind_the_incidents(answers: dict[str, pa.Table]) -> None:
    tables = lake()
    asked = [QUERIES[name] for name in against.ASKED] + list(against.queries(None))
    now = {name: records(rows) for name, rows in in_process(tables, asked).items()}
    acks = {"destination_name": HOSTILE, "samples": 300, "p50": 9.0, "p50_low": 8, "p50_high": 10}
    acks |= {"p95": 20.0, "p95_low": 15, "p95_high": None}
    now["ack_samples"] = [acks]
    before = now | {"incidents": [], "ack_samples": [acks | {"p50_low": 1, "p50_high": 2, "p50": 1.5}]}
    found = changes.of(before, now, f"lake {HOSTILE}")
    assert found.sure
    page = build_parts({None: answers}, "lake", changed={None: found})
    parsed = outline(page)
    text = " ".join("".join(parsed.words).split())
    assert "What changed" in text
    assert "New incidents: 3" in text
    assert "worse" in text
    assert visible(HOSTILE) in text
    ids = [attributes["id"] for _, attributes in parsed.tags if "id" in attributes]
    assert ids.index("summary") < ids.index("changes") < ids.index("who")
    lines = markdown.build({None: answers}, "Night", changed={None: found}).splitlines()
    assert any(line.startswith("## What changed against lake") for line in lines)
    assert all(line.isprintable() for line in lines)


def test_a_flood_of_names_stays_a_page() -> None:
    rows = lake(sessions=200)
    assert len(build(ask(rows))) < 500_000
