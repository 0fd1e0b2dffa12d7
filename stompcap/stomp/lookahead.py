"""What follows a position: the evidence that a frame ends or begins there.

A frame ends at a NUL where only EOLs lie between it and a known command's line (rule FR-07, and resynchronisation), and the
direction's sender may send that command: brokers quote what clients sent, NULs included, in heads and bodies of ERROR.
Every search returns how far it came, so that a caller that waits for more octets does not repeat it.
"""

from __future__ import annotations

from stompcap.columns import Octets
from stompcap.kernel import callee
from stompcap.stomp.grammar import COLON, COMMAND_LENGTHS, COMMAND_OCTETS, CR, LF, LONGEST_COMMAND, NO_VOTE, NUL, ROLE_OF, SPACE
from stompcap.stomp.octets import match_command

NO, KNOWN, WAIT, END = 0, 1, 2, 3
NAME_LIMIT = 256
"""Longest header name accepted in a search for a boundary mid-stream."""


@callee
def after_eols(octets: Octets, begin: int, end: int) -> int:
    """Position of the first octet in [begin, end) that is no part of an EOL; a CR counts only before an LF."""
    i = begin
    while i < end:
        if octets[i] == LF:
            i += 1
        elif octets[i] == CR and i + 1 < end and octets[i + 1] == LF:
            i += 2
        else:
            break
    return i


@callee
def command_line(octets: Octets, begin: int, end: int, role: int) -> tuple[int, int]:
    """Whether the line of a command that `role` may send begins at `begin`: (KNOWN, position behind its EOL), (NO, _) or (WAIT, _)."""
    stop = min(end, begin + LONGEST_COMMAND + 1)
    i = begin
    while i < stop and octets[i] & 0xDF >= 65 and octets[i] & 0xDF <= 90:
        i += 1
    if i == end:
        for code in range(COMMAND_LENGTHS.size):
            if COMMAND_LENGTHS[code] >= i - begin and (role == NO_VOTE or ROLE_OF[code] == role):
                same = True
                for k in range(i - begin):
                    if octets[begin + k] & 0xDF != COMMAND_OCTETS[code, k]:
                        same = False
                        break
                if same:
                    return WAIT, i
        return NO, i
    if octets[i] != LF and octets[i] != CR:
        return NO, i
    code = match_command(octets, begin, i)
    if code < 0 or (role != NO_VOTE and ROLE_OF[code] != role):
        return NO, i
    if octets[i] == CR:
        i += 1
        if i == end:
            return WAIT, i
        if octets[i] != LF:
            return NO, i
    return KNOWN, i + 1


@callee
def follows(octets: Octets, begin: int, end: int, role: int) -> tuple[int, int]:
    """What [begin, end) starts with after any EOLs: (verdict, position behind the EOLs).

    KNOWN: the line of a command that `role` may send; NO: something else; WAIT: the octets end before it is decided;
    END: nothing but EOLs.
    """
    i = after_eols(octets, begin, end)
    if i == end:
        return END, i
    if octets[i] == CR:
        return (WAIT if i + 1 == end else NO), i
    verdict, _ = command_line(octets, i, end, role)
    return verdict, i


@callee
def boundary(octets: Octets, begin: int, end: int, role: int) -> tuple[int, int]:
    """Whether a frame may begin at `begin` though nothing before it is known: as `follows`, and stricter.

    Behind the command's line there must be a blank line or a header line (a name, then a colon).
    """
    i = after_eols(octets, begin, end)
    if i == end:
        return END, i
    if octets[i] == CR:
        return (WAIT if i + 1 == end else NO), i
    verdict, line = command_line(octets, i, end, role)
    if verdict != KNOWN:
        return verdict, i
    if line == end:
        return WAIT, i
    if octets[line] == LF:
        return KNOWN, i
    if octets[line] == CR:
        if line + 1 == end:
            return WAIT, i
        return (KNOWN if octets[line + 1] == LF else NO), i
    k = line
    while k < end and k - line <= NAME_LIMIT:
        if octets[k] == COLON:
            return (KNOWN if k > line else NO), i
        if octets[k] < SPACE or octets[k] == NUL:
            return NO, i
        k += 1
    return (WAIT if k == end and k - line <= NAME_LIMIT else NO), i


@callee
def open_nul(octets: Octets, begin: int, end: int, role: int) -> int:
    """Position of the last NUL in [begin, end) behind which a frame may begin, where only octets from `end` on decide; else -1."""
    i = end
    while i > begin and octets[i - 1] != NUL:
        i -= 1
    if i == begin:
        return -1
    verdict, _ = boundary(octets, i, end, role)
    return i - 1 if verdict == WAIT or verdict == END else -1
