"""Errors that a user sees: one line that names the problem and the remedy; each kind has its exit code."""

from __future__ import annotations

import os
import traceback


class StompcapError(Exception):
    """Base of all errors meant for users; `exit_code` is that of the command line."""

    exit_code = 1


class UsageError(StompcapError):
    """The request is invalid."""

    exit_code = 2


class EnvironmentProblem(StompcapError):
    """Java, Spark, Delta's JARs or the lake's location do not work."""

    exit_code = 3


class CaptureError(StompcapError):
    """A named input could not be read: missing, no permission, not a capture, over a limit."""

    exit_code = 4

    def __init__(self, path: str, remedy: str) -> None:
        super().__init__(f"{path}: {remedy}")
        self.path = path
        self.remedy = remedy

    def __reduce__(self) -> tuple[type[CaptureError], tuple[str, str]]:
        """Spark's workers send errors to the driver by pickle."""
        return (type(self), (self.path, self.remedy))


class NoSuchFile(CaptureError):
    """A file that was named is not there."""

    def __init__(self, path: str, remedy: str = "no such file; check the name") -> None:
        super().__init__(path, remedy)


class NoCapture(CaptureError):
    """A file was read and is not a capture by its magic."""


def unforeseen(path: str, error: Exception) -> CaptureError:
    """The error of a capture on which this program fails: names the line of code, and none of the capture's octets.

    A CaptureError is returned unchanged; another StompcapError is not the capture's fault, and raised.
    """
    if isinstance(error, CaptureError):
        return error
    if isinstance(error, StompcapError):
        raise error
    package = os.path.dirname(__file__)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(package)]
    inside = f" in {os.path.relpath(frames[-1].filename, package)}, line {frames[-1].lineno}" if frames else ""
    problem = f"could not be read ({type(error).__name__}{inside}); please report it; other captures are not affected"
    return CaptureError(path, problem)


class LakeBusy(StompcapError):
    """Another run has locked the lake."""

    exit_code = 5
