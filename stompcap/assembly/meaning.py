"""Whole sessions to what they mean: the session machine, then heart-beats and rules, and only the tables that are wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from stompcap.assembly.assembly import Sessions, only_stomp
from stompcap.options import Options

JUDGED = ("compliance", "compliance_findings")


def meaning(sessions: Sessions, order: Mapping[str, int], options: Options, wants: Callable[[str], bool]) -> dict[str, pa.Table]:
    """Silver and gold rows of whole sessions, by table; `order` ranks captures in wire order."""
    # only tasks that want sessions pay for loading the machines
    from stompcap import rules, session

    whole = only_stomp(sessions)
    if whole.streams.num_rows == 0:
        return {}
    analysis = session.analyse(
        whole.streams,
        whole.raw_frames,
        whole.frames,
        whole.segments,
        dict(order),
        whole.stalls,
        session.Options(options.ack_scope, options.settings.thresholds),
    )
    found = {name: table for name, table in analysis.tables.items() if wants(name)}
    if any(wants(name) for name in JUDGED):
        found |= rules.judge(analysis, options.settings)
    return found
