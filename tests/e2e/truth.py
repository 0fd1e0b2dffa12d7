"""What the recorded clients logged, and the streams of a lake that it speaks of."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

DATA = Path(__file__).resolve().parents[2] / "data"
Row = dict[str, Any]
NEAR_NS = 5_000_000_000  # a client's clock and the capture's are the same machine's: sessions are found within seconds

LONGEST_NS = 600_000_000_000  # a session that was still open when its log ended (closed_clock_ns is 0)


@dataclass
class Session:
    """One client's log: its summary and what it wrote, by kind."""

    summary: Row
    logged: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))

    @property
    def name(self) -> str:
        """The session's name."""
        return str(self.summary["session"])

    @property
    def ends(self) -> tuple[int, str]:
        """The client's port and the server's address."""
        return self.summary["client_port"], self.summary["server_ip"]

    def shift(self, direction: str) -> int:
        """Octets of a direction that had passed before the capture began."""
        return int(self.summary[f"captured_from_{direction}"])


def truths(folder: Path = DATA) -> list[Path]:
    """The truth files of a recording."""
    return sorted(folder.glob("*.truth.jsonl"))


def captures(folder: Path = DATA) -> list[str]:
    """The capture files of a recording."""
    return sorted(str(path) for path in folder.iterdir() if path.suffix in (".pcap", ".pcapng"))


def sessions(path: Path) -> list[Session]:
    """The sessions of one truth file."""
    found: dict[str, Session] = {}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        if row["kind"] == "session":
            found[row["session"]] = Session(row)
        elif row["kind"] != "capture":
            found[row["session"]].logged[row["kind"]].append(row)
    return list(found.values())


class Observed:
    """Rows of the tables by stream, and streams by endpoints and time."""

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        self.by_stream: dict[str, dict[str, list[Row]]] = {}
        for name, table in tables.items():
            if "stream_id" not in table.column_names:
                continue
            held: dict[str, list[Row]] = defaultdict(list)
            for row in table.to_pylist(maps_as_pydicts="strict"):
                held[row["stream_id"]].append(row)
            self.by_stream[name] = held
        self.streams = [row for rows in self.by_stream.get("streams", {}).values() for row in rows]

    def stream_of(self, session: Session) -> str:
        """The id of the session's stream: of those between its endpoints the one that shares most time with it.

        A client's port is free again as soon as the server has closed, so several may lie within seconds of each other.
        """
        wanted = session.summary
        opened = wanted["opened_clock_ns"]
        closed = wanted["closed_clock_ns"] or opened + LONGEST_NS
        shared = {
            str(row["stream_id"]): min(closed, row["last_ns"]) - max(opened, row["first_ns"])
            for row in self.streams
            if (row["client_port"], row["server_ip"]) == session.ends
        }
        near = {name: time for name, time in shared.items() if time > -NEAR_NS}
        assert near, f"{session.name}: no stream fits"
        return max(near, key=near.__getitem__)

    def unpaired(self, sessions: Iterable[Session]) -> list[str]:
        """Ids of streams between endpoints of these sessions that are not the stream of just one of them."""
        known = list(sessions)
        ends, taken = {session.ends for session in known}, Counter(self.stream_of(session) for session in known)
        between = [str(row["stream_id"]) for row in self.streams if (row["client_port"], row["server_ip"]) in ends]
        return [stream for stream in between if taken[stream] != 1]

    def rows(self, table: str, stream: str) -> list[Row]:
        """The rows of a stream in one table."""
        return self.by_stream[table].get(stream, [])


def all_sessions(folder: Path = DATA) -> Iterator[tuple[str, Session]]:
    """Every session of a recording, with the name of its truth file."""
    for path in truths(folder):
        for session in sessions(path):
            yield path.name.removesuffix(".truth.jsonl"), session
