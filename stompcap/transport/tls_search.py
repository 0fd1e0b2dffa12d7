"""Which keys and which number a record of TLS has: tried behind what is missing, and where no hello was captured. The tag proves it."""

from __future__ import annotations

from collections.abc import Iterator

from stompcap.transport.tls_connection import ACCEPTED, APPLICATION, CLEAR, EARLY, HANDSHAKE, REFUSED
from stompcap.transport.tls_hello import TLS_1_3
from stompcap.transport.tls_keys import HEAD, Buffer, Opener, unwrapped
from stompcap.transport.tls_messages import Carrying
from stompcap.transport.tls_records import APPLICATION_DATA
from stompcap.transport.tls_suites import CBC

MOST_TRIES = 1 << 20
"""Tags that are tried behind a gap before a direction is given up."""

MOST_GUESSES = 1 << 17
"""Tags that are tried with the keys of a log's connections where none is known to be this one."""

MOST_FAILED = 8
"""Records behind a gap that no key opens before a direction is given up."""

MOST_UPDATED = 1 << 12
"""Records behind a KeyUpdate that were lost with it, at most."""

NEAR = 8
"""Records behind a gap of which the smallest is tried first."""

_MASK = (1 << 64) - 1


class Searching(Carrying):
    """A direction that finds the keys and the number of its next record."""

    def search(self, at: int, kinds: list[int], begins: list[int], lengths: list[int], view: memoryview) -> bool:
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
            (plain,), (kind,) = unwrapped([plain])
        self.carried(kind, plain, end)
        return True

    def _proven(self, phase: int, sequence: int) -> None:
        """A tag fits: where what may have been missed carried nothing, nothing was hidden."""
        if phase == self.phase:
            self.lost += max(sequence - self.sequence - self.sure - 1, 0)  # one of each hole is counted already
            suite = self.suite()
            if self.unsure and suite is not None and suite.kind != CBC:
                # so many octets lie between, and so many records: were none padded, and all application data, they would carry the rest
                self.hidden = max(self._at - self.reached - (sequence - self.sequence) * (HEAD + self.overhead(suite)), 1)
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
                plain = opener.open(head, body, sequence) if sequence >= self.sequence else None  # an earlier one comes again
                if plain is not None:
                    return phase, sequence, plain, opener
            found = self._tried(opener, head, body, low + further, min(high + further, low + further + MOST_TRIES - self.tried))
            if found:
                return phase, *found, opener
        if not connection.may_guess() or self.tried > MOST_GUESSES or (self.failed and connection.takes_over):
            return None  # all is known of one that takes over but the secret: its first record tells
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
            yield phase + 1, 0, min(most, MOST_UPDATED)
            yield phase + 2, 0, min(most, MOST_UPDATED)

    @staticmethod
    def _nonce(explicit: Buffer, sequence: int) -> int:
        beyond = (int.from_bytes(explicit, "big") - sequence) & _MASK
        return beyond - (1 << 64) if beyond >> 63 else beyond
