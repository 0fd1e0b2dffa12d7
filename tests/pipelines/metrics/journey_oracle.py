"""Which SEND each MESSAGE comes from, worked out one by one: slow, and written without the SQL in mind."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

H = 3600 * 10**9


def joined(tables: dict[str, list[dict[str, Any]]]) -> dict[tuple[str, int], tuple[str, tuple[str, int] | None]]:
    """By MESSAGE: how it is joined, and to which SEND. Of one source, brokers without identities, and clocks that agree."""
    product = {row["stream_id"]: row["server_product"] for row in tables["sessions"]}
    sends = [row | {"at": row["effective_ns"] or row["sent_ns"]} for row in tables["sends"] if row.get("transaction_outcome") != "aborted"]
    holes = [row for row in tables["raw_frames"] if row["kind"] == "gap"]
    frames = [row for row in tables["raw_frames"] if row["kind"] == "frame"]
    found, heads = dict[tuple[str, int], tuple[str, tuple[str, int] | None]](), dict[tuple[str, int], list[tuple[str, int]]]()
    early = {row["stream_id"]: -1 if row["syn_seen"] or row["synack_seen"] else row["first_ns"] + H for row in tables["streams"]}
    lanes = defaultdict[tuple[Any, ...], list[dict[str, Any]]](list)
    for row in sorted(tables["deliveries"], key=lambda row: (row["first_ns"], row["stream_id"], row["stream_offset"])):
        name = row["moved_from"] or row["destination_name"]
        lanes[name, row["content_hash"], row["stream_id"] if name.startswith("topic/") else None].append(row)
    doubted = set[tuple[str, int]]()
    for (name, body, _), rows in lanes.items():
        offers = sorted((row for row in sends if (row["destination_name"], row["content_hash"]) == (name, body)),
                        key=lambda row: (row["at"], row["stream_id"], row["stream_offset"]))  # fmt: skip
        counted, marked, ids = [], [], defaultdict[str, list[dict[str, Any]]](list)
        for row in rows:
            by_id = product[row["stream_id"]] == "Artemis"
            number = row["message_id"].rpartition(",")[2]  # behind that of the consumer
            earlier = ids[number] if by_id else []
            if earlier and row["first_ns"] - earlier[-1]["first_ns"] <= H:
                heads[key(row)] = [key(earlier[0])] if row["first_ns"] - earlier[0]["first_ns"] <= H else []
            elif row["moved_from"] or (row["redelivered"] and not by_id):
                marked.append(row)
            else:
                counted.append(row)
            if by_id:
                ids[number].append(row)
        for chain in chains(offers, counted):
            waited = [row for row in chain if "at" not in row or not name.startswith("topic/")]
            inherited = len(chain) > 2 and any(time(row) <= early[row["stream_id"]] for row in waited)
            walk(chain, offers, holes, frames, found, inherited)
            doubted |= {key(row) for row in chain if inherited}
        for row in marked:
            earlier, can = [one for one in counted if 0 <= row["first_ns"] - one["first_ns"] <= H], possible(row, offers)
            sure = not {key(one) for one in earlier} & doubted if earlier else time(row) > early[row["stream_id"]]
            sure &= len(earlier) <= 1 and all(time(one) >= can[0]["at"] for one in earlier if can)
            same = len(can) == 1 and (can[0]["own_id"] or sure)
            found[key(row)] = (alone(row, offers, holes, frames) if same else None) or ambiguous(row, offers)
    for row_key, head in heads.items():
        found[row_key] = found[head[0]] if head else ("none", None)
    return found


def key(row: dict[str, Any]) -> tuple[str, int]:
    return row["stream_id"], row["stream_offset"]


def time(row: dict[str, Any]) -> int:
    return int(row["at"] if "at" in row else row["first_ns"])


def chains(offers: list[dict[str, Any]], messages: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The sequence of both, cut at each pause of more than a horizon."""
    every = sorted((*offers, *messages), key=lambda row: (time(row), "at" not in row, row["stream_id"], row["stream_offset"]))
    cuts = [0, *(at for at, (one, other) in enumerate(pairwise(every), 1) if time(other) - time(one) > H), len(every)]
    return [every[begin:end] for begin, end in pairwise(cuts)] if every else []


def walk(
    chain: list[dict[str, Any]], offers: list[dict[str, Any]], holes: list[Any], frames: list[Any],
    found: dict[tuple[str, int], tuple[str, tuple[str, int] | None]], inherited: bool,
) -> None:
    """Judge the messages of a chain: bursts begin and end with nothing waiting, but where some `inherited` what waited before."""
    vague = inherited or time(chain[-1]) - time(chain[0]) > 2 * H
    burst, bursts, waiting = (list[Any](), list[Any]()), list[tuple[list[Any], list[Any]]](), 0
    for row in chain:
        if "at" in row:
            burst[0].append(row)
            waiting += 1
        elif waiting:
            burst[1].append(row)
            waiting -= 1
            if not waiting:
                bursts.append(burst)
                burst = [], []
        else:
            vague = True
    of_one = [pair for pair in bursts if len({sent["stream_id"] for sent in pair[0]}) == 1]
    partner = {key(got): sent for sents, gots in of_one for sent, got in zip(sents, gots, strict=True)}
    for row in chain:
        if "at" in row:
            continue
        sent, verdict = partner.get(key(row)), alone(row, offers, holes, frames)
        if verdict and (not vague or is_distinct(row, offers)):
            found[key(row)] = verdict
        elif sent and not verdict and not vague and time(row) - time(sent) <= H and not lost(row, sent, holes, frames):
            found[key(row)] = "ordered", key(sent)
        else:
            found[key(row)] = ambiguous(row, offers)


def possible(row: dict[str, Any], offers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in offers if 0 <= row["first_ns"] - one["at"] <= H]


def is_distinct(row: dict[str, Any], offers: list[dict[str, Any]]) -> bool:
    return bool(possible(row, offers)[0]["own_id"])


def alone(
    row: dict[str, Any], offers: list[dict[str, Any]], holes: list[Any], frames: list[Any]
) -> tuple[str, tuple[str, int] | None] | None:
    """The one SEND that a MESSAGE can come from."""
    can = possible(row, offers)
    if len(can) != 1 or (lost(row, can[0], holes, frames) and not can[0]["own_id"]):
        return None
    return "unique", key(can[0])


def ambiguous(row: dict[str, Any], offers: list[dict[str, Any]]) -> tuple[str, tuple[str, int] | None]:
    return "ambiguous" if possible(row, offers) else "none", None


def lost(row: dict[str, Any], sent: dict[str, Any], holes: list[Any], frames: list[Any]) -> bool:
    """Whether a hole in the hour of a MESSAGE or the one before has room for a SEND."""
    for hole in holes:
        [at] = {frame["last_ns"] for frame in frames if frame["stream_id"] == hole["stream_id"]
                and abs(frame["stream_offset"] - hole["stream_offset"]) == 1}  # fmt: skip
        if row["first_ns"] // H - at // H in (0, 1) and hole["length_octets"] >= sent["length_octets"]:
            return True
    return False
