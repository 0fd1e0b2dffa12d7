"""What the user of the session machine may choose."""

from __future__ import annotations

from dataclasses import dataclass, field

from stompcap import options
from stompcap.settings import Thresholds


@dataclass(frozen=True)
class Options:
    """Choices and limits.

    ack_scope  one of stompcap.options.ACK_SCOPES
    thresholds  what counts as a late, violating or dead gap between heart-beats
    retention  for how many frames of its session what is settled, answered, ended or unsubscribed is still known by its name: what names
               an older one (a second ACK, a late MESSAGE) counts as naming what never was. Frames wait for no more rows than that
               until the other side is captured beyond them (stompcap.session.queue)
    open_limit  how much a session may leave open: what is open beyond that is evicted: emitted as unknown, counted in `sessions.given_up`
    """

    ack_scope: str = options.Options.ack_scope
    thresholds: Thresholds = field(default_factory=Thresholds)
    retention: int = 65_536
    open_limit: int = 524_288

    def __post_init__(self) -> None:
        if self.ack_scope not in options.ACK_SCOPES:
            raise ValueError(f"ack_scope is {options.one_of(options.ACK_SCOPES)}, not {self.ack_scope}")
