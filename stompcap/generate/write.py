"""A generated capture and its truth as files."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from stompcap.generate.group import EPOCH_NS, FILE_HEADER, FIRST_CLIENT, Group
from stompcap.generate.profiles import DAYS, PASSED_ON, Lived, Wanted, lived, made
from stompcap.generate.transports import PROBE
from stompcap.generate.truth import totals

HOUR_S = 3_600


@dataclass(frozen=True)
class Request:
    """What is generated: a profile with its seed, at least so many octets in whole groups; rotation begins a file every `file_s`."""

    profile: str = "normal"
    seed: int = 0
    octets: int = 0
    file_s: int = HOUR_S
    wanted: Wanted = field(default_factory=Wanted)


@dataclass(frozen=True)
class Written:
    """What was written; `keys` is the key log of TLS, if there is any."""

    paths: Sequence[Path]
    truth: Path
    keys: Path | None
    octets: int
    packets: int
    totals: dict[str, Any]


def generate(path: Path, request: Request) -> Written:
    """Write OUT.pcap, or OUT-00000.pcap and so on for rotation, OUT.truth.json, and OUT.keys.txt where TLS carries it.

    The same request gives the same octets.
    """
    hours = lived(request.profile, request.seed, request.wanted) if request.profile in DAYS else Lived((), (), ())
    talks = hours.talks or made(request.profile, request.seed, request.wanted)
    probes = sum(talk.truth.note == PROBE for _, talk in talks)
    apart = {"spread_ns": 0} if request.profile in PASSED_ON or hours.talks else {}
    group = Group([session for session, _ in talks], among=len(talks) - probes, hosts=hours.hosts, **apart)
    clones = max(1, -(-(request.octets - len(FILE_HEADER)) // len(group.octets)))
    if request.profile == "rotation":
        clones, paths = 1, _rotated(path, group, request.file_s)
    else:
        with path.open("wb") as file:
            file.write(FILE_HEADER)
            for number in range(clones):
                file.write(group.clone(number))
        paths = [path]
    truths = [talk.truth for _, talk in talks]
    counted = totals(truths, clones)
    content = {
        "profile": request.profile,
        "seed": request.seed,
        "captures": [one.name for one in paths],
        "packets": clones * len(group.start),
        "totals": counted,
        "groups": clones,
        "group_ns": group.span_ns,
        "connections": [
            truth.placed(str(ipaddress.ip_address(FIRST_CLIENT + 1 + int(group.hosts[slot]))), EPOCH_NS + group.starts[slot])
            for slot, truth in enumerate(truths)
        ],
    }
    if hours.incidents:
        content["incidents"] = [row | {"begin_ns": EPOCH_NS + row["begin_ns"]} for row in hours.incidents]
    beside = path.with_suffix(".truth.json")
    with beside.open("w", encoding="utf-8") as file_of_truth:
        json.dump(content, file_of_truth, indent=1)
        file_of_truth.write("\n")
    key_log = [line for _, talk in talks for line in talk.wire.key_log]
    keys = path.with_suffix(".keys.txt") if key_log else None
    if keys:
        keys.write_text("".join(f"{line}\n" for line in key_log), encoding="ascii")
    return Written(paths, beside, keys, sum(one.stat().st_size for one in paths), clones * len(group.start), counted)


def _rotated(path: Path, group: Group, file_s: int) -> list[Path]:
    """The files of a group that is cut every so many seconds."""
    octets, file_ns = group.clone(0), file_s * 10**9
    starts = np.append(group.start, len(octets))
    times = np.arange(int(group.ns[-1]) // file_ns + 2) * file_ns
    paths = []
    for number, (begin, end) in enumerate(pairwise(starts[np.searchsorted(group.ns, times)].tolist())):
        paths.append(path.with_name(f"{path.stem}-{number:05}{path.suffix}"))
        paths[-1].write_bytes(FILE_HEADER + octets[begin:end])
    return paths
