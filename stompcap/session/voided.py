"""Deliveries whose transaction was aborted, by their names: the first of a name is found at once, however many there are of it.

They are in an ordered set (stompcap.session.ordered). Each has a number for each of its names: the numbers of a name stand together,
those of later deliveries before those of earlier ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stompcap.kernel import kernel
from stompcap.session import ordered
from stompcap.session.dialogue import I32, I64, Bools
from stompcap.session.ordered import add, below, remove

NAMES = 3  # names that a delivery may have


class Voided(NamedTuple):
    """The set of `words` and `starts`; `number` has shape (NAMES, deliveries), -1 where there is none.

    Per number: its delivery, the lowest number of the same name and the one behind the highest.
    """

    words: I64
    starts: I64
    number: I64
    delivery: I64
    lowest: I64
    behind: I64


def empty(codes: I32, session: I32, may: Bools) -> Voided:
    """The empty set.

    Per delivery the `codes` of its names, of shape (deliveries, NAMES) and -1 for none, its session, and whether it may ever be in it.
    """
    which, behind_first = np.nonzero((codes[::-1].T >= 0) & may[::-1])
    delivery = len(codes) - 1 - behind_first
    line = codes[delivery, which].astype(np.int64) * (int(session.max(initial=0)) + 1) + session[delivery]
    order = np.argsort(line, kind="stable")
    lines, number = line[order], np.full((NAMES, len(codes)), -1, np.int64)
    number[which[order], delivery[order]] = np.arange(len(order))
    words, starts = ordered.empty(len(order) + 1)
    return Voided(words, starts, number, delivery[order], np.searchsorted(lines, lines), np.searchsorted(lines, lines, "right"))


@kernel
def put(voided: Voided, name: int, delivery: int) -> None:
    """Put a delivery into the set by one of its names."""
    if voided.number[name, delivery] >= 0:
        add(voided.words, voided.starts, voided.number[name, delivery])


@kernel
def take(voided: Voided, name: int, delivery: int) -> None:
    """Take a delivery out of the set by one of its names."""
    if voided.number[name, delivery] >= 0:
        remove(voided.words, voided.starts, voided.number[name, delivery])


@kernel
def first(voided: Voided, name: int, delivery: int) -> int:
    """The first delivery of the set that has that name in common with this one; -1 where there is none."""
    number = voided.number[name, delivery]
    if number < 0:
        return -1
    found = below(voided.words, voided.starts, voided.behind[number])
    return int(voided.delivery[found]) if found >= voided.lowest[number] else -1
