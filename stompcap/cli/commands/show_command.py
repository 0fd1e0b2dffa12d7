"""`show`: what a lake has, as short tables; or one session of it as a dialogue."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stompcap.cli import cells, common, incidents, narrow, render, streams
from stompcap.cli.commands.show_queries import Section, sections
from stompcap.cli.dialogue_options import Frames, Output
from stompcap.cli.grouped import grouped
from stompcap.cli.printing import Enough, Printer, form_of
from stompcap.errors import UsageError
from stompcap.tables.levels import SPELLED
from stompcap.units import duration, endpoint, moment, size
from stompcap.visible import visible

if TYPE_CHECKING:
    from stompcap.cli.dialogue.lines import Dialogue

MaybeStream = Annotated[
    str | None, typer.Argument(metavar="[STREAM_ID]", help="A session, by its stream_id or enough first digits.", show_default=False)
]
Rows = Annotated[int, typer.Option("--rows", min=1, max=1000, help="Rows of each table of the overview.")]
FRAMES, OUTPUT = Frames(), Output()
TIMES, DURATIONS = ("opened", "first", "last"), ("duration_us", "p50_us", "max_us")
SHORT = 60  # characters of a cell


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(grouped(show))


def show(
    lake: common.Lake,
    stream_id: MaybeStream = None,
    rows: Rows = 10,
    source: common.OfSource = None,
    frames: Frames = FRAMES,
    output: Output = OUTPUT,
    verbose: common.Verbose = False,
) -> None:
    """Show what a lake has: captures, sessions, slow destinations and consumers, findings; with STREAM_ID one session as a dialogue.

    Where it has several capture points, each has tables of its own. Needs no Spark, unless the lake is large. Packet numbers are those of
    Wireshark.
    """
    del verbose
    from stompcap.lake import tables as lakes

    form = form_of(output.form, as_json=output.as_json)
    if frames != FRAMES and stream_id is None:
        raise UsageError("--command, --only, --level and the like select frames of one session; name it: stompcap show STREAM_ID")
    in_zone = common.times_in(output.time_zone)
    lakes.demand(lake)
    if stream_id is not None and source is not None:
        raise UsageError("--source selects what is summed up; a STREAM_ID is of one capture point anyway")
    with in_zone:
        if stream_id is None:
            _overview(lake, sections(rows), form, source, rows)
        else:
            _session(lake, stream_id, frames, output, form)


def _session(lake: str, stream_id: str, frames: Frames, output: Output, form: str) -> None:
    """Print a session as a dialogue."""
    from stompcap.cli.dialogue.selection import selection
    from stompcap.cli.dialogue.text import style_for

    dialogue = of_lake(lake, stream_id, with_raw=output.octets)
    happened = incidents.of_session(lake, dialogue.stream_id)
    wanted = selection(frames)
    if wanted.only == "incidents":
        named = (one for row in happened for one in row.get("frames") or () if one["stream_id"] == dialogue.stream_id)
        wanted = replace(wanted, places=frozenset((one["direction"], one["stream_offset"]) for one in named))
    style = style_for(absolute=output.absolute, every_header=output.headers, octets=output.octets)
    printer = Printer(form, style, wanted, frames.count)
    try:
        if form == "text":
            for row in happened:
                printer.remark(incidents.line(row))
        elif form == "json" and not wanted.frames_only:
            for row in happened:
                print(json.dumps({"type": "incident", **cells.plain(row)}))
        printer.session(dialogue)
    except Enough:
        return
    printer.total()
    if form == "text":
        exported = f"stompcap export {dialogue.stream_id} --lake {shlex.quote(lake)} -o {dialogue.stream_id[:8]}.pcap"
        printer.remark(f"for Wireshark: {exported}")


def of_lake(lake: str, stream_id: str, *, with_raw: bool = False) -> Dialogue:
    """A session of a lake, by its id or the beginning of it; raises UsageError where there is none."""
    from stompcap.cli.dialogue.lines import COLUMNS, dialogues
    from stompcap.lake import open_tables
    from stompcap.lake import tables as lakes
    from stompcap.lake.paths import location

    stream = streams.stream(lake, stream_id)
    name = stream["stream_id"]
    if stream["protocol"] != "stomp":
        what = f"{name}: speaks {stream['protocol']}, not STOMP"
        raise UsageError(f"{what}; list the sessions with: stompcap show --lake {shlex.quote(lake)}")
    tables = {
        table: lakes.small(
            lake, table, None if columns is None else [*columns, *(["raw"] if with_raw and table == "raw_frames" else [])],
            [("stream_id", "=", name)],
        )
        for table, columns in COLUMNS.items() if open_tables.is_there(location(lake, table))
    }  # fmt: skip
    ids = set(filter(None, tables["raw_frames"].column("last_capture_id").to_pylist()))
    captures = lakes.small(lake, "captures", ["capture_id", "path", "first_ns"]).to_pylist()
    captures.sort(key=lambda row: (row["first_ns"] or 0, row["capture_id"]))
    found = dialogues(tables, {row["capture_id"]: row["path"] for row in captures if row["capture_id"] in ids})
    if not found:
        raise UsageError(f"{name}: its session was not correlated yet; run: stompcap correlate --lake {shlex.quote(lake)}")
    return found[0]


def _overview(lake: str, wanted: tuple[Section, ...], form: str, source: str | None, most: int) -> None:
    """Print the tables of the overview, those of one capture point after those of another."""
    from stompcap.lake import open_tables, query, sources
    from stompcap.lake.older_rows import older_rows
    from stompcap.lake.paths import location

    there = {name for one in wanted for name in one.query.tables if open_tables.is_there(location(lake, name))}
    asked = [one for one in wanted if there.issuperset(one.query.tables)]
    points, spark = sources.selected(lake, source), common.session(None, None)
    names = sources.names(lake)
    told = Section("Incidents", query.Query("incidents", ("incidents",), ""), "")
    answers: list[tuple[str | None, Section, list[dict[str, Any]]]] = []
    for point in points if form != "text" else points[: sources.MOST]:
        found = query.ask(lake, [one.query for one in asked], spark, source=point)
        happened = incidents.read(lake, spark, max(most, incidents.READ) if form == "text" else most, point)
        if form == "text":
            _incidents(happened, most, f", source {visible(point)}" if point is not None and len(names) > 1 else "")
        else:
            answers += [(point if point is not None else names[0] if names else None, told, [dict(row) for row in happened[0]])]
        answers += [(point if point is not None else names[0] if names else None, one, found[one.query.name].to_pylist()) for one in asked]
    if form == "csv":
        _csv(answers)
        return
    for point, one, rows in answers:
        if form == "json":
            for row in rows:
                print(json.dumps({"type": one.query.name, "source": point, **cells.plain(row)}))
        else:
            _table(one, rows, lake, f", source {visible(point)}" if point is not None and len(names) > 1 else "")
    if form == "text" and (older := older_rows(lake)) is not None:
        print(visible(older))
    if form == "text" and (others := len(points) - sources.MOST) > 0:
        print(f"and {others} more sources; one of them: stompcap show --source NAME --lake {shlex.quote(lake)}")


def _incidents(happened: tuple[list[incidents.Row], dict[str, int]], most: int, of: str) -> None:
    """Print what happened, with its title."""
    rows, levels = happened
    print(incidents.title(levels) + of)
    if rows:
        render.show(incidents.grid(rows, levels, most))
    print()


def _csv(answers: list[tuple[str | None, Section, list[dict[str, Any]]]]) -> None:
    """One table of all: columns say of which table and which capture point a row is."""
    columns = ["type", "source", *dict.fromkeys(name for _, _, rows in answers for row in rows[:1] for name in row)]
    rows = (
        [{"type": one.query.name, "source": point, **row}.get(name) for name in columns] for point, one, found in answers for row in found
    )
    render.write_csv(columns, rows, sys.stdout)


def _table(one: Section, rows: list[dict[str, Any]], lake: str, of: str) -> None:
    """A table with its title, `of` whom it is, and what to run next."""
    print(one.title + of)
    if not rows:
        print("  none\n")
        return
    empty = {name for name in rows[0] if all(row[name] is None for row in rows)}
    columns = [name for name in rows[0] if name not in empty]
    titles = [name.removesuffix("_us").replace("_", " ") for name in columns]
    shown = [[_cell(name, row[name]) for name in columns] for row in rows]
    titles, shown = _one_client(titles, shown)
    if sys.stdout.isatty():
        titles, shown = narrow.fitted(titles, shown, shutil.get_terminal_size().columns)
    render.emit(titles, shown, "table")
    first = str(next(iter(rows[0].values())))
    print(visible("  next: " + one.then.format(lake=shlex.quote(lake), first=shlex.quote(first))) + "\n")


def _one_client(titles: list[str], rows: list[list[Any]]) -> tuple[list[str], list[list[Any]]]:
    """The columns of the client's address and port as one."""
    if not {"client ip", "client port"} <= set(titles):
        return titles, rows
    ip, port = titles.index("client ip"), titles.index("client port")
    kept = [at for at in range(len(titles)) if at != port]
    joined = [[endpoint(row[ip], row[port]) if at == ip else row[at] for at in kept] for row in rows]
    return ["address" if at == ip else titles[at] for at in kept], joined


def _cell(name: str, value: Any) -> Any:
    """A value as people read it."""
    if name in TIMES:
        return moment(value)
    if name in DURATIONS:
        return duration(value)
    if name == "size":
        return size(value)
    if name == "level":
        return SPELLED[value]
    return "–" if value is None else visible(value, SHORT) if isinstance(value, str) else value
