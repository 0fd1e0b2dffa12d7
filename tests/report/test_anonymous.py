"""An anonymised report: no name, address, destination or body of the lake is in it, and its numbers and verdicts are the same."""

from __future__ import annotations

import base64
import gzip
import os
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from stompcap import capture
from stompcap.export.names import Names
from stompcap.lake.query import in_process
from stompcap.options import Options
from stompcap.report import against, dialogues, markdown
from stompcap.report.anonymous import KEPT, NAMED, OUT, QUERIES, Anonymous
from stompcap.report.asking import EVERY
from stompcap.report.packets import SCHEMA
from stompcap.report.page import build_parts, records
from stompcap.rules import catalogue_table
from stompcap.tables import TABLES
from tests.e2e.pure import tables_of
from tests.e2e.truth import DATA
from tests.report.sample import SECOND, START, table

RECORDINGS = ("rabbitmq_violations.pcap", "activemq_dialogue.pcap", "artemis_aftermath.pcapng", "rabbitmq_vertx.pcap")
KEY = bytes(range(32))
TEMPLATES = Path(markdown.__file__).parent


def tables_with_incidents(path: str) -> dict[str, pa.Table]:
    """The tables of a recording, its capture, and an incident of each login, which quotes and names all it can."""
    found = {name: rows for name, rows in tables_of([path], Options()).items() if name in TABLES}
    row = capture.survey(path, "tap of ACME")
    assert row is not None
    found["captures"] = pa.Table.from_pylist([row | {"batch_id": "b", "run_id": "r", "skipped": []}], TABLES["captures"].arrow)
    found["rules"] = catalogue_table()
    named = {str(row["login"]): row for row in found["sessions"].to_pylist() if row["login"]}
    where = sorted({row["destination_name"] for row in found["subscriptions"].to_pylist() if row["destination_name"]})
    found["incidents"] = table("incidents", [
        {"incident_id": f"{nth:020x}", "kind": "refused", "subject_kind": "login", "subject": login, "source": "tap of ACME",
         "level": "warning",
         "destination_name": where[nth % len(where)] if where else None, "begin_ns": START, "end_ns": START + SECOND, "messages": 7,
         "confidence": "proven", "streams": [of["stream_id"]], "packets": [{"capture": os.path.basename(path), "packet": 9}],
         "sentence": f"{login} at {of['client_ip']}:{of['client_port']}: 7 connections of {where[nth % len(where)] if where else 'x'} "
                     f"refused by {of['server_ip']}: \"Access refused for user '{login}'\""}
        for nth, (login, of) in enumerate(named.items())
    ])  # fmt: skip
    return found


def originals(tables: dict[str, pa.Table]) -> set[str]:
    """What must not be told: names of every kind, and bodies."""
    found = {row["name"] for rows in in_process(tables, known_to(tables)).values() for row in rows.to_pylist()}
    found |= {os.path.basename(name) for name in found} | {name.partition("/queue/")[2] for name in found}
    found |= {text for text in tables["frames"].column("body_preview").to_pylist() if text}
    found |= set(tables["sessions"].column("stream_id").to_pylist())
    return found


def known_to(tables: dict[str, pa.Table]) -> list[Any]:
    return [query for query in QUERIES if set(query.tables) <= set(tables)]


def answered(tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
    asked = [query for query in EVERY.values() if set(query.tables) <= set(tables)]
    answers = in_process(tables, asked)
    ids = dialogues.wanted({name: records(answers[name]) for name in ("incidents", "sessions_found")})
    return answers | (in_process(tables, [dialogues.query(ids)]) if ids else {})


def written(answers: dict[str, pa.Table]) -> tuple[str, str]:
    """The page, and all that is in it and in its Markdown."""
    page = build_parts({None: answers}, "", "made now")
    packed = re.findall(r'<script type="application/json">([A-Za-z0-9+/=]+)', page)
    whole = [gzip.decompress(base64.b64decode(one)).decode() for one in packed]
    bare = re.sub(r"[A-Za-z0-9+/=]{400,}", "", page)
    return page, "\n".join((bare, *whole, markdown.build({None: answers}, "Report")))


def says(text: str, word: str) -> bool:
    """Whether a text has a word; where its letters are not there, which is found at once, nothing is searched by pattern."""
    return word in text and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


@pytest.mark.slow
@pytest.mark.parametrize("recording", RECORDINGS)
def test_nothing_of_the_lake_is_in_it_and_its_numbers_are_the_same(recording: str) -> None:
    tables = tables_with_incidents(str(DATA / recording))
    answers = answered(tables)
    found = in_process(tables, known_to(tables))
    known = [(query.partition(" ")[0], row["name"]) for query, rows in found.items() for row in rows.to_pylist()]
    page, text = written(answers)
    hidden, other = written(Anonymous(Names(KEY), known).tables(answers))
    secret = {one for one in originals(tables) if len(one) > 3}
    chrome = "".join(one.read_text("utf-8") for one in TEMPLATES.glob("*.html")) + "client server RabbitMQ ActiveMQ stomp.py STOMP"
    chrome += str(catalogue_table().to_pylist())
    told = {one for one in secret if one not in chrome and says(text, one)}
    assert len(told) > 5, "what is searched for is in the page that is not anonymised"
    leaked = {one for one in secret if one not in chrome and says(other, one)}
    assert leaked == set()
    for pattern in (r'<td class="num[^"]*">([^<]*)', r'<span class="mark[^>]*>([^<]*)', r"<dd>([^<]*)"):
        assert sorted(re.findall(pattern, hidden)) == sorted(re.findall(pattern, page)), pattern


def test_of_each_text_column_it_is_said_what_becomes_of_it() -> None:
    empty = {name: schema.arrow.empty_table() for name, schema in TABLES.items()}
    answers = in_process(empty, [*EVERY.values(), *against.queries(None), dialogues.query(["0" * 20])]) | {"packets": SCHEMA.empty_table()}
    columns = {field.name for rows in answers.values() for field in rows.schema
               if pa.types.is_string(field.type) or pa.types.is_binary(field.type) or pa.types.is_list(field.type)}  # fmt: skip
    said = {*Anonymous(Names(KEY), []).columns, *KEPT, *OUT, "streams", "packets"}
    assert columns - said == set()
    assert {TABLES[table].arrow.field(column).type for table, column, _ in NAMED} == {pa.string()}


CASES = {
    "billing takes 5 ms a message; the backlog of /queue/orders grew by 7": {"billing", "orders"},
    "x: \"no queue 'orders' in vhost 'prod', 10.1.2.3\" at 10.9.8.7:61613": {"orders", "prod", "10.1.2.3", "10.9.8.7"},
    "billing.orders and 10.9.8.77, BILLING": {"10.9.8.77"},
}


@pytest.mark.parametrize("text", CASES)
def test_sentences_lose_names_only(text: str) -> None:
    anonymous = Anonymous(Names(KEY), [("login", "billing"), ("destination", "/queue/orders"), ("address", "10.9.8.7")])
    found = anonymous.sentence(text)
    assert [one for one in CASES[text] if one in found] == []
    assert re.sub(r"\W+|\w*[a-z]\w*", " ", "5 ms 7").split() == ["5", "7"]
    for word in ("takes", "backlog", "grew", "a message"):
        assert (word in text) == (word in found)
    assert found == anonymous.sentence(text), "the same everywhere"


def test_a_name_is_the_same_in_columns_and_texts() -> None:
    anonymous = Anonymous(Names(KEY), [("login", "billing"), ("destination", "/queue/orders"), ("address", "10.9.8.7")])
    assert anonymous.sentence("billing") == anonymous.name("billing") == Names(KEY).login("billing")
    assert anonymous.sentence("of /queue/orders") == f"of {Names(KEY).destination('/queue/orders')}"
    assert anonymous.sentence("10.9.8.7:5") == anonymous.name("10.9.8.7:5") == f"{Names(KEY).address('10.9.8.7')}:5"
