"""From query answers to the page: one HTML file without scripts that loads nothing.

An attacker may have chosen any value in a table. The template escapes every value, shows characters that
do not print as escapes (stompcap.visible) and cuts long ones; a Content-Security-Policy forbids scripts and all
requests.
"""

from __future__ import annotations

import re
import shlex
from base64 import b64encode
from decimal import Decimal
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from stompcap import units, zones
from stompcap.incidents import alike, lines
from stompcap.report import by_product, dialogues, grouping, telling
from stompcap.report.culprits import STORM
from stompcap.report.first import INCIDENTS_FIRST
from stompcap.report.queries import QUERIES
from stompcap.report.ranking import ranked
from stompcap.report.remarks import BREAKERS, remarks
from stompcap.report.whole import WHOLE, packed
from stompcap.settings import Thresholds
from stompcap.tables.levels import SPELLED, spelled
from stompcap.tables.words import SIDES
from stompcap.visible import visible

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import pyarrow as pa

    from stompcap.report.changes import Changes

Rows = list[dict[str, Any]]

LONGEST = 400  # characters of one value on the page


def _printable(value: object) -> object:
    """The template's output for an expression: text made visible, None as a dash; our own markup unchanged."""
    if value is None:
        return units.NOTHING
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(value, LONGEST)
    return value


def _short(value: str | None) -> str:
    """A product's name, shortened: the peer chose it, so it may be of any length."""
    return units.NOTHING if value is None else visible(value, 28)


TOTALS = ("captures_total", "sessions_total", "residence_total", "ack_total", "destinations_total", "who_total")
"""Answers of one row."""


TITLE = "STOMP traffic report"

LARGE = frozenset(whole.query.name for whole in WHOLE.values())
"""Answers that the page has as whole tables only."""


class _Figures(dict[str, Any]):
    """The one row of a total; a missing figure is None, a dash on the page."""

    def __missing__(self, name: str) -> None:
        return None


def _plain(value: Any) -> Any:
    """Sums that an engine gives as decimals, as integers."""
    return int(value) if isinstance(value, Decimal) else value


def records(table: pa.Table) -> Rows:
    """The rows of an answer."""
    return [{name: _plain(value) for name, value in row.items()} for row in table.to_pylist()]


@cache
def _template(name: str) -> str:
    """A file of this folder."""
    return files("stompcap.report").joinpath(name).read_text("utf-8")


@cache
def _environment() -> jinja2.Environment:
    """Jinja with escaping always on and the units as filters."""
    environment = jinja2.Environment(
        autoescape=True, finalize=_printable, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        loader=jinja2.FunctionLoader(_template),
    )  # fmt: skip
    environment.filters.update(
        us=units.duration,
        ms=units.milliseconds,
        n=units.count,
        octets=units.size,
        when=units.moment,
        short=_short,
        ratio=units.ratio,
        level=spelled,
        fingerprint=_fingerprint,
        hexadecimal=lambda octets: Markup.escape(grouping.hexadecimal(octets)),
    )
    environment.globals.update(share=units.share, DIRECTIONS=grouping.DIRECTIONS, endpoint=units.endpoint)
    return environment


@cache
def _page(name: str) -> jinja2.Template:
    """A template of this folder behind the head that all pages share; made once, as it takes longer than to fill it in."""
    return _environment().from_string(_template("head.html") + _template(name))


def _fingerprint(script: str) -> Markup:
    """A script's digest, as a Content-Security-Policy names what may be executed."""
    return Markup(f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}")  # noqa: S704  base64


def render(name: str, title: str, **values: Any) -> str:
    """A page, with the style that all pages share."""
    return _page(name).render(title=title, style=Markup(_template("style.css")), **{"script": None} | values)  # noqa: S704  our own


def _charts(answers: Mapping[str, Rows]) -> dict[str, Markup]:
    """The plots by their names in the template."""
    from stompcap.report import charts, gap_charts, session_charts, timeline  # they load vl-convert, which other pages need not

    return {
        "destinations": timeline.timeline(answers["minutes"], answers["incidents"]),
        "ranges": charts.latency_ranges(answers["ack_destinations"]),
        "histogram": charts.latency_histogram(answers["ack_histogram"], next(iter(answers["ack_total"]), {})),
        "timeline": charts.latency_timeline(answers["ack_timeline"]),
        "gaps": Markup("").join(gap_charts.gap_histogram(answers["heartbeat_ratios"], direction) for direction in grouping.DIRECTIONS),
        "consumers": charts.consumer_latency(answers["slow_consumers"], answers["consumer_bins"]),
        "worst": gap_charts.worst_gaps(answers["heartbeats"]),
        "silences": session_charts.silences(answers["silences"]),
        "openings": session_charts.openings(answers["openings"]),
    }


def build(tables: Mapping[str, pa.Table], lake: str = "", made: str = "") -> str:
    """The page, from the answers to `stompcap.report.queries.QUERIES` by name.

    For an answer that is missing (its tables did not exist) or empty, the page has a note. `lake` and `made` (when,
    by what) are shown in the header. `packets` are those of findings (`stompcap.report.packets`).
    """
    return build_parts({None: tables}, lake, made)


def build_parts(
    answered: Mapping[str | None, Mapping[str, pa.Table]], lake: str = "", made: str = "", *, only: str | None = None, others: int = 0,
    title: str = TITLE, scope: str | None = None, changed: Mapping[str | None, Changes] | None = None,
    anonymous: bool = False,
) -> str:
    """The page with a part for each source, from the answers about it: as `build` without its name, where there is one part.

    `only` is the name of a part that is one of several that there could be, `others` the number of those left out, `scope` what it is
    restricted to, `changed` what changed in a part against what it was compared with; `anonymous` says that names are others.
    """
    word = shlex.quote(lake) if lake else "LAKE"
    parts, scripted, changed = [], False, changed or {}
    for number, (source, tables) in enumerate(answered.items()):
        kept = {name: packed(tables[whole.query.name], name, zones.name()) for name, whole in WHOLE.items() if whole.query.name in tables}
        scripted = scripted or bool(kept)
        answers = {name: Rows() for name in QUERIES} | {name: records(table) for name, table in tables.items() if name not in LARGE}
        at = f"source-{number + 1}-" if len(answered) > 1 else ""
        body = _part(answers, tables, kept, word, changed.get(source))
        parts.append({"source": source if at else None, "at": at, "body": _apart(body, at), "compared": source in changed})
        quality = answers["quality"]
    return render(
        "document.html", visible(title, 200), scope=scope, zone=zones.name(), anonymous=anonymous,
        lake=lake, made=made, parts=parts, only=only, others=others, lake_word=word, quality=quality, thresholds=Thresholds(),
        script=Markup(_template("tables.js")) if scripted else None,  # noqa: S704  our own
    )


def _apart(body: str, at: str) -> Markup:
    """A part whose ids begin with `at`, in links too; they stand in quotes, which values from the wire cannot have."""
    body = re.sub(r' id="|(?<= href="#)(?!quality")', lambda found: found[0] + at, body)
    named = re.sub(r'(?<= aria-labelledby=")[^"]+', lambda found: " ".join(at + one for one in found[0].split()), body)
    return Markup(named)  # noqa: S704  escaped when it was filled in


def _part(
    answers: dict[str, Rows], given: Collection[str], kept: Mapping[str, Markup], lake_word: str, changes: Changes | None
) -> str:
    """What the page tells of one source; `given` are the names of the answers, `kept` its whole tables, `changes` what changed."""
    broken = ranked(answers["broken"])
    total = {name: _Figures(next(iter(answers[name]), {})) for name in TOTALS}
    findings = grouping.lists(answers["findings"], "rule_id")
    folded = dialogues.folded(dialogues.wanted(answers), answers.get("dialogues", []))
    shown = {name for name, _ in folded}
    without, level = dialogues.left(answers["sessions_found"], shown)
    return _environment().get_template("page.html").render(
        whole={name: kept.get(name, Markup("")) for name in WHOLE},
        answers=answers,
        changes=changes,
        total=total,
        remarks=remarks(answers),
        levels=sorted(answers["levels"], key=lambda row: ("MSI".find(row["level"]), -row["findings"])),
        rules=answers["rules"],
        broken=broken,
        order=list(dict.fromkeys(row["rule_id"] for row in broken)),
        by_id={row["rule_id"]: row for row in answers["rules"]},
        SPELLED=SPELLED,
        BREAKERS=BREAKERS,
        findings=findings,
        packets=grouping.by_frame_key(answers.get("packets", [])),
        errors=grouping.errors(answers["errors"]),
        sessions_shown={row["stream_id"] for row in answers["sessions"]},
        rules_shown={row["rule_id"] for row in broken} & set(findings),
        session_rules=grouping.lists(answers["session_rules"], "stream_id"),
        headline=telling.headline(answers),
        told=telling.sentence,
        incidents=alike.folded(answers["incidents"]),
        has_incidents="incident_levels" in given,
        who=telling.who(answers["who"], answers["incidents"]),
        days=telling.days(answers["incidents"], total["captures_total"]),
        since=lines.since,
        packets_of=lines.packets, whose=lines.whose,
        dialogues=folded,
        without=without,
        without_level=level,
        folded=shown,
        INCIDENTS_FIRST=INCIDENTS_FIRST,
        incidents_left=telling.unlisted(answers),
        lake_word=lake_word,
        STORM=STORM,
        zone=zones.name(),
        products={side: by_product.of(side, answers) for side in SIDES},
        charts=_charts(answers),
    )
