"""Repeated secrets: what a connection gave as one is masked wherever it or another repeats it, in any of its forms.

Brokers quote a passcode in an ERROR, clients put it into a body or a header of their own. Commands, names of headers, and headers whose
values are numbers or versions of the protocol are unchanged, so that masking never alters a frame's meaning.
"""

from __future__ import annotations

import numpy as np

from stompcap.columns import Octets
from stompcap.kernel import callee
from stompcap.stomp.grammar import BACKSLASH, COLON, LF, pack
from stompcap.stomp.octets import equals
from stompcap.stomp.secret_forms import BEFORE, BEHIND
from stompcap.stomp.secret_lines import cover

NUMERIC_OCTETS, NUMERIC_LENGTHS = pack(("accept-version", "content-length", "heart-beat", "version"))
DIGIT = np.zeros(256, np.bool_)
DIGIT[list(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")] = True


@callee
def _may_cover(octets: Octets, begin: int, at: int, stop: int) -> bool:
    """Whether [at, stop) in the head at `begin` lies in one value, of a header that is no number of the protocol's."""
    for k in range(at, stop):
        if octets[k] == LF:
            return False
    line = at
    while line > begin and octets[line - 1] != LF:
        line -= 1
    colon = line
    while colon < at and octets[colon] != COLON:
        colon += 1
    if line == begin or colon == at:
        return False
    for word in range(NUMERIC_LENGTHS.size):
        if colon - line == NUMERIC_LENGTHS[word] and equals(octets, line, colon, NUMERIC_OCTETS[word, : NUMERIC_LENGTHS[word]]):
            return False
    return True


@callee
def mask_repeat(
    octets: Octets, masked: Octets, begin: int, head: int, end: int, at: int, stop: int, edges: int, apply: bool
) -> bool:
    """Mask the secret at [at, stop) of the row [begin, end), before `head` only in a value; whether there was one to mask."""
    if edges & BEFORE and at > begin and DIGIT[octets[at - 1]]:
        at -= 1
    if edges & BEHIND and stop < end and DIGIT[octets[stop]]:
        stop += 1
    if at < head:
        if not _may_cover(octets, begin, at, stop):
            return False
        first = at
        while first > begin and octets[first - 1] == BACKSLASH:
            first -= 1
        # half an escape left before the mask would be an undefined one
        at -= (at - first) % 2
    return cover(octets, masked, at, stop, apply)
