"""Structured logs: records of Python's `logging` below the logger `stompcap`, and one JSON object a line where a command is asked for that.

Programs that call `stompcap.run` get the same records by handlers of their own; what a record is about is its attribute `fields`. No record
has octets of captures. What could be a secret in an error's text, a password in a URL or a key of the environment, is masked; characters
that do not print are escaped, so that no name in a capture makes a line of its own.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from stompcap.visible import visible

if TYPE_CHECKING:
    import logging

FORMATS = ("text", "json")
NAME = "stompcap"
SECRET = re.compile(r"SECRET|TOKEN|PASSWORD|PASSCODE|ACCESS_KEY|API_KEY", re.IGNORECASE)
"""Names of environment variables whose values are secret."""
LEAST = 6
"""Characters of a value that is masked: shorter ones are words."""
IN_URL = re.compile(r"(?<=://)[^/@\s]+:[^/@\s]*(?=@)")
MASKED = "***"

_about: dict[str, Any] = {}
_state = {"structured": False}


def structured() -> bool:
    """Whether this process writes JSON in place of text for people."""
    return _state["structured"]


def begin(level: str = "INFO") -> None:
    """From now on, write records of at least this level to standard error as JSON, one object a line."""
    import logging
    import sys

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            with suppress(OSError, ValueError):  # nobody reads it any more, as where it is printed
                sys.stderr.write(line(record) + "\n")
                sys.stderr.flush()

    logger = logging.getLogger(NAME)
    logger.handlers[:] = [Handler()]
    logger.setLevel(level)
    logger.propagate = False
    _state["structured"] = True


def tell(part: str, message: str, level: str = "INFO", error: BaseException | None = None, **fields: Any) -> None:
    """Log what a part of stompcap has to say, with what is known of it: numbers and words that JSON has."""
    import logging

    root = logging.getLogger(NAME)
    if not root.handlers:
        root.addHandler(logging.NullHandler())  # else logging writes warnings itself
    number = logging.getLevelNamesMapping()[level]
    about_it = {key: value for key, value in {**_about, **fields}.items() if value is not None}
    logging.getLogger(f"{NAME}.{part}").log(number, "%s", visible(message), exc_info=error, extra={"fields": about_it})


@contextmanager
def about(**fields: Any) -> Iterator[None]:
    """What is logged meanwhile, by any thread, is about this run or stage."""
    before = dict(_about)
    _about.update(fields)
    try:
        yield
    finally:
        _about.clear()
        _about.update(before)


def line(record: logging.LogRecord) -> str:
    """A record as one line of JSON, in ASCII: ts, level, logger, message, what it is about, and a traceback where there is one."""
    entry: dict[str, Any] = {
        "ts": f"{datetime.fromtimestamp(record.created, UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z",
        "level": record.levelname,
        "logger": record.name,
        "message": masked(visible(record.getMessage())),
    }
    entry |= {key: masked(value) if isinstance(value, str) else value for key, value in getattr(record, "fields", {}).items()}
    if record.exc_info and record.exc_info[1] is not None:
        import traceback

        entry["traceback"] = masked("".join(traceback.format_exception(record.exc_info[1])))
    return json.dumps(entry, default=str)


def masked(text: str) -> str:
    """A text without passwords of URLs and without values of secret environment variables."""
    text = IN_URL.sub(MASKED, text)
    for value in {value for name, value in os.environ.items() if SECRET.search(name) and len(value) >= LEAST}:
        text = text.replace(value, MASKED)
    return text
