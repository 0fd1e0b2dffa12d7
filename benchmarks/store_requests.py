"""Which requests a run sends to an object store, for its captures and for its lake, counted by the tests' own S3 server (moto).

python -m benchmarks.store_requests SMALL.pcap LARGE.pcap
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.s3 import Store, store


def counted(s3: Store, capture: Path, master: str) -> tuple[Counter[tuple[str, str]], dict[str, int]]:
    """The requests of a run, by what they are for and their method; and how many octets of the capture were asked for, in how many runs."""
    lake = f"lake-{capture.stem}"
    uri = s3.put(f"captures/{capture.name}", capture.read_bytes())
    command = [sys.executable, "-m", "stompcap", "run", uri, "--lake", f"s3://bucket/{lake}", "--master", master, "--json"]
    done = subprocess.run(command, capture_output=True, env={**os.environ, **s3.environment}, check=False)
    if done.returncode:
        raise SystemExit(json.loads(done.stdout or b"{}").get("error") or done.stderr.decode()[-500:])
    found = Counter[tuple[str, str]]()
    for method, key, _ in s3.asked:
        of = "captures" if key.startswith("captures/") else "logs" if "_delta_log" in key else "lease" if "_lock" in key else "data files"
        found[of, method] += 1
    read = sum(octets[1] - octets[0] + 1 for _, key, octets in s3.asked if key.startswith("captures/") and octets)
    return found, {"read": read, "size": capture.stat().st_size}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captures", type=Path, nargs="+")
    parser.add_argument("--master", default="local[2]")
    wanted = parser.parse_args()
    with store() as s3:
        runs = [counted(s3, path, wanted.master) for path in wanted.captures]
    table = Table()
    for column in ("requests", *(f"{octets['size'] / 1e6:,.0f} MB" for _, octets in runs)):
        table.add_column(column, justify="right")
    for of in sorted({key for found, _ in runs for key in found}):
        table.add_row(" ".join(of), *(f"{found[of]:,}" for found, _ in runs))
    table.add_row("bytes of the capture asked for, times its size", *(f"{octets['read'] / octets['size']:.2f}" for _, octets in runs))
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
