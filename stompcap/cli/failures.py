"""Errors from Typer, Spark, Arrow or the system as one line with a remedy and an exit code."""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile

from stompcap import extras
from stompcap.errors import LakeBusy, NoSuchFile, StompcapError, UsageError

UNFORESEEN = 70  # EX_SOFTWARE of sysexits.h
ENVIRONMENT = 3
UNREADABLE = 4
_CAPTURE_ERROR = re.compile(r"CaptureError: (.+)")
_FULL = "the disk is full; free space and run again; nothing is committed twice"
_READ_ONLY = "the lake is on a read-only file system; use another --lake"
_REMEDIES = {
    errno.ENOSPC: "free space and run again",
    errno.EDQUOT: "free space and run again",
    errno.EROFS: "use another place",
    errno.EACCES: "check permissions and run again",
    errno.EPERM: "check permissions and run again",
}
_ENVIRONMENT_SIGNS = (
    ("No space left on device", _FULL),
    ("OutOfMemoryError", "Spark ran out of memory; give it more with --conf spark.driver.memory=8g"),
    ("Permission denied", "permission denied; check the permissions of the lake and of the captures"),
    ("Read-only file system", _READ_ONLY),
)


def explain(error: Exception, lake: str | None = None) -> tuple[str, int]:
    """The line to print and the exit code. `lake` is the one that was worked on: where it is damaged, the line says so."""
    if why := extras.lacking(error):
        return why, ENVIRONMENT
    may_be_damage = not (isinstance(error, UsageError | LakeBusy | NoSuchFile) or hasattr(error, "format_message"))
    with_lake = extras.has(extras.LAKE)
    if lake is not None and with_lake and may_be_damage:
        from stompcap.lake import damage

        error = damage.explained(lake, error)
    if isinstance(error, StompcapError):
        return str(error), error.exit_code
    if hasattr(error, "format_message"):  # Typer's own; with an empty message it has printed the help
        return _usage(error)
    if isinstance(error, OSError) and error.errno in _REMEDIES:
        name = f"{error.filename}: " if error.filename else ""
        return f"{name}{error.strerror}; {_REMEDIES[error.errno]}", ENVIRONMENT
    text = str(error)
    found = _CAPTURE_ERROR.search(text)
    if found:
        return found.group(1).strip(), UNREADABLE
    for sign, remedy in _ENVIRONMENT_SIGNS:
        if sign in text:
            where = _place(text, lake, full=remedy == _FULL)
            return f"{where}: {remedy}" if where else remedy, ENVIRONMENT
    from stompcap.neighbour import hidden

    if why := hidden(error):
        return why, ENVIRONMENT
    if with_lake:
        from stompcap.lake import stores

        if why := stores.problem(error):
            return f"an object store failed: {why}; run again", ENVIRONMENT
    return f"unexpected {type(error).__name__}: {_first(text)} (run again with --verbose for the traceback)", UNFORESEEN


def _place(text: str, lake: str | None, *, full: bool) -> str | None:
    """The path that an error of the system is about: as its text has it, else the folder with the least space, or the lake."""
    named = re.search(r"['\"\s(:](/[^'\"\s:),]+)", f" {text}")
    if named is not None:
        return named[1]
    places = [place for place in (lake, os.environ.get("SPARK_LOCAL_DIRS"), tempfile.gettempdir()) if place and os.path.isdir(place)]
    return min(places, key=lambda place: shutil.disk_usage(place).free) if full and places else lake


def _usage(error: Exception) -> tuple[str, int]:
    """What is wrong with the command line, and which help explains it."""
    words = " ".join(error.format_message().split())  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    where = f" (see {context.command_path} --help)" if context is not None else ""
    return f"{words.rstrip('.')}{where}" if words else "", getattr(error, "exit_code", 2)


def _first(text: str) -> str:
    """The first informative line of a message that may be a Java stack trace."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    informative = [line for line in lines if re.match(r"^\w*(Error|Exception)\b", line)]
    return (informative or lines or ["no message"])[0][:300]
