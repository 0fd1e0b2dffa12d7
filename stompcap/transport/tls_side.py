"""One direction of a TLS connection: its records are opened one after another, and found again behind octets that are missing.

What follows the last record whose tag fitted is known within bounds: so many records certainly passed, so many more may have. The next
tag that fits proves where a record begins, its number and its keys at once. Nothing else is given out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from stompcap.columns import I64
from stompcap.transport.state import Arrays
from stompcap.transport.tls_connection import CLEAR, HANDSHAKE, UNKNOWN, Connection
from stompcap.transport.tls_hello import TLS_1_2, TLS_1_3
from stompcap.transport.tls_keys import EXPLICIT, unwrapped
from stompcap.transport.tls_records import APPLICATION_DATA, CHANGE_CIPHER_SPEC, HEAD, MORE, find_head, heads
from stompcap.transport.tls_search import Searching
from stompcap.transport.tls_state import NUMBERS
from stompcap.transport.tls_suites import CBC

MOST_HELD = 1 << 24
"""Octets that wait for the other side's hello."""

MIDWAY = 1 << 16
"""Records that may have been sent before a capture began."""

ROOM = 1 << 11
DATA = bytes((APPLICATION_DATA,))


class Side(Searching):
    """A direction, driven by what comes of it."""

    @property
    def pieces(self) -> Iterator[tuple[int, bytes]]:
        """What comes and was not taken yet."""
        return self._pieces

    def feed(self, pieces: Iterator[tuple[int, bytes]]) -> None:
        """What comes: how many octets are missing, then octets."""
        self._pieces = pieces

    def work(self) -> bool:
        """Go on until all that came is used up, or something of the other side is needed first; returns whether anything was done."""
        done = False
        while True:
            if self._fresh or self.blocked:
                before = len(self.held)
                self._walk()
                done |= len(self.held) < before
                if self.blocked:
                    return done
            piece = next(self._pieces, None)
            if piece is None:
                return done
            hole, octets = piece
            if hole:
                self._over(hole)
            self.held += octets
            self.came += len(octets)
            self._fresh = done = True

    def wait(self) -> None:
        """Hold what comes until the other side has told what is needed, if nothing is missing in it; else go on without."""
        while self.blocked:
            piece = next(self._pieces, None)
            if piece is None:
                return
            if piece[0] or len(self.held) > MOST_HELD:
                self.patient, self._pieces = False, chain((piece,), self._pieces)
                return
            self.held += piece[1]
            self.came += len(piece[1])

    def leave(self, octets: int) -> None:
        """Octets that nobody looks at."""
        self.held = b""
        self.came += octets
        self._unread(octets)
        self.scanning = 1

    def _walk(self) -> None:
        if self.midway and self.came == len(self.held) and self.held[:1] == b"\x16":
            self.scanning = self.slack = 0  # the handshake alone was missed
        octets, at = np.frombuffer(self.held, np.uint8), 0
        self.blocked, self._fresh, self._base = False, False, self.came - len(self.held)
        kinds, begins, lengths = np.empty((3, min(ROOM, len(octets) // HEAD + 1)), np.int64)
        while at < len(octets) and not self.blocked:
            if self.skip:
                step = min(self.skip, len(octets) - at)
                self.skip, at = self.skip - step, at + step
                continue
            if self.scanning:
                found, whole = find_head(octets, at)
                self._unread(int(found) - at)
                at = int(found)
                if not whole:
                    break
                self.scanning = 0
                self.slack += -(-self.gap // self._shortest())
                self.gap = 0
            count, end, why = heads(octets, at, kinds, begins, lengths)
            done = self._records(kinds[:count], begins[:count], lengths[:count])
            if done < count:
                at, self.blocked = int(begins[done]) - HEAD, True
                break
            at = int(end)
            if why == MORE:
                break
            if count < len(kinds):
                self._broken()
        self.held = self.held[at:]

    def _broken(self) -> None:
        """What follows is no record."""
        self.scanning = 1
        self._forget_message()

    def _forget_message(self) -> None:
        self.left = self.partial = self.partial_octets = 0
        self.body = b""

    def _over(self, hole: int) -> None:
        """So many octets are missing."""
        self.came += hole
        left, held = self.skip, len(self.held)
        if not left and not self.scanning and held >= HEAD:
            length = int.from_bytes(self.held[3:HEAD], "big")
            left = HEAD + length - held
            self._passed(self.held[0], length)
        elif not left:
            self._unread(held)
        self.held = b""
        self.lost += 1
        self._forget_message()
        self.skip = max(left - hole, 0)
        if hole > left:
            self.scanning = 1
            self._unread(hole - left)

    def _unread(self, octets: int) -> None:
        """Octets in which nobody knows how many records are."""
        self.hidden += octets
        self.gap += octets
        self.unsure |= octets > 0

    def _passed(self, kind: int, length: int) -> None:
        """A record that was not opened."""
        if kind == CHANGE_CIPHER_SPEC and self.connection.is_1_3:
            return
        self.sure += 1
        if kind == APPLICATION_DATA:
            suite = self.suite()
            self.hidden += max(length - (self.overhead(suite) if suite else 17), 0)
            exact = self.connection.version == TLS_1_2 and suite is not None and suite.kind != CBC
            self.unsure |= not exact

    def _counted(self, kinds: list[int], lengths: list[int]) -> int:
        """Records of application data that no key can open; returns how many there are before one of another type."""
        count = next((at for at, kind in enumerate(kinds) if kind != APPLICATION_DATA), len(kinds))
        self.records += count
        self._passed(APPLICATION_DATA, lengths[0])
        suite = self.suite()
        overhead = self.overhead(suite) if suite else 17
        self.hidden += sum(lengths[1:count]) - overhead * (count - 1)
        self.sure += count - 1
        return count

    def _shortest(self) -> int:
        """Octets of the shortest record."""
        suite = self.suite()
        return HEAD + (self.overhead(suite) if suite else 9)

    # records

    def _records(self, kinds_: I64, begins_: I64, lengths_: I64) -> int:
        """Take in whole records; returns how many."""
        kinds, begins, lengths = kinds_.tolist(), begins_.tolist(), lengths_.tolist()
        at, count, view = 0, len(kinds), memoryview(self.held)
        self._begins, self._ends = begins_ + (self._base - HEAD), begins_ + lengths_ + self._base
        self._changes = np.flatnonzero(kinds_ == CHANGE_CIPHER_SPEC).tolist()
        while at < count:
            while self.phase != CLEAR and not (self.sure or self.slack) and at < count:
                before, at = at, self._in_sequence(at, kinds, begins, lengths)
                if at == before:
                    break
            if at == count:
                break
            kind, begin, length = kinds[at], begins[at], lengths[at]
            clear = self.phase == CLEAR and not (self.sure or self.slack) and kind != APPLICATION_DATA
            if (kind in (CHANGE_CIPHER_SPEC, APPLICATION_DATA) or not clear) and self._waits():
                return at
            if kind == APPLICATION_DATA and not self.connection.keys:
                at += self._counted(kinds[at:], lengths[at:])
                continue
            self.records += 1
            self._at, end = self._base + begin - HEAD, self._base + begin + length
            if clear or (kind == CHANGE_CIPHER_SPEC and (self.phase == CLEAR or self.connection.version != TLS_1_2)):
                self.in_the_clear(kind, bytes(view[begin : begin + length]), end)
                self.reached = end
            elif self.search(at, kinds, begins, lengths, view):
                self.reached = end
            elif self.phase == CLEAR and kind != APPLICATION_DATA:
                self.in_the_clear(kind, bytes(view[begin : begin + length]), end)
            else:
                self._passed(kind, length)  # where keys are known and its tag does not fit, it may be of another type than it says
                self.unsure |= kind != APPLICATION_DATA and self.connection.opener(self.side, self.phase) is not None
            at += 1
        return at

    def _in_sequence(self, at: int, kinds: list[int], begins: list[int], lengths: list[int]) -> int:
        """Open records that follow one another, as long as nothing is in doubt; returns the first that was not."""
        opener = self.connection.opener(self.side, self.phase)
        if opener is None or self.hidden:
            return at
        first, phase, is_1_3 = at, self.phase, self.connection.version == TLS_1_3
        stop = next((one for one in self._changes if one >= at), len(kinds)) if is_1_3 else len(kinds)
        plains = opener.run(self.held, begins, lengths, range(at, stop), self.sequence)
        if is_1_3:
            plains, of = unwrapped(plains)
        else:
            of = bytes(kinds[at : at + len(plains)])
        while at - first < len(plains) and self.phase == phase:
            at = self._many(plains, of, at, first)
            if at - first == len(plains):
                break
            kind, plain = of[at - first], plains[at - first]
            self._at, end = int(self._begins[at]), int(self._ends[at])
            at += 1
            self.sequence += 1
            self.carried(kind, plain, end)
        self.records += at - first
        self.opened += at - first
        if at > first:
            self.reached = int(self._ends[at - 1])
        if opener.explicit and at > first and self.phase == phase:
            self.nonce, self.nonces = self._nonce(self.held[begins[at - 1] :][:EXPLICIT], self.sequence - 1), 1
        return at

    def _many(self, plains: list[bytes], of: bytes, at: int, first: int) -> int:
        """Give out what records carry that are application data, up to one that is not; `first` is the record of the first of `plains`."""
        rest = of[at - first :]
        count = len(rest) - len(rest.lstrip(DATA))
        self.given.add(self._begins[at : at + count], self._ends[at : at + count], plains[at - first : at - first + count])
        self.sequence += count
        return at + count

    def _waits(self) -> bool:
        """Whether something of the other side is needed first, and may come."""
        connection, other = self.connection, self.other
        if not self.patient or other is None or not connection.keys or len(self.held) > MOST_HELD:
            return False
        whole = not (other.sure or other.slack or other.scanning or other.skip)
        if whole and other.phase == CLEAR and (not connection.hellos or not connection.digests):
            return True
        renegotiated = connection.version == TLS_1_2 and self.phase > max(1, min(len(connection.hellos), len(connection.digests)))
        if whole and other.came and renegotiated:  # its keys depend on a hello that the other has encrypted
            return True
        asks = self.side == connection.client and self.phase == CLEAR and connection.early == UNKNOWN
        return asks and connection.version == TLS_1_3 and other.phase in (CLEAR, HANDSHAKE) and not other.scanning and not other.sure

    @staticmethod
    def of(kept: Arrays | None, connection: Connection, side: int, *, synced: bool) -> Side:
        """The side that was kept, or a new one."""
        if kept is None:
            new = Side(connection, side)
            if not synced:
                new.midway, new.scanning, new.slack = 1, 1, MIDWAY
            return new
        numbers = dict(zip(NUMBERS, kept["sides"][side].tolist(), strict=True))
        return Side(connection, side, **numbers, held=kept[f"held {side}"].tobytes(), body=kept[f"hello {side}"].tobytes())
