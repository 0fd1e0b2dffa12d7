"""One direction of a TLS connection: its records are opened one after another, and found again behind octets that are missing.

What follows the last record whose tag fitted is known within bounds: so many records certainly passed, so many more may have. The next
tag that fits proves where a record begins, its number and its keys at once. Nothing else is given out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, takewhile
from typing import Any

import numpy as np

from stompcap.columns import I64
from stompcap.transport import tls_hello
from stompcap.transport.events import ALERT as ALERT_EVENT
from stompcap.transport.events import HANDSHAKE as HANDSHAKE_EVENT
from stompcap.transport.events import KEY_UPDATE as KEY_UPDATE_EVENT
from stompcap.transport.events import UNREADABLE
from stompcap.transport.state import Arrays
from stompcap.transport.tls_connection import ACCEPTED, APPLICATION, CLEAR, EARLY, HANDSHAKE, REFUSED, UNKNOWN, Connection
from stompcap.transport.tls_hello import (
    CLIENT_HELLO,
    ENCRYPTED_EXTENSIONS,
    END_OF_EARLY_DATA,
    FINISHED,
    KEY_UPDATE,
    MESSAGE,
    MOST_HELLO,
    SERVER_HELLO,
    TLS_1_2,
    TLS_1_3,
)
from stompcap.transport.tls_keys import EXPLICIT, Buffer, Opener
from stompcap.transport.tls_records import ALERT, APPLICATION_DATA, CHANGE_CIPHER_SPEC, HEAD, MORE, find_head, heads
from stompcap.transport.tls_records import HANDSHAKE as HANDSHAKE_RECORD
from stompcap.transport.tls_suites import CBC, SUITES_1_2, SUITES_1_3, Suite, name_of

MOST_HELD = 1 << 24
"""Octets that wait for the other side's hello."""

MOST_TRIES = 1 << 21
"""Tags that are tried behind a gap before a direction is given up."""

MOST_GUESSES = 1 << 18
"""Tags that are tried with the keys of a log's connections where none is known to be this one."""

MOST_FAILED = 8
"""Records behind a gap that no key opens before a direction is given up."""

MIDWAY = 1 << 16
"""Records that may have been sent before a capture began."""

NEAR = 8
"""Records behind a gap of which the smallest is tried first."""

ROOM = 1 << 11
NUMBERS = (
    "came", "offset", "hidden", "unsure", "skip", "scanning", "gap", "phase", "sequence", "sure", "slack", "tried", "failed", "secrets",
    "kind", "left", "partial", "partial_octets", "nonce", "nonces", "records", "opened", "cleared", "lost", "closed", "closed_order",
    "fatal", "anew", "midway",
)  # fmt: skip
BODIES = (CLIENT_HELLO, SERVER_HELLO, ENCRYPTED_EXTENSIONS)
_MASK = (1 << 64) - 1


@dataclass
class Given:
    """What was opened: where each record begins and ends below, its octets, how many are hidden before it, and if that is not sure."""

    begins: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    octets: list[bytes] = field(default_factory=list)
    hidden: list[int] = field(default_factory=list)
    unsure: list[bool] = field(default_factory=list)


@dataclass(eq=False, repr=False)
class Side:
    """One direction. Counts are of octets, but for records.

    came      of the octets below that came, missing ones included
    offset    of what was given, what is hidden before it included
    hidden    what it is believed to carry since the last that was given; `unsure`: it may be another number
    skip      to come of a record that a hole has torn
    scanning  whether it is not known where the next record begins; `gap`: octets since it is not
    phase, sequence   of the next record, were none missing (stompcap.transport.tls_connection)
    sure, slack       records since the last that was opened: so many passed, so many more may have
    tried, failed     tags and records that were tried since; `secrets`: how many the key log had then
    kind, left        the handshake message under way, and what is to come of it; `partial` of its head
    nonce, nonces     what the explicit nonce of a record is beyond its number, and whether that is known
    records, opened, cleared, lost   whole records that came, those opened, those in the clear, and those that never came
    closed, fatal   where its first close_notify ends, and 1 + its first fatal alert; `closed_order`: the former in wire order, from 1
    anew      new keys may come (TLS 1.2); `midway`: its beginning was not captured
    """

    connection: Connection
    side: int
    came: int = 0
    offset: int = 0
    hidden: int = 0
    unsure: int = 0
    skip: int = 0
    scanning: int = 0
    gap: int = 0
    phase: int = CLEAR
    sequence: int = 0
    sure: int = 0
    slack: int = 0
    tried: int = 0
    failed: int = 0
    secrets: int = 0
    kind: int = 0
    left: int = 0
    partial: int = 0
    partial_octets: int = 0
    nonce: int = 0
    nonces: int = 0
    records: int = 0
    opened: int = 0
    cleared: int = 0
    lost: int = 0
    closed: int = 0
    closed_order: int = 0
    fatal: int = 0
    anew: int = 0
    midway: int = 0
    held: bytes = b""
    body: bytes = b""
    given: Given = field(default_factory=Given)
    events: list[tuple[int, int, str, int, str | None]] = field(default_factory=list)
    """Where what happened begins and ends in the octets below, what it is, octets, detail."""

    blocked: bool = False
    other: Side | None = None
    patient: bool = False
    """Whether more may come of the other side."""

    _pieces: Iterator[tuple[int, bytes]] = field(default_factory=lambda: iter(()))
    _fresh: bool = True
    _hint: tuple[int, int, int] | None = None
    """The phase and number of the next record, as a smaller one behind it tells, and how many are to come up to that."""

    _base: int = 0
    _at: int = 0
    """Where what is held, and where the record that is looked at, begin in the octets below."""

    @property
    def unopened(self) -> int:
        """Records that were not read, or never came."""
        return self.records - self.opened - self.cleared + self.lost

    @property
    def pieces(self) -> Iterator[tuple[int, bytes]]:
        """What comes and was not taken yet."""
        return self._pieces

    # driving

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
            done = self._records(kinds[:count].tolist(), begins[:count].tolist(), lengths[:count].tolist())
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
            suite = self._suite()
            self.hidden += max(length - (self._overhead(suite) if suite else 17), 0)
            exact = self.connection.version == TLS_1_2 and suite is not None and suite.kind != CBC
            self.unsure |= not exact

    def _counted(self, kinds: list[int], lengths: list[int]) -> int:
        """Records of application data that no key can open; returns how many there are before one of another type."""
        count = next((at for at, kind in enumerate(kinds) if kind != APPLICATION_DATA), len(kinds))
        self.records += count
        self._passed(APPLICATION_DATA, lengths[0])
        suite = self._suite()
        overhead = self._overhead(suite) if suite else 17
        self.hidden += sum(lengths[1:count]) - overhead * (count - 1)
        self.sure += count - 1
        return count

    def _suite(self) -> Suite | None:
        code = self.connection.suite
        return None if code is None else (SUITES_1_3 if self.connection.version == TLS_1_3 else SUITES_1_2).get(code)

    def _overhead(self, suite: Suite) -> int:
        """What a record has beyond what it carries, at least."""
        if self.connection.version == TLS_1_3:
            return suite.tag + 1
        return {"GCM": 8 + suite.tag, "CCM": 8 + suite.tag, CBC: 16 + 20 + 1}.get(suite.kind, suite.tag)

    def _shortest(self) -> int:
        """Octets of the shortest record."""
        suite = self._suite()
        return HEAD + (self._overhead(suite) if suite else 9)

    # records

    def _records(self, kinds: list[int], begins: list[int], lengths: list[int]) -> int:
        """Take in whole records; returns how many."""
        at, count, view = 0, len(kinds), memoryview(self.held)
        while at < count:
            if self.phase != CLEAR and not (self.sure or self.slack):
                at = self._in_sequence(at, kinds, begins, lengths)
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
                self._in_the_clear(kind, bytes(view[begin : begin + length]), end)
            elif not self._search(at, kinds, begins, lengths, view):
                if self.phase == CLEAR and kind != APPLICATION_DATA:
                    self._in_the_clear(kind, bytes(view[begin : begin + length]), end)
                else:
                    self._passed(kind, length)
            at += 1
        return at

    def _in_sequence(self, at: int, kinds: list[int], begins: list[int], lengths: list[int]) -> int:
        """Open records that follow one another, as long as nothing is in doubt; returns the first that was not."""
        opener = self.connection.opener(self.side, self.phase)
        if opener is None or self.hidden:
            return at
        first, phase, is_1_3 = at, self.phase, self.connection.version == TLS_1_3
        stop = kinds.index(CHANGE_CIPHER_SPEC, at) if is_1_3 and CHANGE_CIPHER_SPEC in kinds[at:] else len(kinds)
        plains = opener.run(self.held, begins, lengths, range(at, stop), self.sequence)
        while at - first < len(plains) and self.phase == phase:
            at = self._many(plains, at, first, kinds, begins, lengths)
            if at - first == len(plains):
                break
            kind, plain = kinds[at], plains[at - first]
            if is_1_3:
                plain = plain.rstrip(b"\0")
                kind, plain = plain[-1] if plain else 0, plain[:-1]
            self._at = self._base + begins[at] - HEAD
            end, at = self._base + begins[at] + lengths[at], at + 1
            self.sequence += 1
            self._carried(kind, plain, end)
        self.records += at - first
        self.opened += at - first
        if opener.explicit and at > first and self.phase == phase:
            self.nonce, self.nonces = self._nonce(self.held[begins[at - 1] :][:EXPLICIT], self.sequence - 1), 1
        return at

    def _many(self, plains: list[bytes], at: int, first: int, kinds: list[int], begins: list[int], lengths: list[int]) -> int:
        """Give out what records carry that are application data, up to one that is not; `first` is the record of the first of `plains`."""
        some = plains[at - first :] if at > first else plains
        if self.connection.version == TLS_1_3:
            found = [plain[:-1] for plain in takewhile(_is_data, some)]
        else:
            found = some[: next((k for k in range(len(some)) if kinds[at + k] != APPLICATION_DATA), len(some))]
        count, given, base = len(found), self.given, self._base
        here: Sequence[int] = range(at, at + count)
        if all(found):
            given.octets += found
        else:  # some carry nothing
            given.octets += [plain for plain in found if plain]
            here = [k for k in here if found[k - at]]
        given.begins += [base - HEAD + begins[k] for k in here]
        given.ends += [base + begins[k] + lengths[k] for k in here]
        given.hidden += [0] * len(here)
        given.unsure += [False] * len(here)
        self.sequence += count
        return at + count

    @staticmethod
    def _nonce(explicit: Buffer, sequence: int) -> int:
        beyond = (int.from_bytes(explicit, "big") - sequence) & _MASK
        return beyond - (1 << 64) if beyond >> 63 else beyond

    def _waits(self) -> bool:
        """Whether something of the other side is needed first, and may come."""
        connection, other = self.connection, self.other
        if not self.patient or other is None or not connection.keys or len(self.held) > MOST_HELD:
            return False
        untold = other.phase == CLEAR and not (other.sure or other.slack or other.scanning or other.skip)
        if untold and (not connection.hellos or not connection.digests):
            return True
        asks = self.side == connection.client and self.phase == CLEAR and connection.early == UNKNOWN
        return asks and connection.version == TLS_1_3 and other.phase in (CLEAR, HANDSHAKE) and not other.scanning and not other.sure

    # search

    def _search(self, at: int, kinds: list[int], begins: list[int], lengths: list[int], view: memoryview) -> bool:
        """Find keys and number that open a record; whether there are any."""
        keys = self.connection.keys
        if self.secrets != len(keys.secrets):
            self.secrets, self.tried, self.failed = len(keys.secrets), 0, 0
        if not keys or self.failed >= MOST_FAILED or self.tried >= MOST_TRIES:
            return False
        if self._hint is None and self.slack > NEAR:
            near = range(at, min(at + NEAR, len(kinds)))
            smallest = min(near, key=lambda one: lengths[one] if kinds[one] == APPLICATION_DATA else 1 << 20)
            if smallest != at and lengths[smallest] < lengths[at] and kinds[smallest] == APPLICATION_DATA:
                found = self._located(view, begins[smallest], lengths[smallest], smallest - at)
                if found:
                    self._hint = found[0], found[1] - (smallest - at), smallest - at
        found = self._located(view, begins[at], lengths[at], 0)
        if self._hint is not None:
            phase, sequence, left = self._hint
            self._hint = (phase, sequence + 1, left - 1) if left else None
        if found is None:
            refused = self.phase == CLEAR and self.side == self.connection.client  # early data that the server did not take
            self.failed += self.tried > 0 and not refused
            return False
        phase, sequence, plain, opener = found
        end = self._base + begins[at] + lengths[at]
        if opener.explicit:
            self.nonce, self.nonces = self._nonce(view[begins[at] : begins[at] + 8], sequence), 1
        self._proven(phase, sequence)
        kind = kinds[at]
        if self.connection.version == TLS_1_3:
            plain = plain.rstrip(b"\0")
            kind, plain = plain[-1] if plain else 0, plain[:-1]
        self._carried(kind, plain, end)
        return True

    def _proven(self, phase: int, sequence: int) -> None:
        """A tag fits: where what may have been missed carried nothing, nothing was hidden."""
        if phase == self.phase:
            self.lost += max(sequence - self.sequence - self.sure, 0)
        is_1_3 = self.connection.version == TLS_1_3
        early = is_1_3 and self.side == self.connection.client and self.connection.early != REFUSED
        first = phase <= HANDSHAKE or (phase == APPLICATION and sequence == 0) if is_1_3 else phase == 1 and sequence <= 1
        if (first and not early) or (self.midway and not self.opened):
            self.hidden = self.unsure = 0
        self.phase, self.sequence, self.sure, self.slack, self.gap, self.tried, self.failed = phase, sequence + 1, 0, 0, 0, 0, 0
        self._hint = None
        self.opened += 1

    def _located(
        self, view: memoryview, begin: int, length: int, further: int
    ) -> tuple[int, int, bytes, Opener] | None:
        """The phase and number of a record that is the `further`-th behind the next, with what it carries and by which keys."""
        head, body = view[begin - HEAD : begin], view[begin : begin + length]
        connection, most = self.connection, self.sure + self.slack
        if self._hint is not None:
            phase, sequence, _ = self._hint
            opener = connection.opener(self.side, phase)
            plain = opener.open(head, body, sequence) if opener else None
            return None if plain is None or opener is None else (phase, sequence, plain, opener)
        for phase, low, high in self._windows(most):
            opener = connection.opener(self.side, phase)
            if opener is None:
                continue
            if opener.explicit and self.nonces and phase == self.phase:
                sequence = (int.from_bytes(body[:8], "big") - self.nonce) & _MASK
                plain = opener.open(head, body, sequence)
                if plain is not None:
                    return phase, sequence, plain, opener
            found = self._tried(opener, head, body, low + further, min(high + further, low + further + MOST_TRIES - self.tried))
            if found:
                return phase, *found, opener
        if not connection.may_guess() or self.tried > MOST_GUESSES:
            return None
        keys = list(connection.guesses(self.side, (HANDSHAKE, APPLICATION)))
        each = min(most, max(MOST_GUESSES // (len(keys) or 1), NEAR))
        for random, client, suite, phase, opener in keys:
            found = self._tried(opener, head, body, further, each + further)
            if found:
                connection.found(random, client, suite)
                return phase, *found, opener
        return None

    def _tried(self, opener: Opener, head: memoryview, body: memoryview, low: int, high: int) -> tuple[int, bytes] | None:
        """The first number from `low` to `high` whose tag fits, and what is carried."""
        open_ = opener.open
        for sequence in range(low, high + 1):
            plain = open_(head, body, sequence)
            if plain is not None:
                self.tried += sequence - low + 1
                return sequence, plain
        self.tried += max(high - low + 1, 0)
        return None

    def _windows(self, most: int) -> Iterator[tuple[int, int, int]]:
        """The phases that the next record may be of, with the least and the greatest number that it may have."""
        phase = self.phase
        if phase != CLEAR:
            yield phase, self.sequence + self.sure, self.sequence + most
        if not self.connection.is_1_3:
            if phase == CLEAR or self.anew:
                yield phase + 1, 0, most
            return
        if phase < EARLY and self.side == self.connection.client and self.connection.early == ACCEPTED:
            yield EARLY, 0, most
        if phase < HANDSHAKE:
            yield HANDSHAKE, 0, most
        if phase < APPLICATION:
            yield APPLICATION, 0, most
        elif most:
            yield phase + 1, 0, most
            yield phase + 2, 0, most

    # what records carry

    def _in_the_clear(self, kind: int, body: bytes, end: int) -> None:
        self.cleared += 1
        if kind == HANDSHAKE_RECORD:
            self._messages(body, end)
        elif kind == ALERT:
            self._alert(body, end)
        elif kind == CHANGE_CIPHER_SPEC and not self.connection.is_1_3:
            self.phase, self.sequence, self.sure, self.slack = self.phase + 1, 0, 0, 0

    def _carried(self, kind: int, plain: bytes, end: int) -> None:
        """What an opened record carries."""
        if kind == APPLICATION_DATA:
            if plain:
                self.give(plain, end)
        elif kind == ALERT:
            self._alert(plain, end)
        elif kind == HANDSHAKE_RECORD:
            self._messages(plain, end)
        elif kind == CHANGE_CIPHER_SPEC and self.connection.version == TLS_1_2:
            self.phase, self.sequence, self.anew = self.phase + 1, 0, 0

    def give(self, plain: bytes, end: int) -> None:
        """Give octets out, behind those that are hidden."""
        given = self.given
        if self.unsure and not self.hidden:
            self.hidden = 1
        given.begins.append(self._at)
        given.ends.append(end)
        given.octets.append(plain)
        given.hidden.append(self.hidden)
        given.unsure.append(bool(self.unsure and self.hidden))
        if self.hidden:
            self._tell(end, UNREADABLE, self.hidden, HIDDEN[bool(self.unsure)])
        self.hidden = self.unsure = 0

    def _alert(self, body: bytes, end: int) -> None:
        if len(body) != 2:
            return
        if body[1] == CLOSE_NOTIFY:
            self.closed = self.closed or end
        elif body[0] == FATAL or self.connection.version == TLS_1_3:
            self.fatal = self.fatal or 1 + body[1]
        self._tell(end, ALERT_EVENT, 2, ALERTS.get(body[1], f"alert {body[1]}"))

    def _tell(self, end: int, kind: str, octets: int = 0, detail: str | None = None) -> None:
        self.events.append((self._at, end, kind, octets, detail))

    def _messages(self, octets: bytes, end: int) -> None:
        """Octets of handshake messages; one may come in several records."""
        at = 0
        while at < len(octets):
            if not self.left:
                step = min(MESSAGE - self.partial_octets, len(octets) - at)
                self.partial = self.partial << 8 * step | int.from_bytes(octets[at : at + step], "big")
                self.partial_octets, at = self.partial_octets + step, at + step
                if self.partial_octets < MESSAGE:
                    return
                self.kind, self.left, self.body = self.partial >> 24, self.partial & 0xFFFFFF, b""
                self.partial = self.partial_octets = 0
            step = min(self.left, len(octets) - at)
            if self.kind in BODIES and self.left + len(self.body) <= MOST_HELLO:
                self.body += octets[at : at + step]
            self.left, at = self.left - step, at + step
            if not self.left:
                phase = self.phase
                self._message(end)
                self.body = b""
                if self.phase != phase:
                    return  # what is behind it would have other keys

    def _message(self, end: int) -> None:
        """A message is there."""
        connection, kind = self.connection, self.kind
        hello = tls_hello.hello_of(kind, self.body)
        if hello is not None:
            connection.take(self.side, hello)
            self.anew = int(self.phase != CLEAR)
            if self.other is not None and self.phase != CLEAR:
                self.other.anew = 1
            if not hello.client and not hello.retry:
                version = tls_hello.VERSIONS.get(hello.version, "TLS")
                self._tell(end, HANDSHAKE_EVENT, 0, f"{version}, {name_of(hello.suites[0])}")
        elif kind == ENCRYPTED_EXTENSIONS and connection.version == TLS_1_3:
            found = tls_hello.extensions_of(self.body)
            connection.early = ACCEPTED if tls_hello.EARLY_DATA in found else REFUSED
            connection.alpn = next(iter(tls_hello.alpn_of(found.get(tls_hello.ALPN, b""))), connection.alpn)
        elif kind == END_OF_EARLY_DATA and self.phase == EARLY:
            self.phase, self.sequence = HANDSHAKE, 0
        elif kind == FINISHED and self.phase == HANDSHAKE and connection.version == TLS_1_3:
            self.phase, self.sequence = APPLICATION, 0
        elif kind == KEY_UPDATE and self.phase >= APPLICATION and connection.version == TLS_1_3:
            self.phase, self.sequence = self.phase + 1, 0
            self._tell(end, KEY_UPDATE_EVENT)

    # what goes on

    def kept(self) -> tuple[I64, dict[str, np.ndarray[Any, Any]]]:
        """What is kept of it: numbers, and octets as they were on the wire."""
        body = self.body if self.phase == CLEAR else b""
        octets = {f"held {self.side}": np.frombuffer(self.held, np.uint8), f"hello {self.side}": np.frombuffer(body, np.uint8)}
        return np.array([int(getattr(self, name)) for name in NUMBERS], np.int64), octets

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




def _is_data(plain: bytes) -> bool:
    """Whether the last octet of an opened record of TLS 1.3 says that it is application data."""
    return plain[-1:] == b"\x17"


HIDDEN = ("missing from the capture", "missing from the capture; how many octets is not known")
CLOSE_NOTIFY, FATAL = 0, 2
KEEPS = ("sides", "held 0", "held 1", "hello 0", "hello 1")
ALERTS = {
    0: "close_notify", 10: "unexpected_message", 20: "bad_record_mac", 22: "record_overflow", 40: "handshake_failure",
    42: "bad_certificate", 43: "unsupported_certificate", 44: "certificate_revoked", 45: "certificate_expired",
    46: "certificate_unknown", 47: "illegal_parameter",
    48: "unknown_ca", 49: "access_denied", 50: "decode_error", 51: "decrypt_error", 70: "protocol_version", 71: "insufficient_security",
    80: "internal_error", 86: "inappropriate_fallback", 90: "user_canceled", 100: "no_renegotiation", 109: "missing_extension",
    110: "unsupported_extension", 112: "unrecognized_name", 113: "bad_certificate_status_response", 115: "unknown_psk_identity",
    116: "certificate_required", 120: "no_application_protocol",
}  # fmt: skip
"""RFC 8446, appendix B.2; RFC 5246, 7.2."""
