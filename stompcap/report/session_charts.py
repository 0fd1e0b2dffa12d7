"""The plots of sessions: when they were opened, and when the worst of them were silent.

Each takes the rows of one query and gives SVG elements, or nothing where there is nothing to plot.
"""

from __future__ import annotations

from markupsafe import Markup

from stompcap.report.gap_charts import ID_DIGITS
from stompcap.report.incidents import TIME_SLICES
from stompcap.report.layout import NARROW, Layout, Rows, drawn
from stompcap.report.scale import Linear
from stompcap.units import count, duration, milliseconds, moment
from stompcap.visible import visible

SEVERITIES = ("late", "violation", "dead")


def openings(rows: Rows) -> Markup:
    """How many sessions were opened when, refused and unanswered ones on top. Rows as the query `openings` gives them."""
    return drawn(_openings, rows if len(rows) > 1 else [])


def _openings(rows: Rows, layout: Layout) -> Markup:
    first, last = rows[0]["first_ns"], rows[0]["last_ns"]
    top, bottom, left, right = 30, 150, 60 if layout.names else 44, layout.width - 20
    axis, level = Linear(0, TIME_SLICES, left, right), Linear(0, max(row["sessions"] for row in rows), bottom, top)
    drawing = layout.drawing(
        "openings",
        "Sessions opened over time",
        f"Number of sessions opened in {TIME_SLICES} slices from {moment(first, 0)} to {moment(last, 0)} UTC; on top those that were "
        "refused or got no answer.",
        bottom + 30,
    )
    for tick in level.ticks(3):
        drawing.line(left, level(tick), right, level(tick), "grid")
        drawing.text(left - 8, level(tick) + 4, count(tick), "tick", "end")
    for row in rows:
        x, width = axis(row["slice"]), axis(1) - axis(0) - 1
        good = level(row["sessions"] - row["failed"])
        when = moment(first + row["slice"] / TIME_SLICES * (last - first), 0)
        drawing.bar(x, good, width, bottom - good, "fill-a", f"{count(row['sessions'])} sessions from {when}")
        drawing.bar(x, level(row["sessions"]), width, good - level(row["sessions"]), "fill-dead", f"{count(row['failed'])} not connected")
    for edge, place, anchor in ((first, left, "start"), (last, right, "end")):
        drawing.text(0 if layout is NARROW and anchor == "start" else place, bottom + 18, moment(edge, 0), "tick", anchor)
    drawing.bar(left, 2, 12, 12, "fill-a")
    drawing.text(left + 18, 12, "opened", "tick")
    drawing.bar(left + 80, 2, 12, 12, "fill-dead")
    drawing.text(left + 98, 12, "refused or unanswered", "tick")
    return drawing.markup()


def silences(rows: Rows) -> Markup:
    """The life of each of the worst session directions with its silences, and who closed it. Rows as the query `silences` gives them."""
    return drawn(_silences, [row for row in rows if row["opened_ns"] is not None and row["end_ns"] is not None])


def _silences(rows: Rows, layout: Layout) -> Markup:
    lines: dict[tuple[str, str], Rows] = {}
    for row in rows:
        lines.setdefault((row["stream_id"], row["direction"]), []).append(row)
    step = layout.row if layout.names else 58
    left, right = (layout.names - 60, layout.width - 360) if layout.names else (8, layout.width - 8)
    drawing = layout.drawing(
        "silences",
        "Silences of the worst sessions",
        "One line for each session direction, from its first packet to its last, with the times of silence.",
        30 + step * len(lines) + 8,
    )
    for number, name in enumerate((*SEVERITIES, "excused")):
        x = (left if layout.names else 8) + number * 84
        drawing.bar(x, 3, 12, 12, f"fill-{name if name in SEVERITIES else 'c'}")
        drawing.text(x + 17, 13, name, "tick")
    for number, ((stream, direction), gaps) in enumerate(lines.items()):
        one, top = gaps[0], 30 + step * number
        y = top + (step / 2 if layout.names else 26)
        axis = Linear(one["opened_ns"], max(one["end_ns"], one["opened_ns"] + 1), left, right)
        broker = visible(one["server_product"] or "unknown broker", 16 if layout.names else 12)
        name = f"{broker} · {stream[:ID_DIGITS]} · {direction}"
        if layout.names:
            drawing.text(left - 10, y + 4, name, "label", "end")
        else:
            drawing.text(0, top + 14, name, "label")
        drawing.line(left, y, right, y, "range")
        for gap in gaps:
            if gap["gap_start_ns"] is None:
                continue
            begin, end = axis(gap["gap_start_ns"]), axis(gap["gap_end_ns"])
            kind = "fill-c" if gap["excused"] else f"fill-{gap['severity']}"
            drawing.bar(min(begin, right - 2), y - 6, max(end - begin, 2), 12, kind, f"{gap['severity']}: {milliseconds(gap['gap_ms'])}")
        drawing.text(right + 12 if layout.names else 0, y + 4 if layout.names else top + 48, ended(one), "tick")
    return drawing.markup()


def ended(row: dict[str, object]) -> str:
    """How long a session lived, and who closed it how, and whether because of the silence."""
    opened, end, cut_off = row["opened_ns"], row["end_ns"], row["cut_off_after_intervals"]
    lived = duration((end - opened) / 1000) if isinstance(opened, int) and isinstance(end, int) else "?"
    if row["end_kind"] == "open":
        return f"{lived}, still open"
    after = f" after {cut_off:.1f} silent intervals" if isinstance(cut_off, float) else f", {row['end_kind']}"
    return f"{lived}, {row['ended_by'] or 'who is unknown'} closed{after}"
