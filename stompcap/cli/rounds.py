"""The rounds of `watch` as people and programs see them: a line or an object for each that brought something new, warnings beside them."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from stompcap import logs
from stompcap.cli import incidents
from stompcap.cli.incident_command import as_object
from stompcap.cli.stderr import to_stderr
from stompcap.tables.words import UNREADABLE
from stompcap.units import counted, duration
from stompcap.visible import visible

if TYPE_CHECKING:
    from pipelines.result import Result
    from pipelines.watching.rotating import Due
    from stompcap.cli.common import Verbosity

COUNTED = {"streams": "connection", "sessions": "session", "frames": "frame", "compliance_findings": "finding"}
"""Tables whose new rows are told, and what a row is called."""

CLEAR = "\r\x1b[K"  # ECMA-48: erase in line


class Rounds:
    """Prints what a watch tells: rounds on standard output, warnings and errors on standard error.

    On a terminal a round that found nothing new is a line that the next one overwrites; elsewhere it is printed with --verbose only.
    """

    def __init__(self, verbosity: Verbosity) -> None:
        self._verbosity = verbosity
        self._rewrites = sys.stdout.isatty() and not verbosity.as_json and not logs.structured()
        self._warned: set[str] = set()
        self._began = time.monotonic()
        self.new: dict[str, int] | None = None
        """By table, the rows that the lake has more after a round than before it; None where nobody counted them."""

        self.happened: list[tuple[str, Mapping[str, Any]]] = []
        """Incidents that began or ended with a round, which are told behind it."""

    def begin(self) -> None:
        """A round begins its work."""
        self.end()
        self._began = time.monotonic()

    def done(self, result: Result) -> None:
        """Print a round that brought something new."""
        passed = time.monotonic() - self._began
        if self._verbosity.as_json:
            self._object(result.public() | {"seconds": round(passed, 3)})
        elif logs.structured():
            logs.tell("watch", news(result, self.new), run_id=result.run_id, seconds=round(passed, 3))
        elif not self._verbosity.quiet:
            print(f"{_now()}  {news(result, self.new)} in {duration(passed * 1e6)}", flush=True)
        for state, row in self.happened:
            self.incident(state, row)
        self.happened = []

    def idle(self, due: Due) -> None:
        """Print a round that found nothing new, where somebody looks at it."""
        written = f"; {_things(len(due.written), 'file')} being written" if due.written else ""
        line = f"{_now()}  nothing new{written}"
        if self._verbosity.as_json:
            if self._verbosity.verbose:
                self._object({"status": "idle", "written": due.written})
        elif logs.structured():
            logs.tell("watch", "nothing new", "DEBUG", written=due.written)
        elif self._rewrites and not self._verbosity.quiet:
            print(CLEAR + line[: shutil.get_terminal_size().columns - 1], end="", flush=True)
        elif self._verbosity.verbose:
            print(line, flush=True)

    def failed(self, error: Exception) -> None:
        """Print why a round failed, in one line."""
        from stompcap.cli.failures import explain

        self.end()
        shown = {"error": error} if self._verbosity.verbose and logs.structured() else {}
        if self._verbosity.verbose and not shown:
            import traceback

            traceback.print_exception(error)
        line, code = explain(error)
        to_stderr(f"this round failed, the next one tries again: {line}", "ERROR", exit_code=code, **shown)
        if self._verbosity.as_json:
            self._object({"status": "failed", "exit_code": code, "error": line})

    def warn(self, lines: Sequence[str]) -> None:
        """Print warnings, but for those that were printed with the last round that had some: a failed expectation fails again."""
        for line in lines:
            if line not in self._warned:
                self.end()
                to_stderr(line)
        if lines:
            self._warned = set(lines)

    def incident(self, state: str, row: Mapping[str, Any]) -> None:
        """Print that an incident began, or that it ended."""
        if self._verbosity.as_json:
            self._object(as_object(state, row))
        elif logs.structured():
            logs.tell("watch", f"{state}: {row['sentence']}", "WARNING" if row["level"] != "note" else "INFO", **as_object(state, row))
        elif not self._verbosity.quiet:
            self.end()
            print(f"{_now()}  {state} {incidents.line(row)}", flush=True)

    def end(self) -> None:
        """Leave nothing on the line that is overwritten."""
        if self._rewrites:
            print(CLEAR, end="", flush=True)

    def _object(self, values: dict[str, Any]) -> None:
        print(json.dumps({"time": _now("T") + "Z", **values}), flush=True)


def news(result: Result, more: Mapping[str, int] | None = None) -> str:
    """What a round brought, in a few words. `more` are new rows by table; without it rows count that were written, some of them again."""
    new = [one for one in result.captures if one["status"] not in ("known", UNREADABLE)]
    words, rows = [_things(len(new), "capture")], result.rows
    counts = rows if more is None else more
    if not new and not result.captures and rows.keys() <= {"quality_results"}:
        return "expectations checked"  # those of rounds before, which were left out where they came close after each other
    if "sessions" in rows or not rows.get("streams"):
        words += [_things(counts.get(table, 0), name) for table, name in COUNTED.items() if table != "streams"]
    else:
        words.append(f"{_things(counts.get('streams', 0), 'connection')}, none of STOMP")
    return visible(", ".join(words))


def _things(number: int, name: str) -> str:
    return counted(number, name)


def _now(between: str = " ") -> str:
    return f"{datetime.now(UTC):%Y-%m-%d{between}%H:%M:%S}"
