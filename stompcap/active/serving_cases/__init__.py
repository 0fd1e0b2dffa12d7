"""The cases of a scripted broker, which judge clients: a module per family."""

from __future__ import annotations

from stompcap.active.serving_cases import acknowledging, bodies, connecting, ending, framing, heartbeats

FAMILIES = (connecting, framing, bodies, acknowledging, heartbeats, ending)
CASES = tuple(case for family in FAMILIES for case in family.CASES)
