"""The summary of a run: what was read, what the lake contains, where to look next."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from stompcap.cli import incidents
from stompcap.tables.levels import SPELLED
from stompcap.tables.words import SIDES
from stompcap.units import count, counted, duration, moment, share, size, stamp
from stompcap.visible import visible

TOP_RULES = 5
MOST_NAMES = 5  # captures or warnings named one by one
VERDICT_STYLES = {"ok": "green", "late": "yellow", "violation": "dark_orange", "dead": "red", "not_evaluable": "dim"}

BROKEN_BY = {"client": "By clients", "server": "By brokers"}
NEW = {
    "sessions": ("session", "sessions"), "frames": ("frame", "frames"), "deliveries": ("delivery", "deliveries"),
    "compliance_findings": ("finding", "findings"),
}  # fmt: skip

Rows = list[dict[str, Any]]


def summary(result: dict[str, Any]) -> RenderableType:
    """The summary of a run and of the lake.

    `result` is the object of `--json` (`run_id`, `lake`, `status`, `seconds`, `captures`, `stages`, `rows`, `warnings`) with,
    optionally, `incidents` (stompcap.cli.incidents.read: the first of them, and their numbers by level), `overview`
    (stompcap.report.overview: totals of the whole lake, by source where there are several; empty where it is too
    large), `report` and `data_docs` (paths of pages).
    """
    overview: dict[str, Rows] = result.get("overview") or {}
    new = _new(result) if "overview" in result and not overview else None
    read = [("Read", _captures(result["captures"])), ("New", new)]
    points = _by_source(overview)
    parts: list[RenderableType] = [_headline(result), Text(), *_incidents(result)]
    if len(points) == 1:
        [(_, one)] = points
        parts += _point(one, read)
    else:
        parts.append(_grid(read))
        for source, one in points:
            parts += [Text(), Text(f"Source {visible(source)}", style="bold"), *_point(one, [])]
    for warning in result["warnings"][:MOST_NAMES]:
        parts.append(Text(f"Warning: {visible(warning)}", style="yellow"))
    if (more := len(result["warnings"]) - MOST_NAMES) > 0:
        parts.append(Text(f"and {more} more warnings (--json has them all)", style="yellow"))
    return Group(*parts, Text(), _paths(result))


def _incidents(result: dict[str, Any]) -> list[RenderableType]:
    """What happened, before any total; nothing where it was not asked for."""
    rows, levels = result.get("incidents") or ([], {})
    if "incidents" not in result or not (levels or result["rows"].get("sessions")):
        return []
    words = Text(incidents.title(levels), style="bold")
    return [words, incidents.grid(rows, levels), Text()] if rows else [words, Text()]


def _by_source(overview: dict[str, Rows]) -> list[tuple[str, dict[str, Rows]]]:
    """The totals of each source, by its name; where rows name none they are all of one."""
    sources = list(dict.fromkeys(row.get("source", "") for rows in overview.values() for row in rows)) or [""]
    return [
        (source, {name: [row for row in rows if row.get("source", "") == source] for name, rows in overview.items()})
        for source in sources
    ]


def _point(overview: dict[str, Rows], facts: list[tuple[str, Text | None]]) -> list[RenderableType]:
    """The totals of a source, behind other facts."""
    totals = [
        ("Period", _period(_first(overview, "captures_total"))),
        ("Sessions", _sessions(_first(overview, "sessions_total"))),
        ("In broker", _residence(_first(overview, "residence_total"))),
        ("Ack latency", _latency(_first(overview, "ack_total"))),
        ("Heart-beats", _heartbeats(overview.get("heartbeat_verdicts", []))),
        *_rules(overview),
        ("Clocks", _clocks(_first(overview, "clocks_total"))),
    ]
    parts: list[RenderableType] = [_grid([*facts, *totals])]
    if overview.get("brokers"):
        parts += [Text(), _brokers(overview["brokers"])]
    if broken := _worst(overview.get("broken", [])):
        parts += [Text(), _broken(broken)]
    return parts


def _grid(facts: list[tuple[str, Text | None]]) -> Table:
    """Facts with their names."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, words in facts:
        if words is not None:
            grid.add_row(name, words)
    return grid


def _first(overview: dict[str, Rows], name: str) -> dict[str, Any] | None:
    """The one row of a total; None where it was not queried or the table is empty."""
    return next(iter(overview.get(name, [])), None)


def _headline(result: dict[str, Any]) -> Text:
    stages = ", ".join(f"{stage['name']} {duration(stage['seconds'] * 1e6)}" for stage in result["stages"])
    words = Text(f"Run {result['run_id']}: {result['status']}", style="bold")
    if stages:
        words.append(f" in {duration(result['seconds'] * 1e6)} ({stages})", style="not bold dim")
    return words


def _captures(captures: list[dict[str, Any]]) -> Text | None:
    """How many files, by status; those that are not complete by name."""
    if not captures:
        return None
    by_status = Counter(visible(str(capture["status"])) for capture in captures)
    words = Text(f"{counted(len(captures), 'capture')}: ")
    words.append(", ".join(f"{count(number)} {status}" for status, number in by_status.most_common()))
    odd = [capture for capture in captures if capture["status"] not in ("complete", "known")]
    for capture in odd[:MOST_NAMES]:
        words.append(f"\n{visible(str(capture['path']))}: {visible(str(capture['status']))}", style="yellow")
    return words


def _period(total: dict[str, Any] | None) -> Text | None:
    """When the lake's packets were captured."""
    if not total or total["first_ns"] is None:
        return None
    span = duration((total["last_ns"] - total["first_ns"]) / 1000)
    return Text(
        f"{moment(total['first_ns'], 0)} to {stamp(total['last_ns'], 0)} ({span}); "
        f"{counted(total['packets'], 'packet')}, {size(total['size_octets'])} in {counted(total['captures'], 'capture')}"
    )


def _sessions(total: dict[str, Any] | None) -> Text | None:
    """How many sessions, and how many of them failed."""
    if not total:
        return None
    if not total["sessions"]:
        return Text("no connection spoke STOMP")
    frames = (total["frames_c2s"] or 0) + (total["frames_s2c"] or 0)
    words = Text(f"{count(total['sessions'])} with {counted(frames, 'frame')}")
    named = {
        "refused": "refused",
        "unanswered": "unanswered",
        "midstream": "joined midstream",
        "cleartext": "with a secret in clear",
    }
    for column, name in named.items():
        if total[column]:
            words.append(f", {count(total[column])} {name}", style="" if column == "midstream" else "yellow")
    return words


def _new(result: dict[str, Any]) -> Text:
    """What the run brought, where the lake is too large to be summed up after each run."""
    rows, lake = result["rows"], shlex.quote(visible(str(result["lake"])))
    figures = (counted(rows.get(table, 0), one, many) for table, (one, many) in NEW.items())
    return Text(f"{', '.join(figures)}; stompcap show --lake {lake} sums up the lake")


def _residence(total: dict[str, Any] | None) -> Text | None:
    """How long messages were in the broker; nothing of a lake in which no SEND is known of any MESSAGE."""
    if not total or not (total["measured"] or total["waiting"]):
        return None
    words = Text()
    if total["measured"]:
        figures = f"p50 {duration(total['p50_us'])}, p95 {duration(total['p95_us'])}, max {duration(total['max_us'])}"
        words.append(figures, style="bold").append(f" of {count(total['measured'])} of {counted(total['messages'], 'message')}; ")
    words.append(f"{count(total['waiting'])} sent and not seen delivered", style="yellow" if total["waiting"] else "")
    return words


def _latency(total: dict[str, Any] | None) -> Text | None:
    """Median and 95th percentile over the lake."""
    if not total:
        return None
    if not total["deliveries"]:
        return Text("no delivery asked for an ACK")
    if total["direct"]:
        figures = f"p50 {duration(total['p50_us'])}, p95 {duration(total['p95_us'])}, max {duration(total['max_us'])}"
    elif total["cumulative"]:
        bounds = duration(total["cumulative_p50_us"]), duration(total["cumulative_p95_us"])
        figures = f"p50 at most {bounds[0]}, p95 at most {bounds[1]} (acks are cumulative)"
    else:
        figures = "none settled" if not total["uncertain"] else "not sure of any"
    words = Text(figures, style="bold")
    words.append(f" of {count(total['deliveries'])} deliveries that ask for an ACK", style="not bold")
    if total["uncertain"]:
        words.append(f"; {count(total['uncertain'])} left out as uncertain", style="not bold")
    if total["unsettled"]:
        words.append(f"; {count(total['unsettled'])} not settled", style="not bold yellow")
    if total["unknown"]:
        words.append(f"; {count(total['unknown'])} unknown", style="not bold")
    return words


def _heartbeats(rows: Rows) -> Text | None:
    """Session directions by verdict."""
    verdicts: Counter[str] = Counter()
    for row in rows:
        verdicts[row["verdict"]] += row["directions"]
    if not verdicts:
        return None
    words = Text("session directions: ")
    parts = [
        Text(f"{count(verdicts[v])} {v.replace('_', ' ')}", style=s) for v, s in VERDICT_STYLES.items() if verdicts[v]
    ]
    return words + Text(", ").join(parts)


def _rules(overview: dict[str, Rows]) -> list[tuple[str, Text | None]]:
    """How many rules were applied, and the findings by level, a line for each side."""
    if not overview.get("rules"):
        return []
    found = {(row["side"], row["level"]): row["findings"] for row in overview.get("levels", [])}
    words = Text(f"{len(overview['rules'])} applied")
    if not found:
        words.append("; no findings", style="green")
    lines: list[tuple[str, Text | None]] = [("Rules", words)]
    for side in SIDES:
        numbers = [
            Text(f"{count(found.get((side, level), 0))} {word}", style="red" if level == "M" and (side, level) in found else "")
            for level, word in SPELLED.items()
        ]
        if any((side, level) in found for level in SPELLED):
            lines.append((BROKEN_BY[side], Text(", ").join(numbers) + Text(" findings")))
    return lines


def _clocks(total: dict[str, Any] | None) -> Text | None:
    """That times contradict the order of packets, a sentence a line; nothing where they do not."""
    from stompcap.lake.clocks import explained

    words = explained(total) if total else None
    return Text(words.replace(". ", ".\n"), style="yellow") if words else None


def _brokers(rows: Rows) -> Table:
    """Sessions by broker and version."""
    drawn = _table("Broker", "STOMP", "Sessions>", "Connected>", "Refused>", "Frames>", "CONNECT answered in>")
    for row in rows[:10]:
        figures = (count(row[name]) for name in ("sessions", "connected", "refused", "frames"))
        product, version = visible(row["server_product"] or "unknown", 40), row["version"] or "unknown"
        drawn.add_row(*map(Text, (product, version, *figures, duration(row["connect_p50_us"]))))
    return drawn


def _worst(broken: Rows) -> Rows:
    """The rules broken most, ordered as in the report; findings of level INFO are left out."""
    from stompcap.report.ranking import ranked

    return [row for row in ranked(broken) if row["level"] != "I"][:TOP_RULES]


def _broken(rows: Rows) -> Table:
    """The rules broken most, a row for each level and side; occasions of a rule for both sides are counted together."""
    drawn = _table("Rule", "Level", "By", "Broken most", "Times>", "of judged>", "Sessions>")
    for row in rows:
        rate = "of both sides" if row["who"] == "both" else share(row["findings"], row["judged"])
        words = (row["rule_id"], SPELLED[row["level"]], row["side"], visible(row["title"] or "", 70), count(row["findings"]))
        drawn.add_row(*map(Text, (*words, f"{count(row['judged'])} ({rate})", f"{count(row['broken_in'])} of {count(row['sessions'])}")))
    return drawn


def _table(*columns: str) -> Table:
    """A table without a frame; columns whose name ends in > are right-aligned."""
    drawn = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in columns:
        drawn.add_column(name.removesuffix(">"), justify="right" if name.endswith(">") else "left")
    return drawn


def _paths(result: dict[str, Any]) -> Table:
    """Paths of the lake and its pages, and commands to try next where there is something to show."""
    lake, quoted = visible(str(result["lake"])), shlex.quote(visible(str(result["lake"])))
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row("Lake", Text(lake))
    if result.get("report"):
        grid.add_row("Report", Text(visible(str(result["report"]))))
    if result.get("data_docs"):
        grid.add_row("Data Docs", Text(visible(str(result["data_docs"]))))
    sessions = _first(result.get("overview") or {}, "sessions_total")
    if not (sessions["sessions"] if sessions else result["rows"].get("compliance")):
        return grid
    if not result.get("report"):
        grid.add_row("Report", Text(f"stompcap report --lake {quoted} -o report.html", style="dim"))
    grid.add_row("Look closer", Text(f"stompcap show --lake {quoted}", style="dim"))
    return grid
