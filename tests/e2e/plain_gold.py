"""The aggregates once more, in plain Python from the rows they sum up: sums, exact fractions, no SQL."""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import pyarrow as pa

from tests.e2e.truth import Row

LATENCY_KEY = ("hour_ts", "source", "destination", "ack_mode", "settled_by", "server_product")
LATENCY_COUNTS = ("deliveries", "settled", "uncertain", "unsettled", "unknown")
SUMMARY_KEY = ("day", "source", "rule_id", "server_product", "client_product", "version")
SUMMARY_SUMS = ("sessions", "applicable", "passed", "failed", "not_evaluable")
SHARES = {"p50_us": Fraction(50, 100), "p90_us": Fraction(90, 100), "p95_us": Fraction(95, 100), "p99_us": Fraction(99, 100)}
ROUNDED = Fraction(1, 2) + Fraction(1, 1_000_000)  # figures are whole microseconds
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def percentile(values: Sequence[int], share: Fraction) -> Fraction:
    """Linear between the two values around it."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def figures(latencies: Sequence[int]) -> dict[str, Fraction | None]:
    """Percentiles, largest and mean; null of nothing."""
    if not latencies:
        return dict.fromkeys((*SHARES, "max_us", "mean_us"))
    of: dict[str, Fraction | None] = {name: percentile(latencies, share) for name, share in SHARES.items()}
    return of | {"max_us": Fraction(max(latencies)), "mean_us": Fraction(sum(latencies), len(latencies))}


def rows(table: pa.Table) -> list[Row]:
    """A table's rows."""
    return table.to_pylist()


def wrong_latencies(tables: Mapping[str, pa.Table]) -> Iterator[str]:
    """What of ack_latency is not what the deliveries and sessions give."""
    products = {row["stream_id"]: row["server_product"] for row in rows(tables["sessions"])}
    source = {row["stream_id"]: row["source"] for row in rows(tables["streams"])}
    held: dict[tuple[object, ...], list[Row]] = defaultdict(list)
    for row in rows(tables["deliveries"]):
        if row["status"] != "auto":
            hour = EPOCH + datetime.timedelta(hours=row["delivered_ns"] // 3_600_000_000_000)
            point, broker = source[row["stream_id"]], products[row["stream_id"]]
            settled_by = row["settled_by"] if row["status"] == "settled" else None
            held[hour, point, row["destination"], row["ack_mode"], settled_by, broker].append(row)
    found = {tuple(row[name] for name in LATENCY_KEY): row for row in rows(tables["ack_latency"])}
    if len(found) != tables["ack_latency"].num_rows or set(found) != set(held):
        yield f"groups: {sorted(map(str, set(found) ^ set(held)))}"
    for key in set(found) & set(held):
        row, group = found[key], held[key]
        status = Counter(one["status"] for one in group)
        sure = [one["ack_latency_us"] for one in group if one["status"] == "settled" and not one["octets_missing"]
                and one["ack_latency_us"] is not None]
        left = status["unsettled"] + status["open"] + status["voided"]
        counts = (len(group), status["settled"], status["settled"] - len(sure), left, status["unknown"])
        if tuple(row[name] for name in LATENCY_COUNTS) != counts:
            yield f"{key}: counts are {counts}: {row}"
        for name, exact in figures(sure).items():
            if row[name] is None or exact is None:
                if row[name] is not exact:
                    yield f"{key}: {name} is {exact}: {row}"
            elif abs(row[name] - exact) > ROUNDED:
                yield f"{key}: {name} is {float(exact)}: {row}"


def wrong_summaries(tables: Mapping[str, pa.Table]) -> Iterator[str]:
    """What of compliance_summary is not what compliance and sessions give."""
    sessions = {row["stream_id"]: row for row in rows(tables["sessions"])}
    source = {row["stream_id"]: row["source"] for row in rows(tables["streams"])}
    held: dict[tuple[object, ...], Counter[str]] = defaultdict(Counter)
    for row in rows(tables["compliance"]):
        session = sessions[row["stream_id"]]
        day = (EPOCH + datetime.timedelta(days=session["opened_ns"] // 86_400_000_000_000)).date()
        point = source[row["stream_id"]]
        sums = held[day, point, row["rule_id"], session["server_product"], session["client_product"], session["version"]]
        sums.update({"sessions": 1} | {name: row[name] for name in SUMMARY_SUMS[1:]})
    found = {tuple(row[name] for name in SUMMARY_KEY): row for row in rows(tables["compliance_summary"])}
    if len(found) != tables["compliance_summary"].num_rows or set(found) != set(held):
        yield f"groups: {sorted(map(str, set(found) ^ set(held)))}"
    for key in set(found) & set(held):
        row, sums = found[key], held[key]
        if any(row[name] != sums[name] for name in SUMMARY_SUMS):
            yield f"{key}: {sums}: {row}"
        judged = sums["passed"] + sums["failed"]
        if row["failure_rate"] != (sums["failed"] / judged if judged else None):
            yield f"{key}: failed {sums['failed']} of {judged}: {row}"
