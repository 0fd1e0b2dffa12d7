"""Errors a user sees: one line that names what is wrong and what to do; each kind has its exit code."""

from __future__ import annotations


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


class LakeBusy(StompcapError):
    """Another run holds the lake."""

    exit_code = 5
