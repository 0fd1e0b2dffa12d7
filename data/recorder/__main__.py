"""Entry point: `python -m data.recorder OUTDIR [--broker NAME]...`.

Exit codes: 0 recorded; 1 a recording failed; 2 usage; 3 the machine lacks something.
"""
from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from pathlib import Path

from data.recorder.brokers import BROKERS
from data.recorder.needs import MissingNeedError, ensure
from data.recorder.record import record


def main() -> int:
    """Parse, make sure of the needs, record."""
    parser = argparse.ArgumentParser(prog="python -m data.recorder", description="Record real brokers on loopback.")
    parser.add_argument("outdir", type=Path, help="folder for captures and truth files")
    parser.add_argument("--broker", action="append", choices=list(BROKERS), help="only this one (repeatable)")
    given = parser.parse_args()
    # Ended by SIGTERM, the context managers must still end brokers and tcpdump.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    names = given.broker or list(BROKERS)
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "stompcap"
    try:
        ensure(names)
        with tempfile.TemporaryDirectory(prefix="stompcap-record-") as scratch:
            record(given.outdir, cache, Path(scratch), names)
    except MissingNeedError as error:
        print(f"data.recorder: {error}", file=sys.stderr)
        return 3
    except RuntimeError as error:
        print(f"data.recorder: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
