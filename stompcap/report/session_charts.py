"""The plots of sessions: when they were opened, and when the worst of them were silent.

Each takes the rows of one query and gives SVG elements, or nothing where there is nothing to plot.
"""

from __future__ import annotations

from markupsafe import Markup

from stompcap.report.culprits import TIME_SLICES
from stompcap.report.gap_charts import ID_DIGITS
from stompcap.report.layout import Layout, Room, Rows, Y, amount, counts, drawn, instant, layer, times, word
from stompcap.units import count, duration, milliseconds, moment, stamp
from stompcap.visible import visible

SILENCES = {"late": "var(--late)", "violation": "var(--violation)", "dead": "var(--dead)", "excused": "var(--c)"}
OUTCOMES = {"opened": "var(--a)", "refused or unanswered": "var(--dead)"}


def openings(rows: Rows) -> Markup:
    """How many sessions were opened when, refused and unanswered ones on top. Rows as the query `openings` gives them."""
    return drawn(_openings, rows if len(rows) > 1 else [])


def _openings(rows: Rows, layout: Layout) -> Markup:
    first, last = rows[0]["first_ns"], rows[0]["last_ns"]
    bars = []
    for row in rows:
        begin, end = (first + edge / TIME_SLICES * (last - first) for edge in (row["slice"], row["slice"] + 1))
        good = row["sessions"] - row["failed"]
        all_of_them, not_connected = f"{count(row['sessions'])} sessions from {moment(begin, 0)}", f"{count(row['failed'])} not connected"
        parts = (0, good, all_of_them), (good, row["sessions"], not_connected)
        bars += [
            {"when": instant(begin), "end": instant(end), "from": low, "to": high, "kind": kind, "hint": hint}
            for kind, (low, high, hint) in zip(OUTCOMES, parts, strict=True)
            if high > low
        ]
    bar = layer(bars, "rect", {
        "x": times("when", first, last, layout), "x2": {"field": "end"}, "y": counts("from", 3), "y2": {"field": "to"},
        "color": word("kind", OUTCOMES),
    }, x2Offset=-1)  # fmt: skip
    words = (
        "Sessions opened over time",
        f"Number of sessions opened in {TIME_SLICES} slices from {moment(first, 0)} to {stamp(last, 0)}; on top those that were "
        "refused or got no answer.",
    )
    return layout.markup([bar], "openings", words, 120, Room(60 if layout.names else 44, 20, bottom=46))


def silences(rows: Rows) -> Markup:
    """The life of each of the worst session directions with its silences, and who closed it. Rows as the query `silences` gives them."""
    return drawn(_silences, [row for row in rows if row["opened_ns"] is not None and row["end_ns"] is not None])


def _silences(rows: Rows, layout: Layout) -> Markup:
    directions: dict[tuple[str, str], Rows] = {}
    for row in rows:
        directions.setdefault((row["stream_id"], row["direction"]), []).append(row)
    layout = layout.with_texts()
    lives, bars, names, ends = [], [], [], []
    for number, ((stream, direction), gaps) in enumerate(directions.items()):
        one = gaps[0]
        y = layout.middle(number)
        opened, lasted = one["opened_ns"], max(one["end_ns"] - one["opened_ns"], 1)
        broker = visible(one["server_product"] or "unknown broker", 16 if layout.names else 12)
        names.append(f"{broker} · {stream[:ID_DIGITS]} · {direction}")
        ends.append(ended(one))
        lives.append({"x": 0, "end": 1, "y": y})
        for gap in gaps:
            if gap["gap_start_ns"] is not None:
                begin, end = (min(max((gap[edge] - opened) / lasted, 0), 1) for edge in ("gap_start_ns", "gap_end_ns"))
                begin = min(begin, 0.995)  # a silence is seen, however short
                kind = "excused" if gap["excused"] else gap["severity"]
                bars.append({"x": begin, "end": max(end, begin + 0.005), "y": y - 6, "y2": y + 6, "kind": kind,
                             "hint": f"{gap['severity']}: {milliseconds(gap['gap_ms'])}"})  # fmt: skip
    x = amount("x", scale={"domain": [0, 1]}, axis=None)
    layers = [
        layer(lives, "rule", {"x": x, "x2": {"field": "end"}, "y": Y}),
        layer(bars, "rect", {"x": x, "x2": {"field": "end"}, "y": Y, "y2": {"field": "y2"}, "color": word("kind", SILENCES)}),
        layout.named(names),
        layout.texts_beside(ends),
    ]
    words = (
        "Silences of the worst sessions",
        "One line for each session direction, from its first packet to its last, with the times of silence.",
    )
    room = Room(layout.names - 60, 360, bottom=8) if layout.names else Room(8, 8, bottom=8)
    return layout.markup(layers, "silences", words, layout.row * len(directions), room)


def ended(row: dict[str, object]) -> str:
    """How long a session lived, and who closed it how, and whether because of the silence."""
    opened, end, cut_off = row["opened_ns"], row["end_ns"], row["cut_off_after_intervals"]
    lived = duration((end - opened) / 1000) if isinstance(opened, int) and isinstance(end, int) else "?"
    if row["end_kind"] == "open":
        return f"{lived}, still open"
    after = f" after {cut_off:.1f} silent intervals" if isinstance(cut_off, float) else f", {row['end_kind']}"
    return f"{lived}, {row['ended_by'] or 'who is unknown'} closed{after}"
