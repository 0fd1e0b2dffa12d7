"""What `export --comments` says of packets: the findings of streams, and the incident whose streams they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stompcap.assembly.addresses import endpoints_of
from stompcap.lake import query
from stompcap.rules.catalogue import BY_ID
from stompcap.tables.levels import SPELLED
from stompcap.tables.words import DIRECTIONS, LEVELS, SIDES

if TYPE_CHECKING:
    from stompcap.export import Names, Note

Row = Mapping[str, Any]

FINDINGS = (
    "SELECT t.stream_id, t.direction, t.ts_ns, t.rule_id, t.level, t.side, t.evidence, r.last_ns, "
    "r.stream_offset + r.length_octets - 1 AS last FROM compliance_findings t LEFT JOIN raw_frames r ON r.stream_id = t.stream_id "
    "AND r.direction = t.direction AND r.stream_offset = t.stream_offset WHERE list_contains(?, t.stream_id) "
    "ORDER BY t.ts_ns, t.stream_id, t.direction, t.stream_offset, t.rule_id, t.evidence"
)
FRAME = (
    "SELECT last_ns, stream_offset + length_octets - 1 FROM raw_frames WHERE stream_id = ? AND direction = ? AND stream_offset = ? "
    "AND last_ns IS NOT NULL"
)


def notes_of(lake: str, streams: Sequence[Row], incident: Row | None, names: Names | None) -> list[Note]:
    """The comments of streams, rows of table streams: of an incident first, then of findings, the strictest first.

    With `names`, what the packets are anonymised by, they say nothing that is from the wire.
    """
    from stompcap.export import Note

    flows, said = {row["stream_id"]: _flow(row, names) for row in streams}, list[Note]()

    def note(stream: str, direction: str, ns: int | None, last: int | None, text: str) -> None:
        if ns is not None and stream in flows:
            endpoints, client_low = flows[stream]
            said.append(Note(endpoints, client_low == (direction == DIRECTIONS[0]), ns, -1 if last is None else last, text))

    with query.opened({name: query.all_files(lake, name) for name in ("compliance_findings", "raw_frames")}) as database:
        if incident is not None:
            text = f"stompcap: incident, {incident['level']}: {incident['kind'] if names else incident['sentence']}"
            for one in incident["frames"] or ():
                for ns, last in database.execute(FRAME, [one["stream_id"], one["direction"], one["stream_offset"]]).fetchall():
                    note(one["stream_id"], one["direction"], ns, last, text)
            for row in () if said else streams:
                note(row["stream_id"], DIRECTIONS[0], row["last_ns"], None, text)
        found = database.execute(FINDINGS, [list(flows)]).to_arrow_table().to_pylist()
    for row in sorted(found, key=lambda row: LEVELS.index(row["level"])):
        at = row["ts_ns"] if row["last_ns"] is None else row["last_ns"]
        note(row["stream_id"], row["direction"], at, row["last"], _sentence(row, names))
    return said


def _flow(stream: Row, names: Names | None) -> tuple[bytes, bool]:
    """The endpoints of a stream as the packets have them, and whether its client is the low one."""
    return endpoints_of(stream if names is None else {**stream, **{f"{side}_ip": names.address(stream[f"{side}_ip"]) for side in SIDES}})


def _sentence(finding: Row, names: Names | None) -> str:
    rule = finding["rule_id"]
    text = f"stompcap {rule} {SPELLED[finding['level']]}, {finding['side']}: {BY_ID[rule].title if rule in BY_ID else ''}"
    return text if names or not finding["evidence"] else f"{text}: {finding['evidence']}"
