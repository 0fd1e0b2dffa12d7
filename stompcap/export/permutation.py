"""A keyed permutation of words: another word of the same length, letters for letters and digits for digits.

Each position has its alphabet: digits, upper or lower case letters; of words of eight characters and more that are hexadecimal, `a` to `f`.
A word is a number of mixed radix below N, the number of words of its shape. Where P is a Feistel network over numbers below N (cycle
walking: Black and Rogaway, Ciphers with Arbitrary Finite Domains, 2002), the word becomes P^-1(P(word) + s mod N) with 0 < s < N. So no
two words become one, however short, and none stays what it is.
"""

from __future__ import annotations

import hashlib
import string
from dataclasses import dataclass, field

DIGITS, LOWER, UPPER = string.digits, string.ascii_lowercase, string.ascii_uppercase
ROUNDS, HEX_FROM = 8, 8


@dataclass
class Permutation:
    """The permutation of a key; remembers the words it was asked for."""

    key: bytes
    known: dict[str, str] = field(default_factory=dict)

    def word(self, word: str) -> str:
        """The word, of ASCII letters and digits, in its place."""
        if (found := self.known.get(word)) is None:
            found = self.known[word] = self._computed(word) if word else ""
        return found

    def _computed(self, word: str) -> str:
        alphabets = _alphabets(word)
        total, number = 1, 0
        for character, alphabet in zip(word, alphabets, strict=True):
            total, number = total * len(alphabet), number * len(alphabet) + alphabet.index(character)
        shape = "".join(alphabet[-1] for alphabet in alphabets).encode()
        step = 1 + self._digest(shape, -1, 0, total - 1)
        number = self._walk(number, total, shape, range(ROUNDS))
        number = self._walk((number + step) % total, total, shape, range(ROUNDS - 1, -1, -1))
        found = []
        for alphabet in reversed(alphabets):
            number, at = divmod(number, len(alphabet))
            found.append(alphabet[at])
        return "".join(reversed(found))

    def _walk(self, number: int, total: int, shape: bytes, rounds: range) -> int:
        """The Feistel network over two halves of bits, or its inverse where the rounds descend, until the number is below `total`."""
        half = max((total - 1).bit_length() + 1, 2) // 2
        mask = (1 << half) - 1
        while True:
            left, right = number >> half, number & mask
            for one in rounds:
                if rounds.step > 0:
                    left, right = right, left ^ self._digest(shape, one, right, 1 << half)
                else:
                    left, right = right ^ self._digest(shape, one, left, 1 << half), left
            number = left << half | right
            if number < total:
                return number

    def _digest(self, shape: bytes, one: int, number: int, below: int) -> int:
        said = shape + one.to_bytes(1, "big", signed=True) + number.to_bytes((number.bit_length() + 8) // 8, "big")
        octets = hashlib.shake_256(self.key + len(shape).to_bytes(4, "big") + said).digest((below.bit_length() + 71) // 8)
        return int.from_bytes(octets, "big") % below


def _alphabets(word: str) -> list[str]:
    """The alphabet of each position."""
    letters = {c for c in word if not c.isdigit()}
    hexadecimal = len(word) >= HEX_FROM and letters and (letters <= set("abcdef") or letters <= set("ABCDEF"))
    lower, upper = (LOWER[:6], UPPER[:6]) if hexadecimal else (LOWER, UPPER)
    return [DIGITS if c.isdigit() else lower if c.islower() else upper for c in word]
