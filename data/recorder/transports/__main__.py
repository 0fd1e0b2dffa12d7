"""Entry point: `python -m data.recorder.transports OUTDIR [--capture NAME]...`.

Exit codes: 0 recorded; 1 a recording failed; 2 usage; 3 the machine lacks something.
"""
from __future__ import annotations

import argparse
import importlib.util
import os
import signal
import sys
import tempfile
from pathlib import Path

from data.recorder.needs import MissingNeedError, ensure

TOOLS = {"haproxy": "haproxy", "openssl": "openssl", "node": "nodejs", "npm": "npm", "chromium": "chromium"}


def main() -> int:
    """Parse the arguments, check the needs, record."""
    if importlib.util.find_spec("wsproto") is None:
        print("data.recorder.transports: missing wsproto: run `.venv/bin/python -m pip install wsproto`", file=sys.stderr)
        return 3
    from data.recorder.transports.programme import RECORDINGS
    from data.recorder.transports.record import record

    parser = argparse.ArgumentParser(prog="python -m data.recorder.transports", description="Record STOMP inside other protocols.")
    parser.add_argument("outdir", type=Path, help="folder for captures, key logs and truth files")
    parser.add_argument("--capture", action="append", choices=[one.name for one in RECORDINGS], help="only this one (repeatable)")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    chosen = [one for one in RECORDINGS if not given.capture or one.name in given.capture]
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "stompcap"
    try:
        ensure(sorted({one.broker.name for one in chosen}), TOOLS)
        with tempfile.TemporaryDirectory(prefix="stompcap-record-") as scratch:
            record(given.outdir, cache, Path(scratch), chosen)
    except MissingNeedError as error:
        print(f"data.recorder.transports: {error}", file=sys.stderr)
        return 3
    except RuntimeError as error:
        print(f"data.recorder.transports: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
