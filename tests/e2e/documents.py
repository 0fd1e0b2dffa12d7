"""Pages of docs/ generated from the bundled recordings: `python -m tests.e2e.documents docs`.

Each is what the tool itself says of them. DuckDB stands in for Spark; tests/spark holds one against the other.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from textwrap import fill
from typing import Any

import duckdb
import pyarrow as pa

from stompcap.report import compare
from stompcap.rules import RULES
from stompcap.rules.catalogue import BY_ID, catalogue_table
from stompcap.tables.levels import SPELLED
from stompcap.tables.words import LEVELS
from tests.e2e.known import LIBRARIES, MUST, NOT_RECORDED, Recorded
from tests.e2e.pure import tables_of
from tests.e2e.truth import Row, captures

COMPARED = ("RabbitMQ", "ActiveMQ")
BODY_SHOWN = 120  # characters of a frame's body
LINE = 140  # characters of a line of text; tables have rows of any length

HEAD = """# What real brokers and clients break

What follows comes from the bundled recordings (`data/`).

## MUST rules broken in clean sessions

{sessions} of the recorded sessions are clean: stomp.py, stompjs, go-stomp, vert.x and stompest connect, subscribe, send, acknowledge, use
transactions, idle for some heart-beats and disconnect, with RabbitMQ 3.10, ActiveMQ 5.17 and Artemis 2.42, in 1.0, 1.1 and 1.2, and none
breaks a rule on purpose. Of {judged:,} opportunities to break a MUST rule, {failed} failed, all of the kinds below. A test
allows no other.
"""
ALL = """## Every rule that a broker or a library broke

In all recordings, including those where a scripted client provokes the broker; its planted violations are left out. Counts are in
brackets. The captures are `data/BROKER_NAME`.

| rule | level | what | broken by | in |
| --- | --- | --- | --- | --- |
"""
ABSENT = """
## Known but not recorded

| rule | who | why it is not here |
| --- | --- | --- |
{rows}
"""


def comparison(tables: dict[str, pa.Table], products: tuple[str, ...] = COMPARED) -> str:
    """What `stompcap rules compare` prints of a lake with these tables."""
    asked = duckdb.connect()
    for name in compare.TABLES:
        asked.register(name, tables[name] if name in tables else catalogue_table())
    return compare.page(products, *(_rows(asked, query) for query in (compare.PRODUCTS, compare.RULES, compare.COUNTS)))


def _rows(connection: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = connection.sql(query).to_arrow_table().to_pylist()
    return rows


def broken(recorded: Recorded) -> str:
    """docs/broken-rules.md."""
    clean = {stream for stream, (capture, _) in recorded.sessions.items() if capture in LIBRARIES}
    must = {rule.id for rule in RULES if "M" in rule.level_text}
    counts = [row for stream in clean for row in recorded.seen.rows("compliance", stream) if row["rule_id"] in must]
    judged = sum(row["passed"] + row["failed"] for row in counts)
    found = recorded.clean("M")
    parts = [HEAD.format(sessions=len(clean), judged=judged, failed=len(found))]
    for (rule, product), why in MUST.items():
        own = [(row, session) for who, row, session in found if (row["rule_id"], who) == (rule, product)]
        parts.append(_proof(recorded, rule, product, why, own))
    absent = ABSENT.format(rows="\n".join(f"| {' | '.join(row)} |" for row in NOT_RECORDED))
    return "\n".join([*parts, ALL.rstrip("\n"), *_all(recorded)]) + "\n" + absent


def _proof(recorded: Recorded, rule: str, product: str, why: str, own: list[tuple[Row, Any]]) -> str:
    """One kind of finding: how often, an example with the frames that prove it, and why it is right."""
    row, session = own[0]
    where = f"{row['direction']} {row['stream_offset']}"
    shown = "\n".join(f"{direction}:\n\n```text\n{text}\n```\n" for direction, text in _frames(recorded, row))
    sessions = len({one.name for _, one in own})
    said = f"{BY_ID[rule].title}. {len(own)} findings in {sessions} sessions; for instance in `{session.name}` at {where}: "
    said += f"{row['evidence']}."
    return f"### {rule}, by {product}\n\n{_wrapped(said)}\n\n{shown}\n{_wrapped(why)}\n"


def _wrapped(text: str) -> str:
    return fill(text, LINE, break_long_words=False, break_on_hyphens=False)


def _frames(recorded: Recorded, finding: Row) -> list[tuple[str, str]]:
    """The frames that prove a finding, passcodes masked: the one it names, or what was agreed where it is of silence."""
    stream = finding["stream_id"]
    raw = {(row["direction"], row["stream_offset"]): row["raw"] for row in recorded.seen.rows("raw_frames", stream)}
    if not finding["rule_id"].startswith("HB-"):
        return [(finding["direction"], _text(raw[finding["direction"], finding["stream_offset"]]))]
    agreed = [row for row in recorded.seen.rows("frames", stream) if row["command"] in ("CONNECT", "STOMP", "CONNECTED")]
    agreed.sort(key=lambda row: row["first_ns"])
    return [(row["direction"], _text(raw[row["direction"], row["stream_offset"]])) for row in agreed]


def _text(octets: bytes) -> str:
    head, _, body = octets.decode("utf-8", "backslashreplace").replace("\0", "␀").partition("\n\n")
    return f"{head}\n\n{body[:BODY_SHOWN]}"


def _all(recorded: Recorded) -> list[str]:
    """The table of everything broken, in the catalogue's order."""
    seen: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for product, row, capture, _ in recorded.broken():
        seen[row["rule_id"], row["level"], product][capture] += 1
    lines = []
    for rule in RULES:
        own = [(LEVELS.index(level), level, product) for broken, level, product in seen if broken == rule.id]
        for _, level, product in sorted(own):
            where = ", ".join(f"{capture} ({count})" for capture, count in sorted(seen[rule.id, level, product].items()))
            title = rule.title.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*")
            lines.append(f"| {rule.id} | {SPELLED[level]} | {title} | {product} | {where} |")
    return lines


PAGES: dict[str, Callable[[Recorded], str]] = {
    "compliance-rabbitmq-activemq.md": lambda recorded: comparison(recorded.tables),
    "broken-rules.md": broken,
}


if __name__ == "__main__":
    read = Recorded(tables_of(captures()))
    for name, page in PAGES.items():
        (Path(sys.argv[1]) / name).write_text(page(read), encoding="utf-8")
