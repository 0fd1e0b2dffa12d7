"""A capture that comes through a pipe, shown as it comes: the lines of all sessions in order of time.

The segments of each connection that is open are held, and its session is made again from them when more have come; what was
printed is not printed again. So each line is what a run over the packets so far would give. A connection is let go when it has ended,
when it does not speak STOMP, or when it has become too large: then what follows is shown as a session joined midstream.
"""

from __future__ import annotations

import gc
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.capture.segment_columns import SYN
from stompcap.cli.dialogue.lines import Dialogue, Line
from stompcap.cli.live_input import PIPE, LiveInput
from stompcap.cli.signals import expected
from stompcap.cli.tracing import Trace, sessions_of
from stompcap.tcp.flows import in_wire_order

if TYPE_CHECKING:
    from collections.abc import Collection

    from stompcap.cli.printing import Printer
    from stompcap.cli.tracing import Row
    from stompcap.options import Options

INTERVAL_S = 0.2
SHARE = 4  # sessions are made again after so many times what it took the last time
LARGEST = 1 << 23  # octets of a connection that is held
MOST_HELD = 1 << 25  # octets of all connections; the largest are let go first
MOST_CONNECTIONS = 1 << 13  # that are held; let go first are those of which nothing was printed, then the longest silent
SEGMENT_OCTETS = 256  # what describes a segment
APART = 16  # tables that are held before they become one
SILENT = 1 << 16  # octets of a connection after which it speaks STOMP or is let go
LINGER_NS = 2 * 10**9  # how long packets of a connection may come after its end
MOST_IGNORED = 1 << 16
AT_ONCE = 1 << 14  # packets of which sessions are made at once


@dataclass
class Held:
    """What is held of one pair of endpoints, and what was printed of its sessions."""

    octets: int = 0
    packets: int = 0
    last_ns: int = 0
    changed: bool = False
    printed: dict[str, set[object]] = field(default_factory=dict)  # by stream: keys of lines and findings
    ended: set[str] = field(default_factory=set)


class Follower:
    """Takes segments as they come, and prints what is new."""

    def __init__(self, printer: Printer, options: Options) -> None:
        self.printer, self.options = printer, options
        self.tables: list[pa.Table] = []
        self.held: dict[bytes, Held] = {}
        self.ignored: dict[bytes, None] = {}
        self.passcodes: dict[bytes, frozenset[bytes]] = {}
        """By endpoints, of connections that were let go too: what repeats one later is masked."""

        self.found = Trace()
        """What is found besides sessions: no more than MOST_IGNORED other connections."""

    def take(self, segments: pa.Table) -> None:
        """Hold segments; those of endpoints that are ignored only from the next SYN on."""
        if not segments.num_rows:
            return
        encoded = segments.column("endpoints").combine_chunks().dictionary_encode()
        codes, names = encoded.indices.to_numpy(), encoded.dictionary.to_pylist()
        captured, ts_ns, flags = (segments.column(name).to_numpy() for name in ("captured_octets", "ts_ns", "flags"))
        packets = np.bincount(codes)
        octets = np.bincount(codes, SEGMENT_OCTETS + captured).astype(np.int64)
        opened = np.bincount(codes, flags & SYN) > 0
        last_ns = np.zeros(len(names), np.int64)
        np.maximum.at(last_ns, codes, ts_ns)
        taken = np.ones(len(names), np.bool_)
        for code, ends in enumerate(names):
            if ends in self.ignored:
                if not opened[code]:
                    taken[code] = False
                    continue
                del self.ignored[ends]
            held = self.held.setdefault(ends, Held())
            held.octets += int(octets[code])
            held.packets += int(packets[code])
            held.last_ns = max(held.last_ns, int(last_ns[code]))
            held.changed = True
        self.tables.append(segments if taken.all() else segments.filter(pa.array(taken[codes])))
        if len(self.tables) > APART:
            self.tables = [pa.concat_tables(self.tables).combine_chunks()]

    def show(self, now_ns: int, *, over: bool) -> None:
        """Print what is new of the connections that have changed; `over`: nothing more will come."""
        changed, packets = dict[bytes, Held](), 0
        for ends, held in [(ends, held) for ends, held in self.held.items() if held.changed or over]:
            changed[ends] = held
            packets += held.packets
            if packets > AT_ONCE:
                self._show(changed, now_ns, over=over)
                changed, packets = {}, 0
        if changed:
            self._show(changed, now_ns, over=over)
        self._forget(now_ns)

    def _show(self, changed: dict[bytes, Held], now_ns: int, *, over: bool) -> None:
        """Print what is new of some connections, in order of time."""
        segments = in_wire_order(self._segments(pa.array(changed, pa.binary())))
        by_ends: dict[bytes, list[Dialogue]] = {}
        for dialogue in sessions_of(segments, [PIPE], now_ns, self.options, self.passcodes, self.found):
            by_ends.setdefault(ends_of(dialogue), []).append(dialogue)
        fresh = [(line, dialogue) for ends, found in by_ends.items() if ends in changed
                 for dialogue in found for line in self._fresh(dialogue, changed[ends], over=over)]  # fmt: skip
        for line, dialogue in sorted(fresh, key=lambda one: one[0].ns or 0):
            self._print(line, dialogue)
        for ends, held in changed.items():
            held.changed = False
            self._end(held, by_ends.get(ends, []), over=over)
            self._judge(ends, held, by_ends.get(ends, []))
        self.printer.flush()

    def _segments(self, ends: pa.Array) -> pa.Table:
        """The segments held of some endpoints."""
        every = pa.concat_tables(self.tables)
        return every.filter(pc.is_in(every.column("endpoints").cast(pa.binary()), value_set=ends))

    def _fresh(self, dialogue: Dialogue, held: Held, *, over: bool) -> list[Line]:
        """Lines that were not printed yet, and late findings of those that were."""
        if not self.printer.selection.takes_session(dialogue):
            return []
        printed = held.printed.setdefault(dialogue.stream_id, set())
        done = over or dialogue.stream["close_kind"] != "open"
        found = []
        decided = len(dialogue.lines) if done else 1 + max((n for n, line in enumerate(dialogue.lines) if line.kind == "frame"), default=-1)
        for number, line in enumerate(map(self.printer.selection.shown, dialogue.lines)):
            if number >= decided and line.kind != "silence":
                continue  # more octets may come to it
            key = line.key
            new = [one for one in line.findings if (one["rule_id"], one["direction"], one["stream_offset"], one["evidence"]) not in printed]
            if key in printed:
                if self.printer.selection.takes(line):
                    for finding in new:
                        self.printer.finding(dialogue, finding, line)
            elif self.printer.selection.takes(line):
                found.append(line)
            elif self.printer.selection.frames_only:
                continue  # a finding may come to it later
            printed.add(key)
            printed.update((one["rule_id"], one["direction"], one["stream_offset"], one["evidence"]) for one in new)
        return found

    def _print(self, line: Line, dialogue: Dialogue) -> None:
        if dialogue.stream_id not in self.printer.begun:
            self.printer.begin(dialogue)
        self.printer.line(dialogue, line)

    def _end(self, held: Held, found: list[Dialogue], *, over: bool) -> None:
        """Print the summaries of sessions that have ended."""
        for dialogue in found:
            done = over or dialogue.stream["close_kind"] != "open"
            if done and dialogue.stream_id not in held.ended:
                held.ended.add(dialogue.stream_id)
                if dialogue.stream_id in self.printer.begun:
                    self.printer.end(dialogue)

    def _judge(self, ends: bytes, held: Held, found: list[Dialogue]) -> None:
        """Let go of what does not speak STOMP, and of what has become too large."""
        if (not found and held.octets > SILENT) or held.octets > LARGEST:
            self._let_go(ends, ignore=not found)

    def _forget(self, now_ns: int) -> None:
        """Let go of connections that have ended; of the largest where all are too large; of some where they are too many."""
        for ends, held in list(self.held.items()):
            if held.ended and held.ended >= held.printed.keys() and now_ns - held.last_ns > LINGER_NS:
                self._let_go(ends, ignore=False)
        octets = sum(held.octets for held in self.held.values())
        for ends in sorted(self.held, key=lambda ends: -self.held[ends].octets):
            if octets <= MOST_HELD:
                break
            octets -= self.held[ends].octets
            self._let_go(ends, ignore=False)
        silent = sorted(self.held, key=lambda ends: (bool(self.held[ends].printed), self.held[ends].last_ns))
        for ends in silent[: max(0, len(silent) - MOST_CONNECTIONS)]:
            self._let_go(ends, ignore=False)
        if self.tables and sum(table.num_rows for table in self.tables) > sum(held.packets for held in self.held.values()):
            self.tables = [self._segments(pa.array(self.held, pa.binary())).combine_chunks()]
        for ends in [ends for ends in self.passcodes if ends not in self.held][: max(0, len(self.passcodes) - MOST_IGNORED)]:
            del self.passcodes[ends]
        for stream_id in [*self.found.others][MOST_IGNORED:]:
            del self.found.others[stream_id]

    def _let_go(self, ends: bytes, *, ignore: bool) -> None:
        for stream in self.held.pop(ends).printed:
            self.printer.begun.discard(stream)
        if ignore:
            self.ignored[ends] = None
            if len(self.ignored) > MOST_IGNORED:
                del self.ignored[next(iter(self.ignored))]


def ends_of(dialogue: Dialogue) -> bytes:
    """The endpoints of a session, as segments have them."""
    import ipaddress

    def octets(side: str) -> bytes:
        address = ipaddress.ip_address(dialogue.session[f"{side}_ip"])
        mapped = address.packed if address.version == 6 else bytes(10) + b"\xff\xff" + address.packed
        return bytes(mapped) + int(dialogue.session[f"{side}_port"]).to_bytes(2, "big")

    low, high = sorted((octets("client"), octets("server")))
    return low + high


def follow(pipe: BinaryIO, printer: Printer, options: Options) -> Collection[Row]:
    """Print the sessions of a pipe as they come, until its end or a signal; rows of connections that do not speak STOMP."""
    gc.enable()
    with tempfile.TemporaryDirectory(prefix="stompcap-") as folder, expected():
        source, follower = LiveInput(pipe, Path(folder), options), Follower(printer, options)
        follower.found.with_raw = printer.writer.style.octets
        due = 0.0
        try:
            for segments in source.batches(INTERVAL_S):
                follower.take(segments)
                began = time.monotonic()
                if began >= due or source.over:
                    follower.show(source.last_ns, over=source.over)
                    due = time.monotonic() + SHARE * (time.monotonic() - began)
        finally:
            source.spool.close()
        if not source.started:
            from stompcap.cli.stderr import to_stderr

            to_stderr("standard input: no packet came")
        return follower.found.others.values()
