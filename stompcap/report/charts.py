"""The plots of ack latency.

Each takes the rows of one query and gives SVG elements, or nothing where there is nothing to plot.
"""

from __future__ import annotations

from markupsafe import Markup

from stompcap.report.layout import CHARACTER, NARROW, Layout, Rows, drawn, duration_axis, middle
from stompcap.report.queries import BINS_PER_DECADE, TIME_SLICES
from stompcap.report.scale import Linear, Log
from stompcap.units import count, duration, moment


def latency_ranges(rows: Rows) -> Markup:
    """One row per destination: median (disc), 95th percentile (diamond), up to the 99th (line), on a logarithmic axis.

    Rows as `ack_destinations` gives them.
    """
    return drawn(_ranges, [row for row in rows if row["p50_us"] is not None][:15])


def _ranges(rows: Rows, layout: Layout) -> Markup:
    height = 30 + layout.row * len(rows) + 24
    drawing = layout.drawing(
        "latency-ranges",
        "Ack latency by destination",
        "Median, 95th and 99th percentile per destination, as in the table below, on a logarithmic axis.",
        height,
    )
    left = layout.names or 8
    axis = Log.around(min(r["p50_us"] for r in rows), max(r["p99_us"] for r in rows), left, layout.width - (90 if layout.names else 62))
    for place, mark in ((left, "median"), (left + 80, "p95"), (left + 135, "p99")):
        drawing.text(place + 10, 13, mark, "tick")
    drawing.dot(left, 9, "fill-a")
    drawing.diamond(left + 80, 9, "fill-b")
    drawing.line(left + 135, 4, left + 135, 14, "range")
    duration_axis(drawing, axis, 24, height - 24)
    for number, row in enumerate(rows):
        top = 30 + layout.row * number
        y = top + layout.row * (0.5 if layout.names else 0.74)
        name = f"{middle(row['destination'] or '(none)', 34 if layout.names else 30)} · {row['ack_mode'] or '?'}"
        p50, p95, p99 = (axis(row[p]) for p in ("p50_us", "p95_us", "p99_us"))
        if layout.names:
            drawing.text(layout.names - 14, y + 4, name, "label", "end")
        else:
            drawing.text(0, top + 16, name, "label", limit=int(layout.width / CHARACTER))
        drawing.line(p50, y, p99, y, "range")
        drawing.line(p99, y - 5, p99, y + 5, "range")
        drawing.diamond(p95, y, "fill-b", f"95th percentile {duration(row['p95_us'])}")
        drawing.dot(p50, y, "fill-a", f"median {duration(row['p50_us'])}")
        drawing.text(p99 + 10, y + 4, duration(row["p99_us"]), "tick")
    return drawing.markup()


def latency_histogram(rows: Rows) -> Markup:
    """How many deliveries were settled after how long, with direct and cumulative acks stacked.

    Rows as `ack_histogram` gives them.
    """
    return drawn(_histogram, rows)


def _histogram(rows: Rows, layout: Layout) -> Markup:
    decades = [row["bin"] / BINS_PER_DECADE for row in rows]
    left = 60 if layout.names else 44
    axis = Log.around(10 ** min(decades), 10 ** (max(decades) + 1 / BINS_PER_DECADE), left, layout.width - 20)
    totals: dict[int, int] = {}
    for row in rows:
        totals[row["bin"]] = totals.get(row["bin"], 0) + row["deliveries"]
    # in a narrow legend the two lines are one above the other
    legend = ((left, 2), (260, 2)) if layout.names else ((left, 2), (left, 20))
    top = 24 + legend[1][1]
    bottom = top + 180
    level = Linear(0, max(totals.values()), bottom, top)
    drawing = layout.drawing(
        "latency-histogram",
        "Time from delivery to ack",
        f"Number of deliveries by ack latency, {BINS_PER_DECADE} bars a "
        "decade, logarithmic axis; direct acks below, cumulative ones on top.",
        bottom + 30,
    )
    for tick in level.ticks(4):
        drawing.line(left, level(tick), layout.width - 20, level(tick), "grid")
        drawing.text(left - 8, level(tick) + 4, count(tick), "tick", "end")
    duration_axis(drawing, axis, bottom, bottom)
    stacked: dict[int, int] = {}
    for row in sorted(rows, key=lambda r: r["settled_by"] != "direct"):
        begin, end = (axis(10 ** (edge / BINS_PER_DECADE)) for edge in (row["bin"], row["bin"] + 1))
        below = stacked.get(row["bin"], 0)
        stacked[row["bin"]] = below + row["deliveries"]
        y = level(stacked[row["bin"]])
        kind = "fill-a" if row["settled_by"] == "direct" else "fill-c"
        hint = f"{count(row['deliveries'])} {row['settled_by']}, {duration(10 ** (row['bin'] / BINS_PER_DECADE))} and up"
        drawing.bar(begin + 1, y, end - begin - 2, level(below) - y, kind, hint)
    names = (("fill-a", "named by the ACK (direct)"), ("fill-c", "settled by a later ACK (cumulative)"))
    for (x, y), (kind, name) in zip(legend, names, strict=True):
        drawing.bar(x, y, 12, 12, kind)
        drawing.text(x + 18, y + 10, name, "tick")
    return drawing.markup()


def latency_timeline(rows: Rows) -> Markup:
    """Median and 95th percentile over capture time; no line where nothing was delivered. Rows as `ack_timeline` gives them."""
    return drawn(_timeline, rows if len(rows) > 1 else [])


def _timeline(rows: Rows, layout: Layout) -> Markup:
    first, last = rows[0]["first_ns"], rows[0]["last_ns"]
    top, bottom, left = 26, 206, 70 if layout.names else 56
    level = Log.around(min(r["p50_us"] for r in rows), max(r["p95_us"] for r in rows), bottom, top)
    axis = Linear(0, TIME_SLICES, left, layout.width - 20)
    drawing = layout.drawing(
        "latency-timeline",
        "Ack latency over time",
        f"Median and 95th percentile of direct acks in {TIME_SLICES} slices "
        f"from {moment(first, 0)} to {moment(last, 0)} UTC, logarithmic axis.",
        bottom + 30,
    )
    for tick in level.ticks():
        drawing.line(left, level(tick), layout.width - 20, level(tick), "grid")
        drawing.text(left - 8, level(tick) + 4, duration(tick), "tick", "end")
    digits = 0 if last - first > 60e9 else 3
    for part, x, anchor in ((0.0, axis(0), "start"), (0.5, axis(TIME_SLICES / 2), "middle"), (1.0, axis(TIME_SLICES), "end")):
        if layout is not NARROW or anchor != "middle":
            text = moment(first + part * (last - first), digits)
            drawing.text(0 if layout is NARROW and anchor == "start" else x, bottom + 18, text, "tick", anchor)
    for column, kind, name in (("p95_us", "b", "95th percentile"), ("p50_us", "a", "median")):
        for stretch in stretches(rows):
            points = [(axis(r["slice"] + 0.5), level(r[column])) for r in stretch]
            drawing.curve(points, f"stroke-{kind}")
            for row, (x, y) in zip(stretch, points, strict=True):
                hint = f"{name} {duration(row[column])} of {count(row['deliveries'])} deliveries"
                (drawing.dot if kind == "a" else drawing.diamond)(x, y, f"fill-{kind}", hint, 3 if kind == "a" else 4)
    drawing.dot(left + 6, 9, "fill-a")
    drawing.text(left + 16, 13, "median", "tick")
    drawing.diamond(left + 86, 9, "fill-b")
    drawing.text(left + 96, 13, "95th percentile", "tick")
    return drawing.markup()


def stretches(rows: Rows) -> list[Rows]:
    """Slices grouped into runs without an empty slice."""
    found: list[Rows] = []
    for row in rows:
        if found and row["slice"] == found[-1][-1]["slice"] + 1:
            found[-1].append(row)
        else:
            found.append([row])
    return found
