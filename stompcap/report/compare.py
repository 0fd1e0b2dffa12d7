"""Brokers side by side, as a page of Markdown: which of the rules for brokers each has kept and broken.

Only findings of the broker itself count (`compliance_findings.side`), never those of its clients. A rule of both sides has one count of
opportunities, which includes the clients' frames.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from stompcap.errors import UsageError
from stompcap.tables.levels import spelled
from stompcap.tables.words import LEVELS, VERSIONS
from stompcap.units import counted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = ("compliance", "compliance_findings", "rules", "sessions")
PRODUCTS = """
SELECT server_product, version, count(*) AS sessions FROM sessions
WHERE server_product IS NOT NULL GROUP BY server_product, version ORDER BY sessions DESC, server_product, version LIMIT 200"""
COUNTS = f"""
SELECT c.rule_id, s.server_product, count(*) AS sessions, CAST(sum(c.applicable - c.not_evaluable) AS BIGINT) AS judged,
       {", ".join(f"CAST(sum(coalesce(f.{n}, 0)) AS BIGINT) AS broken_{n}, count_if(f.{n} > 0) AS breaking_{n}" for n in LEVELS)}
FROM compliance c JOIN sessions s ON s.stream_id = c.stream_id
LEFT JOIN (
    SELECT stream_id, rule_id, {", ".join(f"count_if(level = '{n}') AS {n}" for n in LEVELS)}
    FROM compliance_findings WHERE side = 'server' GROUP BY stream_id, rule_id
) f ON f.stream_id = c.stream_id AND f.rule_id = c.rule_id
GROUP BY c.rule_id, s.server_product"""  # noqa: S608  our own words
RULES = "SELECT id, level, versions, side, title FROM rules WHERE side <> 'client'"
QUESTIONS = (
    ("products", ("sessions",), PRODUCTS),
    ("counts", ("compliance", "sessions", "compliance_findings"), COUNTS),
    ("rules", ("rules",), RULES),
)

Row = dict[str, Any]


def compare(lake: str, products: Sequence[str], spark: Callable[[], SparkSession], source: str | None = None) -> str:
    """The pages for these brokers (names as in `sessions.server_product`), one for each source.

    `spark` gives the session that a large lake needs. Raises UsageError where the lake, or the source that is named, has no session of one
    of them, and as `stompcap.lake.tables.demand`.
    """
    from stompcap.lake import sources
    from stompcap.lake.query import Query, ask
    from stompcap.lake.tables import demand

    demand(lake)
    queries = [Query(name, tables, sql) for name, tables, sql in QUESTIONS]
    answers = {
        point: [answer.to_pylist() for answer in ask(lake, queries, spark, source=point).values()]
        for point in sources.selected(lake, source)
    }
    known = list(dict.fromkeys(row["server_product"] for seen, _, _ in answers.values() for row in seen))
    for product in products:
        if product not in known:
            raise UsageError(f"{lake}: no session with {product}; brokers there: {', '.join(known) or 'none'}")
    return "\n".join(
        page(products, seen, rules, [row for row in counts if row["server_product"] in products], point)
        for point, (seen, counts, rules) in answers.items()
    )


def page(
    products: Sequence[str], seen: Sequence[Row], rules: Sequence[Row], counts: Sequence[Row], source: str | None = None
) -> str:
    """The answers to PRODUCTS, RULES and COUNTS as Markdown; `source` is named where they are not of the whole lake."""
    by_rule = {(row["rule_id"], row["server_product"]): row for row in counts}
    titled = " and ".join([", ".join(products[:-1]), products[-1]]) if len(products) > 1 else products[0]
    lines = [
        f"# Rules kept and broken by {titled}" + ("" if source is None else f", source {_plain(source)}"), "",
        "How often the broker itself broke each rule that a broker must obey, of the times the rule could be judged. Clients could also",
        "break a rule of both sides; their opportunities are counted, their violations are not. INFO: worth knowing, no violation.",
        "`stompcap rules explain ID` explains a rule.", "",
        f"| | {' | '.join(products)} |",
        f"| --- |{' ---: |' * len(products)}",
        f"| sessions | {' | '.join(_sessions(product, seen) for product in products)} |",
    ]
    for title, section in _sections(products, rules, by_rule):
        lines += ["", f"## {title}", ""]
        if not section:
            lines.append("None.")
            continue
        lines += [f"| rule | level | what | {' | '.join(products)} |", f"| --- | --- | --- |{' ---: |' * len(products)}"]
        for rule, level in section:
            cells = " | ".join(_cell(by_rule.get((rule["id"], product)), level) for product in products)
            lines.append(f"| {rule['id']} | {spelled(level or rule['level'])} | {_plain(rule['title'])} | {cells} |")
    return "\n".join(lines) + "\n"


def _sections(
    products: Sequence[str], rules: Sequence[Row], by_rule: dict[tuple[str, str], Row]
) -> list[tuple[str, list[tuple[Row, str | None]]]]:
    """Rules by whether they were broken, each level apart, in the catalogue's order; a rule that never applied is left out."""
    broken: list[tuple[Row, str | None]] = []
    kept: list[tuple[Row, str | None]] = []
    for rule in sorted(rules, key=lambda rule: str(rule["id"])):
        found = [by_rule[rule["id"], product] for product in products if (rule["id"], product) in by_rule]
        levels = [level for level in LEVELS if any(row[f"broken_{level}"] for row in found)]
        broken += [(rule, level) for level in levels]
        if not levels and any(row["judged"] for row in found):
            kept.append((rule, None))
    every = "all" if len(products) > 2 else "both"
    return [("Broken by at least one of them", broken), (f"Kept by {every if len(products) > 1 else 'it'}", kept)]


def _cell(row: Row | None, level: str | None) -> str:
    if row is None or row["judged"] == 0:
        return "not judged"
    broken, breaking = (0, 0) if level is None else (row[f"broken_{level}"], row[f"breaking_{level}"])
    if broken == 0:
        return f"kept, {row['judged']:,}"
    return f"**{broken:,}** of {row['judged']:,}, in {breaking:,} of {counted(row['sessions'], 'session')}"


def _sessions(product: str, seen: Sequence[Row]) -> str:
    """How many, and of which version."""
    own = {row["version"]: row["sessions"] for row in seen if row["server_product"] == product}
    named = [f"{own[version]:,} of {version}" for version in VERSIONS if version in own]
    return f"{sum(own.values()):,}" + (f" ({', '.join(named)})" if named else "")


def _plain(text: str) -> str:
    """Text whose backslashes, asterisks and pipes are escaped for Markdown."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*")
