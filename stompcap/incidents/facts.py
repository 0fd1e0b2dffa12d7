"""What is known of an incident, and what is said of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from stompcap.units import duration
from stompcap.visible import visible

LONGEST = 160  # characters of a sentence, about
QUOTED, NAMED = 90, 60
OFTEN = 3
"""From so many equal refusals or ERRORs of a client on, someone should look; fewer are worth a note."""


@dataclass(frozen=True)
class Facts:
    """An incident as the tables show it; times in nanoseconds, `end_ns` of what happened last, None where nothing ended it.

    `events` happened, with amounts whose meaning is the kind's; `text` is what brokers or rules say, `what` tells it from others of its
    subject. `of_all` is the share of the connections of the source that are meant, where a kind asks for it.
    `before` is what the amounts were before, `backlog` how much that of the destination grew, `late_s` how late its messages came.
    """

    kind: str
    subject_kind: str
    subject: str
    source: str
    begin_ns: int
    latest_ns: int
    end_ns: int | None
    events: int
    what: str = ""
    text: str | None = None
    server_product: str | None = None
    messages: int = 0
    least: float | None = None
    mean: float | None = None
    most: float | None = None
    total: float | None = None
    of_all: float | None = None
    destination_name: str | None = None
    before: float | None = None
    backlog: float | None = None
    late_s: float | None = None

    @property
    def name(self) -> str:
        """The subject for people."""
        return visible(self.subject, NAMED)

    @property
    def broker(self) -> str:
        """The broker for people."""
        return visible(self.server_product or "the broker", NAMED)

    @property
    def period_s(self) -> float | None:
        """Seconds between two events, on average; None of one."""
        return (self.latest_ns - self.begin_ns) / 1e9 / (self.events - 1) if self.events > 1 else None

    @property
    def quote(self) -> str:
        """What was said, in quotation marks, behind a colon, without what it lists at length in brackets; nothing where it is not known."""
        said = re.sub(r"(?s)(.)\[[^\[\]]{40,}.*", r"\1[…]", (self.text or "").strip())
        return f': "{visible(said, QUOTED)}"' if said else ""


Number = tuple[str, str, float | None, float | None]
"""What, its unit, before the incident, during it."""


@dataclass(frozen=True)
class Summary:
    """What is said of an incident; `would_change`, what would change it, makes it likely instead of proven."""

    level: str
    sentence: str
    numbers: tuple[Number, ...] = field(default=())
    would_change: str | None = None


def every(facts: Facts) -> str:
    """`, one every 2 s`; nothing where they are too close or only one."""
    period = facts.period_s
    return "" if period is None or period < 0.01 else f", one every {seconds(period)}"


def seconds(number: float) -> str:
    """Seconds as people read them."""
    return duration(number * 1e6)


def destination(name: str) -> str:
    """A destination for people: /queue/orders of queue/orders."""
    return visible(f"/{name}" if name.startswith(("queue/", "topic/")) else name, NAMED)
