"""What a run did, as its summary and `--json` report it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from stompcap.errors import CaptureError
from stompcap.tables.words import UNREADABLE

if TYPE_CHECKING:
    from stompcap.capture import Survey


@dataclass(frozen=True)
class Refused:
    """A named input that could not be read, and why; a capture has its id, and its row of table captures if the file is still that."""

    path: str
    remedy: str
    capture_id: str | None = None
    row: dict[str, Any] | None = None

    @classmethod
    def of(cls, found: Survey | CaptureError) -> Refused:
        """What examining a file found."""
        if isinstance(found, CaptureError):
            return cls(found.path, found.remedy)
        return cls(found.row["path"], found.row["damage"], found.row["capture_id"], found.row)


@dataclass
class Result:
    """What a run did: the object that `--json` prints."""

    run_id: str
    lake: str
    status: str = "done"
    seconds: float = 0.0
    captures: list[dict[str, str | None]] = field(default_factory=list)
    stages: list[dict[str, Any]] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    failed_expectations: int = 0
    abandoned: int = 0
    """Open connections that nothing could go on with."""

    batches: list[str] = field(default_factory=list)
    """The batches that it committed rows of."""

    data_docs: str | None = None
    began: float = field(default_factory=time.monotonic)
    """When the run began (time.monotonic)."""

    def __post_init__(self) -> None:
        self._lapped = self.began

    def public(self) -> dict[str, Any]:
        """The promised keys alone."""
        names = ("run_id", "lake", "status", "seconds", "captures", "stages", "rows", "warnings", "data_docs")
        return {name: value for name, value in asdict(self).items() if name in names}

    def lap(self, name: str) -> None:
        """Enter a part of the run: the seconds since the part before it ended, and those since the run began."""
        now = time.monotonic()
        self.stages.append({"name": name, "seconds": round(now - self._lapped, 3)})
        self.seconds = round(now - self.began, 3)
        self._lapped = now

    def enter(self, path: str, row: Mapping[str, Any], status: str) -> None:
        """Enter a capture, with a warning where it is damaged."""
        self.captures.append({"path": path, "capture_id": row["capture_id"], "status": status})
        if row["damage"]:
            self.warnings.append(f"{path}: {row['status']}: {row['damage']}")

    def refuse(self, problem: Refused) -> None:
        """Enter an input that cannot be read, in the place of what was entered for the same capture before."""
        self.refused.append(f"{problem.path}: {problem.remedy}")
        self.warnings.append(f"{problem.path}: {problem.remedy}")
        entered = [one for one in self.captures if one["capture_id"] and one["capture_id"] == problem.capture_id]
        for one in entered:
            one["status"] = UNREADABLE
        if problem.path not in {one["path"] for one in entered}:
            self.captures.append({"path": problem.path, "capture_id": problem.capture_id, "status": UNREADABLE})
