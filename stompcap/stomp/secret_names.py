"""Which headers are secret, by name: an automaton over the letters and digits of a name, in any case, without `-`, `_` and `.`.

A name is secret if it contains one of STEMS or is one of WORDS. Settings add names and take some away, as patterns: `x-pin` is that
name alone, `*pin*` is every name that contains it. STOMP's own other headers never are secret, and its `passcode` always is.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stompcap.columns import U8, U32, Octets
from stompcap.kernel import callee, inline, kernel
from stompcap.settings import Secrets
from stompcap.stomp.grammar import COLON, CR, LENIENT_NAMES, LF, NUL, SECRET, SPACE
from stompcap.stomp.octets import skip_low

STEMS = (SECRET, "password", "passwd", "secret", "token", "apikey", "authorization", "cookie", "credential", "jwt")
WORDS = ("pass", "pwd", "auth", "sessionid")
ALWAYS, ADDED, NEVER = 1, 2, 4
"""Flags of a pattern: the name is secret whatever other patterns match it; it is secret; it is not secret."""
LEFT_OUT, OTHER = 255, 36
LONGEST = 64
"""Octets of a word that are taken for the beginning of a name where the octets end within it."""

# classes of octets: 26 letters, 10 digits, all others; and a bit for each letter and one for all digits
CLASS_OF = np.full(256, OTHER, np.uint8)
CLASS_OF[[ord(mark) for mark in "-_."]] = LEFT_OUT
CLASS_OF[65:91] = CLASS_OF[97:123] = np.arange(26)
CLASS_OF[48:58] = np.arange(26, 36)
EVERY = (1 << 27) - 1
BIT_OF = np.zeros(256, np.uint32)
BIT_OF[CLASS_OF < OTHER] = 1 << np.minimum(CLASS_OF[CLASS_OF < OTHER], 26).astype(np.uint32)




class SecretNames(NamedTuple):
    """The automaton, as kernels take it."""

    after: npt.NDArray[np.int16]
    """By state and class: the next state; 0 is the first."""
    found: U8
    """By state: flags of the patterns that end here and may end anywhere in a name."""
    ends: U8
    """By state: flags of the patterns that are the whole name, if the name ends here."""
    letters: U32
    """Per pattern of secret names: the bits of its letters, all of which a matching name has."""
    cared: U32
    """Per pattern: the bits to compare with these; all bits where the pattern is the whole name."""


@lru_cache(maxsize=16)
def secret_header_names(chosen: Secrets = Secrets()) -> SecretNames:  # noqa: B008 - frozen
    """The automaton for the default names and those that the settings add or remove."""
    patterns = [(word, True, ALWAYS | ADDED if word == SECRET else ADDED) for word in STEMS]
    patterns += [(word, False, ADDED) for word in WORDS]
    for entries, flag in ((chosen.add, ADDED), (chosen.remove, NEVER)):
        patterns += [(letters_of(entry), entry.startswith("*"), flag) for entry in entries]
    patterns += [(letters_of(name), False, NEVER) for name in LENIENT_NAMES if name != SECRET]
    return _automaton(patterns)


def letters_of(name: str) -> str:
    """The letters and digits of a name in lower case."""
    return "".join(octet for octet in name.lower() if octet.isalnum())


def _automaton(patterns: list[tuple[str, bool, int]]) -> SecretNames:
    """The automaton of patterns: (letters and digits, whether these may occur anywhere in a name, flags)."""
    classes = [[int(CLASS_OF[ord(octet)]) for octet in word] for word, _, _ in patterns]
    anywhere = {(number, 0) for number, (_, free, _) in enumerate(patterns) if free}
    first = frozenset((number, 0) for number in range(len(patterns)))
    states, after = {first: 0}, list[list[int]]()
    waiting = [first]
    for state in waiting:  # grows
        row = []
        for octet in range(OTHER + 1):
            moved = {(number, at + 1) for number, at in state if at < len(classes[number]) and classes[number][at] == octet}
            following = frozenset(moved | anywhere)
            if following not in states:
                states[following] = len(states)
                waiting.append(following)
            row.append(states[following])
        after.append(row)

    def flags_at(state: Iterable[tuple[int, int]], free: bool) -> int:
        flags = 0
        for _, is_free, flag in (patterns[number] for number, at in state if at == len(classes[number])):
            flags |= flag if is_free == free else 0
        return flags

    found, ends = (np.array([flags_at(state, free) for state in states], np.uint8) for free in (True, False))
    bits = sorted({(int(np.bitwise_or.reduce(BIT_OF[list(word.encode())])), free) for word, free, flag in patterns if flag & ADDED})
    letters = np.array([bit for bit, _ in bits], np.uint32)
    cared = np.array([bit if free else EVERY for bit, free in bits], np.uint32)
    return SecretNames(np.array(after, np.int16), found, ends, letters, cared)


SECRET_NAMES = secret_header_names()


@callee
def verdict(flags: int) -> bool:
    """Whether a name is secret that patterns with these flags match."""
    return flags & ALWAYS != 0 or flags & (ADDED | NEVER) == ADDED


@kernel
def is_secret(octets: Octets, begin: int, end: int, names: SecretNames) -> bool:
    """Whether the name [begin, end) is secret; blanks around it are no part of it."""
    begin = skip_low(octets, begin, end)
    while end > begin and octets[end - 1] <= SPACE:
        end -= 1
    state = flags = 0
    for i in range(begin, end):
        kind = CLASS_OF[octets[i]]
        if kind != LEFT_OUT:
            state = names.after[state, kind]
            flags |= names.found[state]
    return verdict(flags | names.ends[state])


@callee
def name_end(octets: Octets, begin: int, end: int) -> int:
    """Where the name that begins at `begin` ends: before its colon, its line's end, a CR or a NUL, or at `end`."""
    i = begin
    while i < end and octets[i] != COLON and octets[i] != LF and octets[i] != CR and octets[i] != NUL:
        i += 1
    return i


@inline
def likely(octets: Octets, line: int, stop: int, letters: U32, cared: U32) -> int:
    """Where the colon of the header line [line, stop) is if its name has the letters of a secret one, whatever their order; else -1."""
    bits = np.uint32(0)
    colon = line
    while colon < stop and octets[colon] != COLON:
        bits |= BIT_OF[octets[colon]]
        colon += 1
    if colon < stop:
        for one in range(letters.size):
            if bits & cared[one] == letters[one]:
                return colon
    return -1


@callee
def secret_value(octets: Octets, line: int, end: int, names: SecretNames) -> tuple[int, bool]:
    """For the line at `line`: where its value begins if its name is secret, or -1; and whether the octets end within the name."""
    begin = skip_low(octets, line, end)
    colon = name_end(octets, begin, end)
    if colon == end:
        while colon > begin and octets[colon - 1] <= SPACE:
            colon -= 1
        while colon > begin and CLASS_OF[octets[colon - 1]] != OTHER:
            colon -= 1
        return -1, colon == begin and end - begin <= LONGEST
    if octets[colon] != COLON or not is_secret(octets, begin, colon, names):
        return -1, False
    return colon + 1, False
