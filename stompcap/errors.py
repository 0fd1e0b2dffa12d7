"""Errors a user sees: one line that names what is wrong and what to do; each kind has its exit code."""

from __future__ import annotations

import os
import traceback


class StompcapError(Exception):
    """Base of all errors meant for people; `exit_code` is what the command line ends with."""

    exit_code = 1


class UsageError(StompcapError):
    """The request makes no sense as it stands."""

    exit_code = 2


class EnvironmentProblem(StompcapError):
    """Java, Spark, Delta's JARs or the lake's place is not as it must be."""

    exit_code = 3


class CaptureError(StompcapError):
    """A named input could not be read: missing, no permission, not a capture, over a limit."""

    exit_code = 4

    def __init__(self, path: str, remedy: str) -> None:
        super().__init__(f"{path}: {remedy}")
        self.path = path
        self.remedy = remedy

    def __reduce__(self) -> tuple[type[CaptureError], tuple[str, str]]:
        """Errors cross from Spark's workers to the driver by pickle."""
        return (type(self), (self.path, self.remedy))


class NoCapture(CaptureError):
    """A file could be read and is no capture by its magic."""


def unforeseen(path: str, error: Exception) -> CaptureError:
    """What to say of a capture at which this program fails: where it does so, and nothing that may be the capture's octets.

    A CaptureError says it already; another StompcapError is no capture's fault, and raised.
    """
    if isinstance(error, CaptureError):
        return error
    if isinstance(error, StompcapError):
        raise error
    package = os.path.dirname(__file__)
    places = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(package)]
    place = f" in {os.path.relpath(places[-1].filename, package)}, line {places[-1].lineno}" if places else ""
    says = f"could not be read ({type(error).__name__}{place}); please report it, the other captures are not touched by it"
    return CaptureError(path, says)


class LakeBusy(StompcapError):
    """Another run holds the lake."""

    exit_code = 5
