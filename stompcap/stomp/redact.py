"""Masks secrets: every octet of one becomes `*`; lengths and offsets do not change.

The delimiter has marked the rows that have secrets by name: frames with a secret header, and ERRORs, where brokers quote frames. Junk and
partial rows are searched as a whole, and a line torn off by a gap is masked as a whole. Heads are searched for tokens and URLs, and all
octets, in one pass, for what connections gave as secrets and for the clues of frames that are quoted in bodies.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from stompcap import codes
from stompcap.columns import I64, Bools, Octets
from stompcap.kernel import kernel
from stompcap.stomp.clues import LOGIN, MASKED, mask_clue, mask_head_values, may_have_values, searched_whole
from stompcap.stomp.delimiter_io import Rows
from stompcap.stomp.grammar import ERROR
from stompcap.stomp.marks import BLANK_PADDED, PASSCODE, TORN, mask_all, mask_partial, torn_end
from stompcap.stomp.needles import CLUES, needles, search
from stompcap.stomp.octets import readonly
from stompcap.stomp.passcodes import Passcodes
from stompcap.stomp.repeats import mask_repeat
from stompcap.stomp.secret_lines import cover, mask_lines
from stompcap.stomp.secret_names import SECRET_NAMES, SecretNames

KINDS_OF_CLUES = len(CLUES)


class Columns(NamedTuple):
    """Columns of rows, as kernels take them, and the rows that have octets, by position."""

    position: I64
    length: I64
    kind: I64
    syntax: I64
    body: I64
    command: I64
    order: I64

    @staticmethod
    def of(rows: Rows) -> Columns:
        """The columns of these rows."""
        here = np.flatnonzero(rows.kind != codes.GAP)
        order = here[np.argsort(rows.position[here], kind="stable")]
        return Columns(rows.position, rows.length, rows.kind, rows.syntax, rows.body, rows.command, order)


@kernel
def _redact(octets: Octets, masked: Octets, columns: Columns, names: SecretNames, found: Octets, apply: bool) -> None:
    """Mask secrets by name in the rows that are marked, and secret values in heads; notes the rows that have some."""
    for row in range(columns.position.size):
        syntax, kind, body, command = columns.syntax[row], columns.kind[row], columns.body[row], columns.command[row]
        begin, end = columns.position[row], columns.position[row] + columns.length[row]
        if apply and not found[row]:
            continue
        if syntax & (PASSCODE | TORN):
            some = False
            if syntax & TORN:
                stop = torn_end(octets, begin, end)
                some = cover(octets, masked, begin, stop, apply)
                begin = stop
            if kind == codes.PARTIAL:
                more, _ = mask_partial(octets, masked, begin, body, command, end, names, apply)
            elif kind != codes.FRAME or syntax & BLANK_PADDED:
                more, _ = mask_all(octets, masked, begin, end, end, names, apply)
            elif command == ERROR:
                more, _ = mask_all(octets, masked, begin, begin + body, end, names, apply)
            else:
                more, _ = mask_lines(octets, masked, begin, begin + body, names, apply)
            found[row] |= MASKED if some or more else 0
        if body > 0 and not searched_whole(kind, command, syntax, body) and may_have_values(octets, begin, begin + body):
            found[row] |= mask_head_values(octets, masked, begin, begin + body, apply)


@kernel
def _mask_matches(
    octets: Octets, masked: Octets, matches: I64, edges: I64, columns: Columns, names: SecretNames, found: Octets, apply: bool
) -> None:
    """Mask what was found, rows of begin, end and word: given secrets, and what the clues among the words lead to."""
    row, done = 0, -1
    for k in range(matches.shape[0]):
        at, stop, word = matches[k]
        while row < columns.order.size and columns.position[columns.order[row]] + columns.length[columns.order[row]] <= at:
            row += 1
        if row == columns.order.size:
            return
        number = columns.order[row]
        begin, end = columns.position[number], columns.position[number] + columns.length[number]
        kind, body = columns.kind[number], columns.body[number]
        if at < begin or stop > end or kind == codes.EOL:
            continue
        more = False
        if word >= KINDS_OF_CLUES:
            head = begin + body if kind == codes.FRAME else begin
            more = mask_repeat(octets, masked, begin, head, end, at, stop, edges[word], apply)
        elif at >= done and at >= begin + body and not searched_whole(kind, columns.command[number], columns.syntax[number], body):
            more, done = mask_clue(octets, masked, at, begin + body, end, names, apply)
        found[number] |= MASKED if more else 0


def mask_secrets(
    octets: Octets, rows: Rows, secrets: Collection[bytes] = (), names: SecretNames = SECRET_NAMES
) -> tuple[Octets, Octets]:
    """As `redact`; `secrets` are masked too wherever they occur; per row the bits MASKED and LOGIN."""
    found = np.zeros(len(rows), np.uint8)
    if not len(rows):
        return octets, found
    view, unused, columns = readonly(octets), np.empty(0, np.uint8), Columns.of(rows)
    with needles(frozenset(secrets)) as words:
        matches = search(view, words)
    _redact(view, unused, columns, names, found, False)
    _mask_matches(view, unused, matches, words.edges, columns, names, found, False)
    if not found.any():
        return octets, found
    masked = octets.copy()
    _redact(view, masked, columns, names, found, True)
    _mask_matches(view, masked, matches, words.edges, columns, names, found, True)
    return masked, found


def redact(octets: Octets, rows: Rows, names: SecretNames = SECRET_NAMES) -> tuple[Octets, Bools]:
    """The octets with the secrets of these rows masked.

    Args:
        octets: the buffer that contains the rows; it is not changed.
        rows: rows as `delimit` gives them, gaps among them.
        names: headers whose values are secret, as for `delimit`.

    Returns:
        The buffer itself where there is nothing to mask, else a copy; and per row whether something in it was masked.
    """
    masked, found = mask_secrets(octets, rows, (), names)
    return masked, (found & MASKED) != 0


def mask_repeats(octets: Octets, rows: Rows, passcodes: Passcodes) -> tuple[Octets, Bools]:
    """The octets with what any of the connections gave as a secret masked wherever it occurs in the rows, in all its forms.

    Args:
        octets: the buffer that contains the rows, redacted or not; it is not changed.
        rows: rows as `delimit` gives them; directions 2 * c and 2 * c + 1 belong to connection c.
        passcodes: as `passcodes_of` gives them.

    Returns:
        The buffer itself where there is nothing to mask, else a copy; and per row whether something in it was masked.
    """
    found = np.zeros(len(rows), np.uint8)
    secrets = frozenset[bytes]().union(*passcodes.values())
    if not secrets or not len(rows):
        return octets, found != 0
    view, unused, columns = readonly(octets), np.empty(0, np.uint8), Columns.of(rows)
    with needles(secrets) as words:
        matches = search(view, words)
    matches = matches[matches[:, 2] >= KINDS_OF_CLUES]
    _mask_matches(view, unused, matches, words.edges, columns, SECRET_NAMES, found, False)
    if not found.any():
        return octets, found != 0
    masked = octets.copy()
    _mask_matches(view, masked, matches, words.edges, columns, SECRET_NAMES, found, True)
    return masked, found != 0


__all__ = ["LOGIN", "MASKED", "mask_repeats", "mask_secrets", "redact"]
