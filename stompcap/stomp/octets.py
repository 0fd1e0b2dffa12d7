"""Small kernels over octets: find a NUL, compare words, trim blanks."""

from __future__ import annotations

import numpy as np

from stompcap.columns import I64, Octets
from stompcap.kernel import callee
from stompcap.stomp.grammar import COLON, COMMAND_LENGTHS, COMMAND_OCTETS, CR, LF, LONGEST_COMMAND, SPACE, TAB

BLOCK = 128


def readonly(octets: Octets) -> Octets:
    """A read-only contiguous view: one type of argument, so that each kernel is compiled once."""
    view = np.ascontiguousarray(octets, np.uint8).view()
    view.flags.writeable = False
    return view


@callee
def find_nul(octets: Octets, begin: int, end: int) -> int:
    """Position of the first NUL in [begin, end), or -1. Whole blocks are tested at once, which the compiler vectorises."""
    i = begin
    while i + BLOCK <= end:
        found = np.uint8(0)
        for k in range(BLOCK):
            found |= np.uint8(octets[i + k] == 0)
        if found:
            break
        i += BLOCK
    while i < end:
        if octets[i] == 0:
            return i
        i += 1
    return -1


@callee
def fold(octet: int) -> int:
    """An ASCII letter in lower case; other octets as they are."""
    if 65 <= octet <= 90:
        return octet + 32
    return octet


@callee
def match_command(octets: Octets, begin: int, end: int) -> int:
    """Code of the known command that [begin, end) is in any case, or -1."""
    length = end - begin
    if length > LONGEST_COMMAND:
        return -1
    for code in range(COMMAND_LENGTHS.size):
        if COMMAND_LENGTHS[code] == length:
            same = True
            for k in range(length):
                if octets[begin + k] & 0xDF != COMMAND_OCTETS[code, k]:
                    same = False
                    break
            if same:
                return code
    return -1


@callee
def equals(octets: Octets, begin: int, end: int, word: Octets) -> bool:
    """Whether [begin, end) is exactly that word."""
    if end - begin != word.size:
        return False
    for k in range(word.size):
        if octets[begin + k] != word[k]:
            return False
    return True


@callee
def is_one_of(octets: Octets, begin: int, end: int, words: Octets, lengths: I64) -> bool:
    """Whether [begin, end) is exactly one of some words (`stompcap.stomp.grammar.pack`)."""
    for word in range(lengths.size):
        if lengths[word] == end - begin and equals(octets, begin, end, words[word, : lengths[word]]):
            return True
    return False


@callee
def matching(octets: Octets, begin: int, end: int, word: Octets) -> int:
    """How many octets in [begin, end) are those that the word begins with; its lower-case letters match either case."""
    count = 0
    while count < min(end - begin, word.size) and (octets[begin + count] == word[count] or fold(octets[begin + count]) == word[count]):
        count += 1
    return count


@callee
def skip_blanks(octets: Octets, begin: int, end: int) -> int:
    """Position of the first octet in [begin, end) that is neither space nor tab, or end."""
    while begin < end and (octets[begin] == SPACE or octets[begin] == TAB):
        begin += 1
    return begin


@callee
def trim_blanks(octets: Octets, begin: int, end: int) -> int:
    """End of [begin, end) without trailing spaces and tabs."""
    while end > begin and (octets[end - 1] == SPACE or octets[end - 1] == TAB):
        end -= 1
    return end


@callee
def skip_low(octets: Octets, begin: int, end: int) -> int:
    """Position of the first octet in [begin, end) that is an LF or above a space, or end: past blanks and control octets."""
    while begin < end and octets[begin] <= SPACE and octets[begin] != LF:
        begin += 1
    return begin


@callee
def find_header(octets: Octets, begin: int, end: int, word: Octets) -> tuple[int, int]:
    """The value (begin, end) of the first header line of that exact name in the header lines [begin, end), or (-1, -1).

    Escapes are not decoded, a CR before the LF is left out. The caller must leave out the command line.
    """
    line = begin
    while line < end:
        stop = line
        while stop < end and octets[stop] != LF:
            stop += 1
        after = line + word.size
        if after < stop and octets[after] == COLON and equals(octets, line, after, word):
            if octets[stop - 1] == CR:
                stop -= 1
            return after + 1, max(stop, after + 1)
        line = stop + 1
    return -1, -1
