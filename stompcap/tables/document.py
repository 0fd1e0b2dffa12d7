"""The data dictionary, docs/tables.md, made from the schemas: `python -m stompcap.tables.document > docs/tables.md`.

Prose that belongs to no single table stands here; names, types, comments and words come from the schema objects only.
"""

from __future__ import annotations

from stompcap.tables import TABLES, Column, Table
from stompcap.tables.words import SKIPPED

LAYERS = {
    "bronze": "What was on the wire: captures, connections, and every octet of STOMP in exactly one row.",
    "silver": "What it meant: frames decoded, and what the frames of a session have to do with each other.",
    "gold": "What people ask: latencies, heart-beats, rules kept and broken.",
    "operations": "What the pipeline did, how good its tables are, and what it needs to go on.",
}

PREFACE = """\
# The tables

Made by `python -m stompcap.tables.document`; edit the schemas in `stompcap/tables/`, not this file.

A lake is one folder or URI. Each table is a Delta table in a folder of its own name below it, readable by anything that
knows Delta's reader version 1. Names and meanings are public: queries rely on them.

## What holds everywhere

- **One key.** `stream_id` names one TCP connection from its SYN to its end, and a STOMP session is one connection, so
  every table about traffic joins on it. It is computed from the capture source, the two endpoints, and the time and
  sequence number with which the connection was first seen; the name, order and splitting of files play no part.
- **Direction.** `c2s` is from the client to the server, `s2c` back. Which end is the client is read from the handshake;
  without one from the commands sent, and failing that from the port.
- **Place.** `stream_offset` counts octets from the start of a direction's byte stream: 0 is the first octet after the
  SYN, or the first octet captured where there was no SYN. (`stream_id`, `direction`, `stream_offset`) names a frame.
- **Time.** Columns ending in `_ns` are nanoseconds since 1970 in UTC, as the capture has them. Where people filter by
  time there is a `_ts` column of the same stem: a TIMESTAMP in microseconds, the rest cut off. `first_ns` is the
  arrival of a unit's first octet, `last_ns` the moment it was whole; an octet sent again arrives when it arrived first.
- **Which end of a frame counts.** What a client does happens with the first octet of its frame (`begun_ns`,
  `subscribed_ns`, `requested_ns`, `settled_ns`); what a server does with the last one of its own (`delivered_ns`,
  `answered_ns`).
- **Units.** Durations end in `_us` or `_ms`, sizes in `_octets`.
- **Ranges.** Counts, sizes, offsets, places and durations are not negative (`prefetch` is as the client sent it), times lie between 1970
  and 2100, rates between 0 and 1, ports below 65,536; no `last` lies before its `first`, no end before its begin, no percentile below a
  lower one. `stompcap validate` holds every row against it.
- **Not known.** A value that is not known is null; the word `unknown` says that the capture cannot tell. Enumerations
  hold the words listed here and no other: each is a CHECK constraint of its table.
- **Text.** Strings from the wire are UTF-8; octets that are not stay visible as backslash escapes. The exact octets are
  in `raw_frames.raw`.
- **Secrets.** Values of `passcode` headers are masked before anything is written, unless a run is told
  `--keep-credentials`: in `raw` by as many asterisks as the value has octets (then `redacted` is true), in header
  columns by `***`. The passcode of a connection's CONNECT, if it has six octets or more, is masked likewise wherever that connection
  repeats it: in bodies, in values of other headers, in what is no frame.
- **Gaps.** Octets that the capture lacks make a `gap` row in `raw_frames` and a `not_evaluable` where a rule would need
  them; they are never guessed.
"""


def document() -> str:
    """The whole dictionary as Markdown."""
    return "\n".join([PREFACE, *_contents(), *(_table(table) for table in TABLES.values())])


def _contents() -> list[str]:
    """The layers, each with links to its tables."""
    lines = ["## The layers", ""]
    for layer, meaning in LAYERS.items():
        links = ", ".join(f"[{table.name}](#{table.name})" for table in TABLES.values() if table.layer == layer)
        lines.append(f"- **{layer.capitalize()}**: {links}. {meaning}")
    return [*lines, ""]


def _skipped() -> list[str]:
    """Why packets are left out."""
    words = [f"| `{word}` | {_cell(meaning)} |" for word, meaning in SKIPPED.items()]
    return ["The keys of `captures.skipped`, why a packet is not used:", "", "| reason | meaning |", "| --- | --- |", *words, ""]


def _table(table: Table) -> str:
    """One table: what a row is, what identifies it, its columns."""
    key = ", ".join(f"`{name}`" for name in table.key)
    filters = ", ".join(f"`{name}`" for name in table.statistics)
    lines = [
        f"## {table.name}",
        "",
        f"{table.comment}. Layer: {table.layer}. A row is identified by {key}.",
        *([f"Minima and maxima are kept of {filters}: filters on these skip files."] if filters else []),
        "",
        "| column | type | null | meaning |",
        "| --- | --- | --- | --- |",
        *(_column(column) for column in table.columns),
        "",
        *(_skipped() if table.name == "captures" else ()),
    ]
    return "\n".join(lines)


def _column(column: Column) -> str:
    """One line of a table's list."""
    words = f" One of {', '.join(f'`{word}`' for word in column.words)}." if column.words else ""
    meaning = f"{_cell(column.comment)}.{words}"
    return f"| `{column.name}` | {_cell(column.sql_type)} | {'yes' if column.nullable else 'no'} | {meaning} |"


def _cell(text: str) -> str:
    """Text that is safe inside a Markdown table."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


if __name__ == "__main__":
    print(document(), end="")
