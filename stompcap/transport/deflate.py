"""permessage-deflate (RFC 7692): messages inflated, with what is known of the octets before them.

A direction either keeps its window from message to message or begins each with an empty one (7.1.1). Behind a hole the window of the
former is unknown. Then every message is inflated twice, with two windows that differ in every octet: an octet that is the same in both
results depends on none that is unknown, and the length is right in any case. It is known again when the last window is.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from stompcap.columns import Octets

WINDOW = 1 << 15
"""Octets that a window of 15 bits has, which reads what was written with fewer (RFC 7692, 7.1.2)."""
TAIL = b"\0\0\xff\xff"
"""What a sender takes off a message's end (7.2.1)."""
LAST_BLOCK = b"\1\0\0\xff\xff"
KEPT = 8 * WINDOW
AT_ONCE = 1 << 20
ONE, OTHER = b"\x55" * WINDOW, b"\xaa" * WINDOW
"""Two windows that differ in every octet."""


@dataclass(frozen=True)
class Inflated:
    """A message: how many octets it has, and these; None where they are not known, all of them or some.

    `reason` says why it cannot be read: nothing where only octets before it are missing. Where its length is not known either, that is -1.
    """

    length: int
    octets: bytes | None = None
    reason: str | None = None


class Inflater:
    """The messages of one direction, one after the other.

    `takeover`: whether it keeps its window; `most`: octets of a message; `bits`: of its window. `window` is its last octets; where
    they are not known, `other` is the window of the second result.
    """

    def __init__(self, takeover: bool, most: int, bits: int = 15, window: bytes = b"", other: bytes | None = None) -> None:
        self.takeover, self.most, self.size = takeover, most, 1 << bits
        self._one = _Window(window)
        self._other = None if other is None else _Window(other)

    @property
    def known(self) -> bool:
        """Whether all octets of its window are."""
        return self._other is None

    @property
    def window(self) -> bytes:
        """Its last octets."""
        return self._one.last() if self.takeover else b""

    @property
    def other(self) -> bytes | None:
        """The last octets of the second result, None where one is enough."""
        return None if self._other is None else self._other.last()

    def forget(self) -> None:
        """Octets are missing: those before the next message are not known."""
        if self.takeover:
            self._one, self._other = _Window(ONE), _Window(OTHER)

    def message(self, packed: bytes, keep: bool = True) -> Inflated:
        """The next message. Without `keep` only its length is told, and what later ones need."""
        if not packed:  # an empty message should have an octet (7.2.3.6)
            return Inflated(0, b"")
        try:
            octets = self._one.inflate(packed, self.most, keep)
            certain = octets is not None
            if self._other is not None:
                second = self._other.inflate(packed, self.most, keep)
                certain = certain and octets == second
                self._settle()
        except _TooLarge as large:
            self.forget()
            found = Inflated(-1, reason=f"more than {large.most} octets")
        except zlib.error:
            self.forget()
            found = Inflated(-1, reason="not deflated")
        else:
            found = Inflated(self._one.length, octets if certain else None)
        if not self.takeover:
            self._one = _Window(b"")
        return found

    def beginning(self, packed: bytes) -> bytes | None:
        """What is certain of a message of which only the beginning is there, None where it is no message; nothing can be read behind it."""
        try:
            first = _Window(self._one.last()).prefix(packed, self.most)
            if self._other is None:
                return first
            second = _Window(self._other.last()).prefix(packed, self.most)
        except zlib.error:
            return None
        pairs = np.frombuffer(first, np.uint8) != np.frombuffer(second, np.uint8)
        return first[: int(np.argmax(pairs)) if pairs.any() else len(first)]

    def _settle(self) -> None:
        """One result is enough again where the last octets of both are the same."""
        assert self._other is not None
        one, other = self._one.last()[-self.size :], self._other.last()[-self.size :]
        if one == other and len(one) == self.size:
            self._other = None


class _TooLarge(Exception):
    """A message has more octets than one may have."""

    def __init__(self, most: int) -> None:
        self.most = most


class _Window:
    """A stream of deflate blocks, and its last octets."""

    def __init__(self, window: bytes) -> None:
        self.recent = bytearray(window)
        self.length = 0
        self.machine = _machine(window)

    def last(self) -> bytes:
        return bytes(self.recent[-WINDOW:])

    def inflate(self, packed: bytes, most: int, keep: bool) -> bytes | None:
        """The octets of a message, None without `keep`; `length` is how many."""
        if keep:
            out = self.machine.decompress(packed + TAIL, most + 1)
            self.length = len(out)
            if self.length > most:
                raise _TooLarge(most)
            self._remember(out)
            if not self.machine.eof:
                self._check()
                return out
            found, rest = [out], self.machine.unused_data
            self.machine = _machine(self.last())
            if not rest or rest == TAIL:
                return out
        else:
            found, self.length, rest = [], 0, packed + TAIL
        return self._blocks(found, rest, most, keep)

    def _blocks(self, found: list[bytes], rest: bytes, most: int, keep: bool) -> bytes | None:
        """The same for messages of several streams, and for those that are only measured."""
        while True:
            out = self.machine.decompress(rest, min(most + 1 - self.length, most + 1 if keep else AT_ONCE))
            self.length += len(out)
            if self.length > most:
                raise _TooLarge(most)
            if keep:
                found.append(out)
            self._remember(out)
            if self.machine.eof:  # a block was marked as the last (7.2.3.4)
                rest = self.machine.unused_data
                self.machine = _machine(self.last())
                if rest == TAIL or not rest:
                    break
                continue
            rest = self.machine.unconsumed_tail
            if not rest and (keep or len(out) < AT_ONCE):
                break
        self._check()
        return b"".join(found) if keep else None

    def _check(self) -> None:
        """No block may go on where a message ends."""
        probe = self.machine.copy()
        probe.decompress(LAST_BLOCK)
        if not probe.eof or probe.unused_data:
            raise zlib.error("a block goes on where the message ends")

    def prefix(self, packed: bytes, most: int) -> bytes:
        return self.machine.decompress(packed, most)

    def _remember(self, out: bytes) -> None:
        if len(out) >= WINDOW:
            self.recent = bytearray(out[-WINDOW:])
            return
        self.recent += out
        if len(self.recent) > KEPT:
            del self.recent[:-WINDOW]


def _machine(window: bytes) -> zlib._Decompress:
    return zlib.decompressobj(-15, zdict=window) if window else zlib.decompressobj(-15)


def inflates(packed: bytes, most: int = AT_ONCE) -> bool:
    """Whether these octets are a compressed message, whatever came before it: blocks that end where it does."""
    machine = _machine(ONE)
    try:
        out = machine.decompress(packed + TAIL, most)
        if machine.unconsumed_tail or machine.eof or not out:
            return False
        machine.decompress(LAST_BLOCK)
    except zlib.error:
        return False
    ended: bool = machine.eof
    return ended and not machine.unused_data


# what a saved state may have

PASSCODE = re.compile(rb"(?i)(passcode[ \t]*:)([^\r\n\0\"\\]+)")
"""A header whose value no state has, though its frame may not be whole yet."""
SHORTEST = 3
"""Octets at a message's end that are taken for the beginning of a secret."""


MASK, OTHER_MASK = b"*+"
"""What stands for an octet of a secret in the two windows, which have to differ."""


def without_secrets(octets: bytes, secrets: Iterable[bytes]) -> bytes:
    """The same with as many asterisks for each secret."""
    for one in sorted(filter(None, secrets), key=len, reverse=True):
        octets = octets.replace(one, b"*" * len(one))
    return PASSCODE.sub(lambda found: found[1] + b"*" * len(found[2]), octets)


def windows_without(window: bytes, other: bytes | None, secrets: Iterable[bytes]) -> tuple[bytes, bytes | None]:
    """A window, and that of the second result where there is one or has to be: octets of secrets are not known in them."""
    known = frozenset(secrets)
    both = [window] if other is None else [window, other]
    hidden = np.zeros(len(window), np.bool_)
    for one in both:
        hidden |= as_array(one) != as_array(without_secrets(one, known))
    if not hidden.any():
        return window, other
    marked = ((MASK, both[0]), (OTHER_MASK, both[-1]))
    first, second = (np.where(hidden, np.uint8(octet), as_array(one)).tobytes() for octet, one in marked)
    return first, second


def tells_secrets(octets: bytes, secrets: Iterable[bytes]) -> bool:
    """Whether these octets have one, or may end within one."""
    some = [one for one in secrets if one]
    within = any(octets.endswith(one[:size]) for one in some for size in range(SHORTEST, len(one)))
    return within or b"passcode" in octets.lower() or any(one in octets for one in some)


def as_array(octets: bytes) -> Octets:
    """Octets as states keep them."""
    return np.frombuffer(octets, np.uint8)
