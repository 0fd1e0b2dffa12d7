"""What `export` does: each stream to a file of its own, and these merged into one."""

from __future__ import annotations

import csv
import os
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stompcap.cli import cells, streams
from stompcap.errors import UsageError
from stompcap.visible import visible

if TYPE_CHECKING:
    from stompcap.cli.export_options import Form
    from stompcap.export import Names
    from stompcap.options import Options
    from stompcap.progress import Progress

Row = Mapping[str, Any]
Wanted = Sequence[tuple[dict[str, Any], list[dict[str, Any]]]]

CLOSED = ("tls", "http")
"""Protocols whose octets say nothing of STOMP's secrets."""

IN_CLEAR = ("websocket", "sockjs")
"""Carriers of STOMP whose octets can be read by anyone, and cannot be masked where they are."""

INCIDENT = ("incident_id", "kind", "level", "sentence", "streams", "frames")
SECOND_NS = 1_000_000_000


@dataclass(frozen=True)
class Done:
    """A file that was written, and the captures that its packets come from."""

    format: str
    packets: int
    captures: list[str]
    comments: int | None = None


def named(lake: str, ids: Sequence[str], incident: str | None, around: str | None) -> list[str]:
    """The ids of streams that are named, by themselves, by an incident or a frame, each once."""
    found = [streams.stream(lake, one)["stream_id"] for one in ids]
    if incident is not None:
        found += [str(one) for one in of_incident(lake, incident)["streams"]]
    if around is not None:
        found.append(streams.stream(lake, around.partition(":")[0])["stream_id"])
    return list(dict.fromkeys(found))


def of_incident(lake: str, text: str) -> dict[str, Any]:
    """The row of an incident that names streams, by its id or the beginning of it."""
    from stompcap.lake import open_tables
    from stompcap.lake import tables as lakes
    from stompcap.lake.paths import location

    digits = text.strip().lower()
    if not digits.isalnum():
        raise UsageError(f"{visible(text, 40)}: not an incident's id, nor the beginning of one")
    rows: list[dict[str, Any]] = []
    if open_tables.is_there(location(lake, "incidents")):
        bounds = [("incident_id", ">=", digits), ("incident_id", "<", digits + "g")]
        rows = lakes.small(lake, "incidents", [*INCIDENT], bounds).to_pylist()
    if len(rows) != 1:
        what = f"{len(rows)} incidents begin with that, give more digits" if rows else f"no such incident in {lake}"
        raise UsageError(f"{digits}: {what}; list them with: stompcap show --lake {shlex.quote(lake)}")
    if not rows[0]["streams"]:
        raise UsageError(f"{digits}: this incident names no stream")
    return rows[0]


def around(lake: str, frame: str, seconds: float) -> tuple[int, int]:
    """The times, in nanoseconds, some seconds around a frame: STREAM_ID:OFFSET or STREAM_ID:c2s:OFFSET."""
    from stompcap.lake import query

    name, _, place = frame.partition(":")
    side, _, offset = place.rpartition(":")
    if not offset.isdigit() or side not in ("", "c2s", "s2c"):
        raise UsageError(f"--around {visible(frame, 60)}: say STREAM_ID:OFFSET, or STREAM_ID:c2s:OFFSET, with the stream_offset of a frame")
    stream = streams.stream(lake, name)
    with query.opened({"raw_frames": query.all_files(lake, "raw_frames")}) as database:
        rows = database.execute(
            "SELECT direction, first_ns, last_ns FROM raw_frames WHERE stream_id = ? AND stream_offset <= ? "
            "AND stream_offset + greatest(length_octets, 1) > ? AND last_ns IS NOT NULL ORDER BY direction",
            [stream["stream_id"], int(offset), int(offset)],
        ).fetchall()
    rows = [row for row in rows if side in ("", row[0])]
    if not rows:
        raise UsageError(f"--around {visible(frame, 60)}: the stream has no frame at this offset")
    if len({row[0] for row in rows}) > 1:
        raise UsageError(f"--around {visible(frame, 60)}: both sides have a frame there; say {name}:c2s:{offset} or {name}:s2c:{offset}")
    return int(min(row[1] for row in rows) - seconds * SECOND_NS), int(max(row[2] for row in rows) + seconds * SECOND_NS)


class Exporting:
    """Writes streams of a lake to one file."""

    def __init__(self, lake: str, output: str, form: Form, progress: Progress) -> None:
        self.lake, self.output, self.form, self.progress = lake, output, form, progress
        self.names = names_of(lake) if form.anonymise else None

    def write(self, wanted: Wanted, within: tuple[int, int] | None, incident: Row | None = None) -> Done:
        """Write the packets of streams, rows of table streams with the captures of their sources; where asked for, with comments."""
        if self.form.comments:
            return self._commented(wanted, within, incident)
        return self._packets(wanted, within, self.output)

    def _commented(self, wanted: Wanted, within: tuple[int, int] | None, incident: Row | None) -> Done:
        from stompcap.cli.export_comments import notes_of
        from stompcap.export import annotate, merge, place

        with self._drafts() as drafts:
            draft = os.path.join(drafts, "packets.pcapng")
            done = self._packets(wanted, within, draft)
            if done.format != "pcapng":
                merge([draft], draft := os.path.join(drafts, "again.pcapng"))
            notes = notes_of(self.lake, [stream for stream, _ in wanted], incident, self.names)
            begin, end = within or (min((note.ns for note in notes), default=0), max((note.ns for note in notes), default=0))
            texts = place(draft, [note for note in notes if begin <= note.ns <= end])
            return Done("pcapng", done.packets, done.captures, annotate(draft, self.output, texts))

    def _drafts(self) -> tempfile.TemporaryDirectory[str]:
        folder = os.path.dirname(os.path.abspath(self.output))
        return tempfile.TemporaryDirectory(prefix=".export-", dir=folder if os.path.isdir(folder) else None)

    def _packets(self, wanted: Wanted, within: tuple[int, int] | None, output: str) -> Done:
        if len(wanted) == 1 and within is None and self.names is None:
            return self._stream(*wanted[0], output)
        from stompcap.export import merge

        with self._drafts() as drafts:
            parts, captures = [], dict[str, None]()
            for number, (stream, of) in enumerate(wanted):
                parts.append(os.path.join(drafts, f"{number}-{stream['stream_id']}.pcap"))
                captures |= dict.fromkeys(self._stream(stream, of, parts[-1]).captures)
            self.progress.begin(f"writing {self.output}")
            kind, count = merge(parts, output, *([within] if within else []))
        if not count:
            raise UsageError("there are no packets in these seconds; make --seconds larger")
        if self.names is not None:
            write_names(f"{self.output}.names.csv", self.names)
        return Done(kind, count, list(captures))

    def _stream(self, stream: dict[str, Any], captures: list[dict[str, Any]], output: str) -> Done:
        """Write one stream."""
        from stompcap.export import find, write, write_anonymised

        carried = stream["transport"] != "tcp" or self._has_layers(stream)
        if self.form.inner or (self.names is not None and carried):
            return Done("pcap", self._write_inner(stream, output), [])
        if self.names is not None and stream["protocol"] != "stomp":
            raise UsageError(f"{stream['stream_id']}: shows no STOMP, so that nothing tells its names; --anonymise is for streams that do")
        if stream["transport"] in IN_CLEAR and not self.form.original:
            raise UsageError(
                f"{stream['stream_id']}: its bytes are inside {stream['transport']}, where secrets cannot be masked; "
                "add --inner to have what it carries as plain TCP, masked, or --original to have its packets, secrets and all"
            )
        self.progress.begin("searching for the packets")
        files, found = find(stream, captures)
        self.progress.begin(f"writing {self.output}")
        options = None if self.form.original or _sealed(stream) else secrets_of(self.lake, stream)
        used = [files[rank].path for rank in found.numbers]
        count = sum(map(len, found.numbers.values()))
        if self.names is None:
            return Done(write(output, files, found, stream, options), count, used)
        masked = f"{output}.masked"
        write(masked, files, found, stream, options)
        count = write_anonymised(masked, output, stream["source"], self.names, tunnels=found.tunnels)
        os.unlink(masked)
        return Done("pcap", count, used)

    def _has_layers(self, stream: Row) -> bool:
        """Whether something lies between TCP and STOMP, such as a balancer's PROXY header."""
        from stompcap.lake import open_tables
        from stompcap.lake import tables as lakes
        from stompcap.lake.paths import location

        if self.names is None or not open_tables.is_there(location(self.lake, "transports")):
            return False
        return bool(lakes.small(self.lake, "transports", ["stream_id"], [("stream_id", "=", stream["stream_id"])]).num_rows)

    def _write_inner(self, stream: dict[str, Any], output: str) -> int:
        """Write what the tables have of a stream that speaks STOMP; gives how many packets."""
        from stompcap.export import write_inner
        from stompcap.export.inner import ROWS
        from stompcap.lake import query

        if stream["protocol"] != "stomp":
            raise UsageError(f"{stream['stream_id']}: shows no STOMP, so that no table has its bytes; --inner is for streams that do")
        with query.opened({"raw_frames": query.all_files(self.lake, "raw_frames")}) as database:
            found = database.execute(
                f"SELECT {', '.join(ROWS)} FROM raw_frames WHERE stream_id = ? ORDER BY wire_order NULLS LAST, direction, stream_offset",  # noqa: S608
                [stream["stream_id"]],
            )
            return write_inner(output, stream, found.to_arrow_reader(10_000), self.names)


def secrets_of(lake: str, stream: dict[str, Any]) -> Options:
    """The options by which the secrets of a stream are known: the defaults, and the settings of the batch that it came with."""
    from stompcap.lake import tables as lakes
    from stompcap.lake.batch_options import from_json
    from stompcap.options import Options

    rows = lakes.small(lake, "batches", ["batch_id", "options"], filters=[("batch_id", "=", stream["batch_id"])]).to_pylist()
    return Options(settings=from_json(rows[0]["options"]).settings) if rows else Options()


def _sealed(stream: Row) -> bool:
    """Whether its packets show no secret of STOMP in clear: it speaks another protocol, or all that it says is encrypted."""
    return stream["protocol"] in CLOSED or stream["transport"] in ("tls", "wss")


def names_of(lake: str) -> Names:
    """Other names, by a key that is the lake's own: the same ones in all that is exported from it."""
    from stompcap.export.names import Names, key_of
    from stompcap.lake import hash_key

    return Names(key_of(hash_key.of_lake(lake)))


def write_names(path: str, names: Names) -> None:
    """Write which name stands for which, for the eyes of the file's owner only."""
    private = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(private, "w", newline="", encoding="utf-8", errors="backslashreplace") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["kind", "name", "written"])
        out.writerows([kind, cells.csv_text(name), cells.csv_text(written)] for (kind, name), written in sorted(names.replaced.items()))
