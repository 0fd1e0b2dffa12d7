"""Captures that tasks fail at, for a reason that nobody foresaw: reported to the driver beside the rows of the others.

A task goes on with what is left, so that one pass finds all of them. What it wrote is of no use then: the driver leaves these
captures out and has the rest done anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from stompcap.errors import unforeseen

if TYPE_CHECKING:
    import pyarrow as pa

STATE = -1  # in place of a capture's rank: what an earlier run left of open connections
FAILURES = "failures"  # the column that reports them


class Failures(dict[int, str]):
    """What is wrong with captures, in words, by their rank."""

    def __init__(self) -> None:
        super().__init__()
        self.unresumed: dict[bytes, str] = {}
        """Flows, by their endpoints, whose saved state could not be gone on with, and why."""

        self.recognised_late: set[bytes] = set()
        """The endpoints of flows with a connection that shows STOMP only now, some octets of which were not kept and not read again."""

    def __bool__(self) -> bool:
        return len(self) > 0 or len(self.unresumed) > 0 or len(self.recognised_late) > 0

    def note(self, rank: int, error: Exception) -> None:
        """Take an error that reading a capture, or working on its segments, ended in."""
        self.setdefault(rank, unforeseen("", error).remedy)

    @contextmanager
    def caught(self, blame: Callable[[Exception], Mapping[int, Exception]]) -> Iterator[None]:
        """Take the errors that `blame` makes of one that is raised inside; an OSError is the machine's, not a capture's."""
        try:
            yield
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not keep the others from being read
            for rank, why in blame(error).items():
                self.note(rank, why)

    def to_json(self) -> str:
        """All of them as text, for another process."""
        unresumed = {endpoints.hex(): why for endpoints, why in self.unresumed.items()}
        return json.dumps([self, unresumed, [endpoints.hex() for endpoints in self.recognised_late]])

    def add_json(self, texts: Iterable[str | None]) -> None:
        """Add those that other processes wrote (`to_json`)."""
        for text in texts:
            captures, states, late = json.loads(text or "[{}, {}, []]")
            self.update({int(rank): remedy for rank, remedy in captures.items()})
            self.unresumed.update({bytes.fromhex(endpoints): why for endpoints, why in states.items()})
            self.recognised_late.update(map(bytes.fromhex, late))


def culprits(segments: pa.Table, attempt: Callable[[pa.Table], None], error: Exception) -> dict[int, Exception]:
    """The captures (ranks) whose segments make `attempt` fail, as it did with all of them and `error`; with the error of each.

    Looked for by halves. All of them where it takes several to fail; STATE where what an earlier run left fails by itself. An OSError is
    raised.
    """
    mine = ranks(segments)
    left = segments.filter(pc.field("capture") < 0)
    if left.num_rows and (why := _raised(attempt, left)):
        return {STATE: why}
    if len(mine) == 1:
        return {mine[0]: error}
    found: dict[int, Exception] = {}
    for half in (mine[: len(mine) // 2], mine[len(mine) // 2 :]):
        some = segments.filter((pc.field("capture") < 0) | (pc.field("capture") >= half[0]) & (pc.field("capture") <= half[-1]))
        if again := _raised(attempt, some):
            found |= culprits(some, attempt, again)
    return found or dict.fromkeys(mine, error)


def _raised(attempt: Callable[[pa.Table], None], segments: pa.Table) -> Exception | None:
    """The error that an attempt fails with, if it does."""
    try:
        attempt(segments)
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is
        return error
    return None


def ranks(segments: pa.Table) -> list[int]:
    """The captures that segments are of; STATE where they are of none."""
    found = sorted(rank for rank in pc.unique(segments.column("capture")).to_pylist() if rank >= 0)
    return found or [STATE]
