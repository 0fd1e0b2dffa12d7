"""Entry point: `python -m data.recorder OUTDIR [--broker NAME]... [--capture NAME]...`.

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
from data.recorder.libraries.install import PROGRAMS
from data.recorder.needs import MissingNeedError, ensure
from data.recorder.record import record
from data.recorder.scenarios import PROGRAMME


def main() -> int:
    """Parse the arguments, check the needs, record."""
    parser = argparse.ArgumentParser(prog="python -m data.recorder", description="Record real brokers on loopback.")
    parser.add_argument("outdir", type=Path, help="folder for captures and truth files")
    parser.add_argument("--broker", action="append", choices=list(BROKERS), help="only this one (repeatable)")
    known = list(dict.fromkeys(scenario.capture for scenario in PROGRAMME))
    parser.add_argument("--capture", action="append", choices=known, help="only this one (repeatable); others in the folder stay")
    given = parser.parse_args()
    # Ended by SIGTERM, the context managers must still end brokers and tcpdump.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    names, wanted = given.broker or list(BROKERS), given.capture or known
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "stompcap"
    try:
        programs = [program for name, program in PROGRAMS.items() if name in wanted]
        ensure(names, {tool: package for program in programs for tool, package in program.tools.items()})
        for program in programs:
            program.command(cache)  # installed now, so that a recording does not wait for a registry
        with tempfile.TemporaryDirectory(prefix="stompcap-record-") as scratch:
            record(given.outdir, cache, Path(scratch), names, wanted)
    except MissingNeedError as error:
        print(f"data.recorder: {error}", file=sys.stderr)
        return 3
    except RuntimeError as error:
        print(f"data.recorder: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
