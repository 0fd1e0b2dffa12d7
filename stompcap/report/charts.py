"""The plots of ack latency.

Each takes the rows of one query and gives SVG elements, or nothing where there is nothing to plot.
"""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from stompcap.report.culprits import BINS_PER_DECADE
from stompcap.report.latency import TIME_SLICES
from stompcap.report.layout import (
    FIGURES,
    Layout,
    Room,
    Rows,
    Y,
    counts,
    drawable,
    drawn,
    durations,
    instant,
    layer,
    middle,
    points,
    texts,
    times,
    word,
)
from stompcap.units import count, duration, endpoint, moment, stamp

PERCENTILES = {"p50_us": ("median", "median"), "p95_us": ("p95", "95th percentile"), "p99_us": ("p99", "99th percentile")}
DIRECT, CUMULATIVE = "named by the ACK (direct)", "settled by a later ACK (cumulative)"


def latency_ranges(rows: Rows) -> Markup:
    """One row per destination: median, 95th and 99th percentile on a logarithmic axis. Rows as `ack_destinations` gives them."""
    return drawn(_ranges, [row for row in rows if row["p50_us"] is not None][:15])


def _ranges(rows: Rows, layout: Layout) -> Markup:
    limit = 34 if layout.names else 30
    x = durations("us", [row[name] for row in rows for name in PERCENTILES])
    lines = [
        {"us": drawable(row["p50_us"]), "end": drawable(row["p99_us"]), "y": layout.middle(nth), "text": duration(row["p99_us"])}
        for nth, row in enumerate(rows)
    ]
    layers = [
        layer(lines, "rule", {"x": x, "x2": {"field": "end"}, "y": Y}),
        points(_figures(rows, layout), list(FIGURES), x, Y),
        texts(lines, x | {"field": "end"}, align="left", dx=10),
        layout.named([f"{middle(row['destination'] or '(none)', limit)} · {row['ack_mode'] or '?'}" for row in rows]),
    ]
    words = "Ack latency by destination", "Median, 95th and 99th percentile per destination, as in the table below, on a logarithmic axis."
    return layout.markup(layers, "latency-ranges", words, layout.row * len(rows), Room(layout.names or 8, 90 if layout.names else 62))


def _figures(rows: Rows, layout: Layout) -> Rows:
    """The percentiles of rows as points."""
    return [
        {"us": drawable(row[name]), "y": layout.middle(nth), "figure": figure, "hint": f"{words} {duration(row[name])}"}
        for nth, row in enumerate(rows)
        for name, (figure, words) in PERCENTILES.items()
        if row.get(name) is not None
    ]


def latency_histogram(rows: Rows, total: dict[str, Any]) -> Markup:
    """How many deliveries were settled after how long, direct and cumulative acks stacked, with the percentiles of direct ones.

    Rows as `ack_histogram` gives them, and the row of `ack_total`.
    """
    marks = {figure: total[name] for name, (figure, _) in PERCENTILES.items() if total.get(name) is not None}
    return drawn(lambda bins, layout: _histogram(bins, marks, layout), rows)


def _histogram(rows: Rows, marks: dict[str, float], layout: Layout) -> Markup:
    bars: Rows = []
    stacked: dict[int, int] = {}
    for row in sorted(rows, key=lambda r: r["settled_by"] != "direct"):
        begin, end = edges(row["bin"])
        below = stacked.get(row["bin"], 0)
        stacked[row["bin"]] = below + row["deliveries"]
        bars.append({"us": begin, "end": end, "from": below, "to": stacked[row["bin"]],
                     "by": DIRECT if row["settled_by"] == "direct" else CUMULATIVE,
                     "hint": f"{count(row['deliveries'])} {row['settled_by']}, {duration(begin)} and up"})  # fmt: skip
    x = durations("us", [bar[edge] for bar in bars for edge in ("us", "end")])
    low, high = x["scale"]["domain"]
    late = [name for name, us in marks.items() if us > 0 and us * us > low * high]
    # one above the other, as percentiles may be close together; no name crosses the line of another
    lines: Rows = [
        {"us": drawable(marks[name]), "y": 9 + 16 * nth, "text": f"{name} {duration(marks[name])}", "late": name in late}
        for nth, name in enumerate([*(name for name in marks if name not in late), *reversed(late)])
    ]
    height = 180 + 16 * len(lines)
    layers = [
        layer(bars, "rect", {
            "x": x, "x2": {"field": "end"}, "y": counts("from", domain=[0, max(stacked.values()) * height / 180], nice=False),
            "y2": {"field": "to"},
            "color": word("by", {DIRECT: "var(--a)", CUMULATIVE: "var(--c)"}, legend={"columns": 2 if layout.names else 1}),
        }, xOffset=1, x2Offset=-1),
        layer(lines, "rule", {"x": x, "y": Y, "y2": {"value": height}}, strokeDash=[4, 3], strokeWidth=1.5, color="var(--b)"),
        texts([line for line in lines if not line["late"]], x, align="left", dx=5),
        texts([line for line in lines if line["late"]], x, align="right", dx=-5),
    ]  # fmt: skip
    words = (
        "Time from delivery to ack",
        f"Number of deliveries by ack latency, {BINS_PER_DECADE} bars a decade, logarithmic axis; direct acks below, cumulative ones on "
        f"top; of direct acks {', '.join(line['text'] for line in lines) or 'none'}.",
    )
    return layout.markup(layers, "latency-histogram", words, height, Room(60 if layout.names else 44, 20, 28 if layout.names else 46))


def edges(number: int) -> tuple[float, float]:
    """The latencies, in microseconds, between which those of a bin are."""
    return 10 ** (number / BINS_PER_DECADE), 10 ** ((number + 1) / BINS_PER_DECADE)


def latency_timeline(rows: Rows) -> Markup:
    """Median and 95th percentile over capture time; no line where nothing was delivered. Rows as `ack_timeline` gives them."""
    return drawn(_timeline, rows if len(rows) > 1 else [])


def _timeline(rows: Rows, layout: Layout) -> Markup:
    first, last = rows[0]["first_ns"], rows[0]["last_ns"]
    names = ["median", "p95"]
    dots: Rows = [
        {"when": instant(first + (row["slice"] + 0.5) / TIME_SLICES * (last - first)), "us": drawable(row[name]), "figure": figure,
         "line": f"{figure} {nth}", "hint": f"{words} {duration(row[name])} of {count(row['deliveries'])} deliveries"}
        for nth, stretch in enumerate(stretches(rows))
        for row in stretch
        for name, (figure, words) in PERCENTILES.items()
        if figure in names
    ]  # fmt: skip
    line = {"field": "line", "type": "nominal"}
    x, y = times("when", first, last, layout), durations("us", [dot["us"] for dot in dots])
    lines = [{name: value for name, value in dot.items() if name != "hint"} for dot in dots]
    layers = [
        layer(lines, "line", {"x": x, "y": y, "detail": line, "color": word("figure", {name: FIGURES[name][0] for name in names})},
              strokeWidth=1.5),
        points(dots, names, x, y, 40),
    ]  # fmt: skip
    words = (
        "Ack latency over time",
        f"Median and 95th percentile of direct acks in {TIME_SLICES} slices "
        f"from {moment(first, 0)} to {stamp(last, 0)}, logarithmic axis.",
    )
    return layout.markup(layers, "latency-timeline", words, 180, Room(70 if layout.names else 60, 20, bottom=46))


def stretches(rows: Rows) -> list[Rows]:
    """Slices grouped into runs without an empty slice."""
    found: list[Rows] = []
    for row in rows:
        if found and row["slice"] == found[-1][-1]["slice"] + 1:
            found[-1].append(row)
        else:
            found.append([row])
    return found


def consumer_latency(rows: Rows, bins: Rows) -> Markup:
    """The distribution of ack latency of each of the slowest consumers, and how many deliveries were in flight against its prefetch.

    Rows as `slow_consumers` and `consumer_bins` give them.
    """
    found: dict[tuple[str, str | None], Rows] = {}
    for one in bins:
        found.setdefault((one["stream_id"], one["subscription"]), []).append(one)
    with_bins = [row | {"bins": found[key]} for row in rows if (key := (row["stream_id"], row["subscription"])) in found]
    return drawn(_consumers, with_bins[:12])


def _consumers(rows: Rows, layout: Layout) -> Markup:
    layout = layout.with_texts()
    clients = [endpoint(row["client_ip"], row["client_port"]) for row in rows]
    names = [f"{middle(client, 22)} · {middle(row['destination'] or '(none)', 24)}" for client, row in zip(clients, rows, strict=True)]
    cells = []
    for nth, row in enumerate(rows):
        y, most = layout.middle(nth), max(one["deliveries"] for one in row["bins"])
        for one in row["bins"]:
            begin, end = edges(one["bin"])
            cells.append({"us": begin, "end": end, "y": y - 7, "y2": y + 7, "share": 0.2 + 0.8 * one["deliveries"] / most,
                          "hint": f"{count(one['deliveries'])} from {duration(begin)} to {duration(end)}"})  # fmt: skip
    x = durations("us", [cell[edge] for cell in cells for edge in ("us", "end")])
    layers = [
        layer(cells, "rect", {"x": x, "x2": {"field": "end"}, "y": Y, "y2": {"field": "y2"},
                              "opacity": {"field": "share", "type": "quantitative", "scale": None}}, color="var(--c)"),
        points(_figures(rows, layout), ["median", "p95"], x, Y),
        layout.named(names),
        layout.texts_beside([in_flight(row) for row in rows]),
    ]  # fmt: skip
    words = (
        "Ack latency of the slowest consumers",
        "Deliveries by ack latency, one row per consumer, the darker the more, on a logarithmic axis, with median and 95th percentile of "
        "direct acks; beside it the most deliveries in flight and the prefetch.",
    )
    return layout.markup(layers, "consumer-latency", words, layout.row * len(rows), Room(layout.names or 8, 270 if layout.names else 12))


def in_flight(row: dict[str, Any]) -> str:
    """The most deliveries that a consumer had in flight, of the prefetch that it asked for, and what it left unsettled."""
    prefetch = f" of {count(row['prefetch'])}" if row["prefetch"] else ""
    unsettled = f", {count(row['unsettled'])} unsettled" if row["unsettled"] else ""
    return f"{count(row['max_in_flight'])}{prefetch} in flight{unsettled}"
