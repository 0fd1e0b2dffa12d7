"""Findings with their first examples: the rows of compliance_findings by what they have in common, and where to look."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.checking.verdict import Example, Finding
from stompcap.tables.levels import SPELLED
from stompcap.units import endpoint
from stompcap.visible import visible, visible_octets

MOST = 3
"""Examples of a finding."""

LONGEST_FRAME, LONGEST_EVIDENCE, LONGEST_COMMAND = 400, 300, 40
KEY = ["stream_id", "direction", "stream_offset"]


def findings_of(tables: Mapping[str, pa.Table], paths: Sequence[str]) -> list[Finding]:
    """The findings of sessions, in the order of the first example of each; `paths` are those of captures by their ids."""
    found = tables["compliance_findings"]
    if not found.num_rows:
        return []
    commands, rows = _by_frame(found, tables["frames"], "command_raw"), _by_frame(found, tables["raw_frames"], None)
    rule, level, side = (found.column(name).to_pylist() for name in ("rule_id", "level", "side"))
    groups: dict[tuple[str, str, str, str | None], list[int]] = defaultdict(list)
    for at in np.argsort(pc.fill_null(found.column("ts_ns"), 0).to_numpy(), kind="stable").tolist():
        command = commands[at]
        groups[rule[at], side[at], SPELLED[level[at]], None if command is None else visible(command, LONGEST_COMMAND)].append(at)
    where = _Where(tables, paths)
    return [
        Finding(*key, len(some), tuple(where.example(found.slice(at, 1).to_pylist()[0], rows[at]) for at in some[:MOST]))
        for key, some in groups.items()
    ]


def _by_frame(found: pa.Table, others: pa.Table, column: str | None) -> list[Any]:
    """A column of another table at the same place of the same stream, or the number of its row; None where it has none."""
    numbers = pa.array(np.arange(found.num_rows))
    values = others.column(column) if column else pa.array(np.arange(others.num_rows))
    there = others.select(KEY).append_column("value", values)
    joined = found.select(KEY).append_column("number", numbers).join(there, KEY, join_type="left outer")
    first: list[Any] = [None] * found.num_rows
    for number, value in zip(joined.column("number").to_pylist(), joined.column("value").to_pylist(), strict=True):
        first[number] = value if first[number] is None else first[number]
    return first


class _Where:
    """Where findings are, and what stands there."""

    def __init__(self, tables: Mapping[str, pa.Table], paths: Sequence[str]) -> None:
        self.raw, self.paths = tables["raw_frames"], paths
        names = ["stream_id", "client_ip", "client_port", "server_ip", "server_port", "version"]
        self.sessions = {row["stream_id"]: row for row in tables["sessions"].select(names).to_pylist()}

    def example(self, finding: Mapping[str, Any], row: int | None) -> Example:
        """One finding; `row` is that of its frame."""
        session = self.sessions[finding["stream_id"]]
        at = row if row is not None else self._before(finding)
        packet = None if at is None else self.raw.column("last_packet")[at].as_py()
        capture = None if at is None else self.raw.column("last_capture_id")[at].as_py()
        octets = None if row is None else self.raw.column("raw")[row].as_py()
        client, server = (endpoint(session[f"{side}_ip"], session[f"{side}_port"]) for side in ("client", "server"))
        return Example(
            visible(finding["evidence"] or "", LONGEST_EVIDENCE), None if capture is None else self.paths[int(capture)], packet,
            finding["stream_id"], client, server, finding["direction"], finding["stream_offset"], finding["ts_ns"], session["version"],
            None if octets is None else visible_octets(octets, LONGEST_FRAME),
        )

    def _before(self, finding: Mapping[str, Any]) -> int | None:
        """The row of the stream that was complete last before a finding's time."""
        mine = pc.equal(self.raw.column("stream_id"), finding["stream_id"])
        times = pc.if_else(mine, pc.fill_null(self.raw.column("last_ns"), -1), -1).to_numpy()
        until = np.where(times <= (finding["ts_ns"] or 0), times, -1)
        at = int(until.argmax()) if len(until) else 0
        return at if len(until) and until[at] >= 0 else None
