"""What a capture with holes may say, given the capture without: each check gives what is wrong, a line each.

A stream is named by its client's port and its direction. Where the SYN is lost, offsets count from the first octet captured: `shifts`
tells by how much, by segments that both captures have.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from tests.mangler.compare import Tables

Way = tuple[int, str]
Row = dict[str, Any]
Shifts = dict[Way, int]


def way(row: Row) -> Way:
    """The direction of a row."""
    return row["stream"], row["direction"]


def by_way(rows: list[Row]) -> dict[Way, list[Row]]:
    """Rows by direction, by offset."""
    held: dict[Way, list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row["stream_offset"]):
        held[way(row)].append(row)
    return held


def shifts(found: Tables, whole: Tables) -> Shifts:
    """What to add to an offset to have that of the whole capture, by direction."""
    places: dict[tuple[Way, int], set[int]] = defaultdict(set)
    for row in whole["segments"]:
        places[way(row), row["ts_ns"]].add(row["stream_offset"])
    possible: dict[Way, set[int]] = {}
    for row in found["segments"]:
        if seen := places.get((way(row), row["ts_ns"])):
            here = {offset - row["stream_offset"] for offset in seen}
            possible[way(row)] = possible[way(row)] & here if way(row) in possible else here
    assert all(len(each) == 1 for each in possible.values()), possible
    return {key: each.pop() for key, each in possible.items()}


def octets(tables: Tables) -> dict[Way, bytes]:
    """The streams of a capture without holes."""
    return {key: b"".join(row["raw"] for row in rows) for key, rows in by_way(tables["raw_frames"]).items()}


def tiling(found: Tables) -> Iterator[str]:
    """The rows of a direction meet end to start, from 0 to its length."""
    lengths = {(row["stream"], name): row[f"octets_{name}"] for row in found["streams"] for name in ("c2s", "s2c")}
    for key, rows in by_way(found["raw_frames"]).items():
        at = 0
        for row in rows:
            if row["stream_offset"] != at or (row["raw"] is None) != (row["kind"] == "gap"):
                yield f"{key} at {at}: {row}"
            at += row["length_octets"]
        if at != lengths[key]:
            yield f"{key} ends at {at}, not {lengths[key]}"


def invented_octets(found: Tables, whole: Tables, shift: Shifts) -> Iterator[str]:
    """Every octet is that of the whole capture at the same place."""
    streams = octets(whole)
    for row in found["raw_frames"]:
        if row["raw"] is None:
            continue
        at = row["stream_offset"] + shift[way(row)]
        if streams[way(row)][at : at + row["length_octets"]] != row["raw"]:
            yield f"{way(row)} at {at}: {row['kind']} {row['raw'][:60]!r}"


def frames(found: Tables, whole: Tables, shift: Shifts) -> Iterator[str]:
    """Every frame that was captured whole is there; no frame is there that the whole capture has not."""
    there = {(*way(row), row["stream_offset"] + shift[way(row)]): row for row in found["raw_frames"] if row["kind"] == "frame"}
    true = {(*way(row), row["stream_offset"]): row for row in whole["raw_frames"] if row["kind"] == "frame"}
    for key in there.keys() - true.keys():
        yield f"invented at {key}: {there[key]['raw'][:60]!r}"
    for key in there.keys() & true.keys():
        if there[key]["raw"] != true[key]["raw"]:
            yield f"another at {key}: {there[key]['raw'][:60]!r} for {true[key]['raw'][:60]!r}"
    held = captured(found, shift)
    for key in true.keys() - there.keys():
        if true[key]["delimited_by"] not in ("nul", "content_length"):
            continue  # its length is a lie: behind a gap, nothing tells it from what another frame quotes
        begin, end = key[2], key[2] + true[key]["length_octets"]
        if any(b <= begin and end <= e for b, e in held.get(key[:2], [])):
            yield f"missing at {key}: {true[key]['raw'][:60]!r}"


def captured(found: Tables, shift: Shifts) -> dict[Way, list[tuple[int, int]]]:
    """The stretches of each direction that were captured, by the offsets of the whole."""
    held: dict[Way, list[tuple[int, int]]] = defaultdict(list)
    for key, rows in by_way(found["raw_frames"]).items():
        for row in rows:
            if row["raw"] is None:
                continue
            begin = row["stream_offset"] + shift[key]
            if held[key] and held[key][-1][1] == begin:
                begin = held[key].pop()[0]
            held[key].append((begin, row["stream_offset"] + shift[key] + row["length_octets"]))
    return held


# where a row begins, and whose direction that is
FACTS = {
    "deliveries": ("stream_offset", "s2c"),
    "receipts": ("request_offset", "c2s"),
    "transactions": ("begin_offset", "c2s"),
    "subscriptions": ("subscribe_offset", "c2s"),
}


def facts(found: Tables, whole: Tables, shift: Shifts) -> Iterator[str]:
    """No delivery, receipt, transaction or subscription that was none, no settlement or latency of a delivery that was another."""
    for name, (place, direction) in FACTS.items():
        true = {(row["stream"], row[place]): row for row in whole.get(name, [])}
        for row in found.get(name, []):
            key = row["stream"], row[place] + shift[row["stream"], direction]
            if key not in true:
                yield f"{name} {key} is invented"
            elif name == "deliveries" and not same_settlement(row, true[key], shift):
                yield f"{name} {key}: {row} for {true[key]}"


def same_settlement(row: Row, true: Row, shift: Shifts) -> bool:
    """No settlement is told, or the true one; or a later one is, and it is told that octets are missing.

    Of two ACKs of one MESSAGE, which break a rule, the second counts where the first is lost. Frames seen only when they were sent again,
    because their first packet was lost, come later.
    """
    if row["status"] == "unknown":
        return row["ack_latency_us"] is None
    if row["settle_offset"] is None:
        return True
    true_by, by = true["settle_offset"], row["settle_offset"] + shift[row["stream"], "c2s"]
    if true_by is None or true_by != by:
        return row["octets_missing"] and true_by is not None and true_by < by and row["settled_by"] == true["settled_by"] == "direct"
    later = row["settled_ns"] - true["settled_ns"], row["delivered_ns"] - true["delivered_ns"]
    same = all(row[name] == true[name] for name in ("settlement", "settled_by"))
    same &= row["status"] in (true["status"], "open")  # the close may be lost that left its transaction aborted
    return same and min(later) >= 0 and abs(row["ack_latency_us"] - true["ack_latency_us"] - (later[0] - later[1]) / 1000) <= 1


def wrong(found: Tables, whole: Tables) -> list[str]:
    """All that a capture with holes says and may not."""
    shift = shifts(found, whole)
    return [
        *tiling(found),
        *invented_octets(found, whole, shift),
        *frames(found, whole, shift),
        *facts(found, whole, shift),
    ]
