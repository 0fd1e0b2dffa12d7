"""Entry point: `python -m data.recorder.incidents OUTDIR [--broker NAME]...`; brokers are recorded side by side, in six minutes.

Exit codes: 0 recorded; 1 a recording failed; 2 usage; 3 the machine lacks something.
"""
from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from data.recorder.incidents.record import BALANCERS, record
from data.recorder.needs import MissingNeedError, ensure


def main() -> int:
    """Parse the arguments, check the needs, record."""
    parser = argparse.ArgumentParser(prog="python -m data.recorder.incidents", description="Record incidents of real brokers.")
    parser.add_argument("outdir", type=Path, help="folder for captures and truth files")
    parser.add_argument("--broker", action="append", choices=list(BALANCERS), help="only this one (repeatable)")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    names = given.broker or list(BALANCERS)
    overs = [threading.Event() for _ in names]
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "stompcap"
    try:
        ensure(names, {"haproxy": "haproxy"})
        with tempfile.TemporaryDirectory(prefix="stompcap-record-") as scratch, ThreadPoolExecutor() as pool:
            try:
                for path in pool.map(lambda name, over: record(given.outdir, cache, Path(scratch), name, over), names, overs):
                    print(f"{path.name}: {path.stat().st_size} octets", flush=True)
            finally:
                for over in overs:
                    over.set()
    except MissingNeedError as error:
        print(f"data.recorder.incidents: {error}", file=sys.stderr)
        return 3
    except RuntimeError as error:
        print(f"data.recorder.incidents: {error}", file=sys.stderr)
        return 1
    truths = [json.loads(line) for truth in given.outdir.glob("*.truth.jsonl") for line in truth.read_text(encoding="utf-8").splitlines()]
    passcodes = sorted(line["passcode"] for line in truths if line["kind"] == "login")
    (given.outdir / "passcodes.txt").write_text("".join(f"{passcode}\n" for passcode in passcodes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
