"""The score on public traces: for how many stream sides `stompcap.tcp.reassemble` gives the octets that other tools agree on.

`python -m benchmarks.score [FOLDER]`; the folder contains the traces and `expected.tsv`: file, src, dst, tshark_stream, bytes and sha256 of
each side with data. Exit code: 0 if none is missed, 1 if some are, 2 if there is no such folder.
"""

from __future__ import annotations

import csv
import hashlib
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

from stompcap.errors import CaptureError
from stompcap.tcp import reassemble

VARIABLE = "STOMPCAP_TRACES"
Side = tuple[str, str, int, str]  # source, destination, octets, SHA-256


def folder() -> Path:
    """Where the traces are: beside the project, unless the environment variable names another folder."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "captures" / "tcp"
    return Path(os.environ.get(VARIABLE) or beside)


def expected(traces: Path) -> Mapping[str, Counter[Side]]:
    """The expected sides by trace; none where there is no `expected.tsv`."""
    sides: dict[str, Counter[Side]] = defaultdict(Counter)
    table = traces / "expected.tsv"
    if table.exists():
        with table.open(encoding="utf-8") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                sides[row["file"]][row["src"], row["dst"], int(row["bytes"]), row["sha256"]] += 1
    return sides


def endpoint(address: str, port: int) -> str:
    """An endpoint in the table's notation."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def found(trace: Path) -> Counter[Side]:
    """The sides of a trace with data. Raises CaptureError as `reassemble`."""
    sides: Counter[Side] = Counter()
    for connection in reassemble(str(trace)):
        ends = endpoint(*connection.client), endpoint(*connection.server)
        for (source, target), stream in ((ends, connection.c2s), (ends[::-1], connection.s2c)):
            octets = b"".join(piece for _, piece in stream.chunks)
            if octets:
                sides[source, target, len(octets), hashlib.sha256(octets).hexdigest()] += 1
    return sides


def missed(trace: Path, sides: Counter[Side]) -> tuple[Counter[Side], str]:
    """The sides that are not found, and text for what is found instead, or why nothing is."""
    try:
        there = found(trace)
    except CaptureError as problem:
        return sides, str(problem)
    return sides - there, ", ".join(f"{source} > {target}: {octets} octets" for source, target, octets, _ in there) or "no octets"


def main() -> int:
    """Print the score and the missed sides."""
    traces = Path(sys.argv[1]) if len(sys.argv) > 1 else folder()
    wanted = expected(traces)
    if not wanted:
        print(f"{traces}: no expected.tsv there; set {VARIABLE} to the folder with it and the traces", file=sys.stderr)
        return 2
    lost = 0
    for name, sides in sorted(wanted.items()):
        misses, instead = missed(traces / name, sides)
        lost += misses.total()
        for source, target, octets, digest in misses:
            print(f"missed  {name}: {source} > {target}, {octets} octets, {digest[:16]}; found {instead}")
    total = sum(sides.total() for sides in wanted.values())
    print(f"{total - lost} of {total} stream sides, {len(wanted)} traces in {traces}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
