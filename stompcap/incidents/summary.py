"""The one function that says an incident: level, sentence and numbers of any kind."""

from __future__ import annotations

from collections.abc import Callable

from stompcap.incidents import connections, surroundings, traffic
from stompcap.incidents.facts import LONGEST, Facts, Summary
from stompcap.visible import visible

KINDS: dict[str, Callable[[Facts], Summary]] = {**traffic.KINDS, **connections.KINDS, **surroundings.KINDS}


def summarise(facts: Facts) -> Summary:
    """What is said of an incident; KeyError for an unknown kind. Names and texts in it are escaped, the whole is not too long."""
    found = KINDS[facts.kind](facts)
    return Summary(found.level, visible(found.sentence, 2 * LONGEST), found.numbers, found.would_change)
