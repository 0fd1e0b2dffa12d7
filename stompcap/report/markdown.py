"""The report as Markdown, to paste into a ticket: incidents, who, destinations, broken rules."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stompcap import zones
from stompcap.incidents.alike import folded
from stompcap.incidents.lines import packets, since, whose
from stompcap.report import telling
from stompcap.report.first import INCIDENTS_FIRST
from stompcap.report.page import records
from stompcap.report.queries import QUERIES
from stompcap.report.ranking import ranked
from stompcap.tables.levels import spelled
from stompcap.units import count, counted, duration, moment
from stompcap.visible import visible

if TYPE_CHECKING:
    import pyarrow as pa

    from stompcap.report.changes import Changes

Rows = list[dict[str, Any]]

MOST = 20
"""Rows of a table; a line says how many more there are."""

NEEDED = ("captures_total", "sessions_total", "incidents", "incident_levels", "who", "destinations", "broken")


def build(
    answered: Mapping[str | None, Mapping[str, pa.Table]], title: str, scope: str | None = None,
    changed: Mapping[str | None, Changes] | None = None, *, anonymous: bool = False,
) -> str:
    """The page, from the answers about each source; `scope` is what it is restricted to, `changed` what changed in a part."""
    lines = [f"# {_plain(title)}", "", *([] if scope is None else [f"Only {_plain(scope)}.", ""]), f"Times in {_plain(zones.name())}.", ""]
    lines += ["Anonymised: all names are others.", ""] if anonymous else []
    for source, tables in answered.items():
        answers = {name: Rows() for name in QUERIES} | {name: records(table) for name, table in tables.items() if name in QUERIES}
        if source is not None:
            lines += [f"Source {_plain(source)}", ""]
        lines += _part(answers, (changed or {}).get(source))
    return "\n".join(lines)


def _part(answers: dict[str, Rows], changes: Changes | None) -> list[str]:
    total = next(iter(answers["captures_total"]), {})
    lines = [f"**{telling.headline(answers)}**, captured {moment(total.get('first_ns'), 0)} to {moment(total.get('last_ns'), 0)}", ""]
    every = folded(answers["incidents"])
    shown = every[:INCIDENTS_FIRST]
    for one in shown:
        row = one.row
        ids = " ".join(f"`{one[:8]}`" for one in (row["streams"] or [])[:3])
        more = ", ".join(one for one in (_plain(whose(row)), ids, _plain(packets(row))) if one)
        lines.append(f"{one.number}. {since(row)} **{row['level']}** {_plain(row['sentence'])}" + (f" ({more})" if more else ""))
        if one.others:
            lines.append(f"   - {_plain(one.words)}")
    if unlisted := telling.unlisted(answers) + sum(1 + len(one.others) for one in every[INCIDENTS_FIRST:]):
        lines += ["", f"{counted(unlisted, 'more incident')} not listed."]
    lines += ["", *([] if changes is None else _changes(changes)), "## Who", ""]
    lines += _table(
        ("name", "incidents", "connections", "refused", "sent", "received", "not acknowledged", "slowest ack"),
        [(row["who"], ", ".join(f"{number}" for number, _ in row["incidents"]), count(row["connections"]), count(row["refused"]),
          count(row["sent"]), count(row["delivered"]), count(row["unsettled"]), duration(row["slowest_us"]))
         for row in telling.who(answers["who"], answers["incidents"])],
    )  # fmt: skip
    lines += ["## Destinations", ""]
    lines += _table(
        ("destination", "sent", "received", "not received", "received again", "in the broker, worst p95", "ack, worst p95"),
        [(row["destination_name"], count(row["sends"]), count(row["messages"]), count(row["waiting"]), count(row["redeliveries"]),
          duration(row["residence_us"]), duration(row["ack_us"])) for row in answers["destinations"]],
    )  # fmt: skip
    lines += ["## Broken rules", ""]
    lines += _table(
        ("rule", "level", "broken by", "what it asks", "findings", "sessions"),
        [(row["rule_id"], spelled(row["level"]), row["side"], row["title"], count(row["findings"]), count(row["broken_in"]))
         for row in ranked(answers["broken"])],
    )  # fmt: skip
    return lines


def _changes(changes: Changes) -> list[str]:
    """Incidents that are new or gone, and figures that changed for sure; how many others there are."""
    lines = [f"## What changed against {_plain(changes.words)}", ""]
    for side, words in ((changes.before, "before"), (changes.now, "now")):
        period = "nothing captured" if side["first_ns"] is None else f"{moment(side['first_ns'], 0)} to {moment(side['last_ns'], 0)}"
        lines.append(f"- {words}: {period}, {counted(side['sessions'], 'session')}")
    lines += [f"- new, {number}: {_plain(row['sentence'])}" for number, row in changes.new[:MOST]]
    lines += [f"- gone, {since(row)}: {_plain(row['sentence'])}" for row in changes.gone[:MOST]]
    more = sum(max(len(found) - MOST, 0) for found in (changes.new, changes.gone))
    lines += [*([f"- {counted(more, 'more incident')} new or gone"] if more else []), f"- {counted(changes.both, 'incident')} in both", ""]
    lines += _table(
        ("whose", "what", "before", "now", "change"),
        [(one.subject, one.what, f"{one.in_words(one.before)} {one.samples()[0]}", f"{one.in_words(one.now)} {one.samples()[1]}",
          f"{one.by()} {'' if one.grade == 'other' else one.grade}".strip()) for one in changes.sure],
    )  # fmt: skip
    if changes.unlisted:
        lines += [f"{count(changes.unlisted)} more changed.", ""]
    return [*lines, f"In brackets 99 % intervals; sure, because these do not overlap. Not sure: {count(len(changes.doubtful))}.", ""]


def _table(names: Sequence[str], rows: Sequence[Sequence[str | None]]) -> list[str]:
    if not rows:
        return ["None.", ""]
    lines = [f"| {' | '.join(names)} |", f"|{' --- |' * len(names)}"]
    lines += [f"| {' | '.join(_plain(one or '') for one in row)} |" for row in rows[:MOST]]
    return [*lines, *([f"{count(len(rows) - MOST)} more."] if len(rows) > MOST else []), ""]


def _plain(text: str) -> str:
    """Text in one line in which nothing is Markdown or HTML; what does not print is an escape."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&@!])", r"\\\1", visible(text, 300))
