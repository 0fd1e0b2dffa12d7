"""Connections with heart-beats, in which one side falls silent for known times."""

from __future__ import annotations

from random import Random

from stompcap.generate.conversation import MS, WAYS, Conversation

BEATS = 12
RATIOS = {"late": ((1.2, 1.4),), "violations": ((1.6, 2.8),), "dead": ((3.2, 3.8), (4.2, 6.0))}
"""Silences in intervals; docs/tables.md has the limits. After more than four the other side should have given up (HB-06)."""
VERDICTS = {"late": "late", "violations": "violation", "dead": "dead"}
RULES = {True: "HB-01", False: "HB-02"}


def broken_heart_beats(dice: Random, over: str = "") -> Conversation:
    """Each side is silent for too long up to three times, or never."""
    interval = dice.choice((1_000, 2_000, 4_000))
    talk = Conversation(dice, "broken-heart-beats", over=over)
    talk.connect(beats=(f"{interval},{interval}", f"{interval},{interval}"))
    begin = talk.wire.ns
    beats, kept_on = [], 0
    for from_client in (True, False):
        kinds = [dice.choice(tuple(RATIOS)) for _ in range(dice.randrange(4))]
        counts = {kind: kinds.count(kind) for kind in RATIOS}
        verdict = next((VERDICTS[kind] for kind in reversed(RATIOS) if counts[kind]), "ok")
        talk.truth.heartbeats.append({"direction": WAYS[from_client], "interval_ms": interval, "verdict": verdict, **counts})
        failed = counts["violations"] + counts["dead"]
        if failed:
            talk.truth.findings[RULES[from_client]] = failed
        silences = [dice.uniform(*dice.choice(RATIOS[kind])) for kind in kinds]
        kept_on += sum(ratio > 4 for ratio in silences)
        ratios = [dice.uniform(0.6, 0.95) for _ in range(BEATS)] + silences
        dice.shuffle(ratios)
        ns = begin
        for ratio in ratios:
            ns += int(ratio * interval * 1000) * 1000
            beats.append((ns, from_client))
    if kept_on:
        talk.truth.findings["HB-06"] = kept_on
    # The side that has fewer or shorter silences beats on until the other has done.
    last = {side: max(ns for ns, from_client in beats if from_client == side) for side in (True, False)}
    for side in (True, False):
        beats += [(ns, side) for ns in range(last[side] + interval * MS * 9 // 10, max(last.values()), interval * MS * 9 // 10)]
    for ns, from_client in sorted(beats):
        talk.wire.wait_until(ns)
        talk.wire.send(from_client, b"\n")
    talk.disconnect()
    return talk
