"""Errors that come from below, out of Spark, Arrow or the system, as one line with a remedy and an exit code."""

from __future__ import annotations

import errno
import re

UNFORESEEN = 70  # EX_SOFTWARE of sysexits.h
ENVIRONMENT = 3
UNREADABLE = 4
_CAPTURE_ERROR = re.compile(r"CaptureError: (.+)")
_ENVIRONMENT_SIGNS = (
    ("No space left on device", "the disk is full; free space and run again, nothing was committed twice"),
    ("OutOfMemoryError", "Spark's memory is too small; give more with --conf spark.driver.memory=8g"),
    ("Permission denied", "permission denied; check the permissions of the lake and of the captures"),
    ("Read-only file system", "the lake lies on a read-only file system; name another --lake"),
)


def explain(error: Exception) -> tuple[str, int]:
    """The line to print and the code to end with."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM):
        return f"{error.filename or 'the lake'}: {error.strerror}; free space or check permissions and run again", ENVIRONMENT
    text = str(error)
    found = _CAPTURE_ERROR.search(text)
    if found:
        return found.group(1).strip(), UNREADABLE
    for sign, remedy in _ENVIRONMENT_SIGNS:
        if sign in text:
            return remedy, ENVIRONMENT
    return f"unexpected {type(error).__name__}: {_first(text)} (run again with --verbose for the whole story)", UNFORESEEN


def _first(text: str) -> str:
    """The first telling line of a message that may be a Java stack."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if re.match(r"^\w*(Error|Exception)\b", line)]
    return (telling or lines or ["no message"])[0][:300]
