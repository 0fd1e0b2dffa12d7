"""Files made wrong: each mutation takes octets to octets; `mutated` draws some of them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from random import Random

Mutation = Callable[[bytearray, Random, Sequence[bytes]], bytearray]
ODD_NUMBERS = (0, 1, 2, 3, 4, 11, 12, 16, 28, 0x7F, 0xFF, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFC, 0xFFFFFFFF)
LONGEST = 1 << 17  # octets of a mutated file


def place(octets: bytearray, dice: Random) -> int:
    """Some offset; file and section headers, and places that are multiples of four, more often than others."""
    at = dice.randrange(len(octets) + 1) if dice.random() < 0.7 else dice.randrange(min(len(octets), 160) + 1)
    return at & ~3 if dice.random() < 0.6 else at


def flip(octets: bytearray, dice: Random, _: Sequence[bytes]) -> bytearray:
    """A bit flipped."""
    if octets:
        octets[min(place(octets, dice), len(octets) - 1)] ^= 1 << dice.randrange(8)
    return octets


def lie(octets: bytearray, dice: Random, _: Sequence[bytes]) -> bytearray:
    """A number overwritten: a length, a time, a type."""
    number = dice.choice((*ODD_NUMBERS, len(octets), dice.getrandbits(32), dice.getrandbits(8)))
    size, order = dice.choice((("I", 4), ("H", 2))), dice.choice("<>")
    at = place(octets, dice)
    octets[at : at + size[1]] = struct.pack(order + size[0], number % (1 << 8 * size[1]))
    return octets


def cut(octets: bytearray, dice: Random, _: Sequence[bytes]) -> bytearray:
    """Cut off somewhere."""
    return octets[: place(octets, dice)]


def drop(octets: bytearray, dice: Random, _: Sequence[bytes]) -> bytearray:
    """A stretch taken out."""
    at = place(octets, dice)
    del octets[at : at + dice.choice((1, 4, 16, dice.randrange(400) + 1))]
    return octets


def repeat(octets: bytearray, dice: Random, _: Sequence[bytes]) -> bytearray:
    """A stretch again, somewhere else."""
    begin = place(octets, dice)
    at = place(octets, dice)
    octets[at:at] = octets[begin : begin + dice.randrange(400)]
    return octets


def noise(octets: bytearray, dice: Random, _: Sequence[bytes]) -> bytearray:
    """Random octets, zeros or ones over a stretch, or put in."""
    size = dice.choice((1, 4, 8, dice.randrange(300) + 1))
    piece = dice.choice((dice.randbytes(size), bytes(size), b"\xff" * size))
    at = place(octets, dice)
    octets[at : at + (size if dice.random() < 0.7 else 0)] = piece
    return octets


def splice(octets: bytearray, dice: Random, seeds: Sequence[bytes]) -> bytearray:
    """The beginning of this file and the rest of another, or a piece of another put in."""
    other = dice.choice(seeds)
    at, begin = place(octets, dice), dice.randrange(len(other)) & ~3
    if dice.random() < 0.5:
        return octets[:at] + other[begin:]
    octets[at:at] = other[begin : begin + dice.randrange(2000)]
    return octets


MUTATIONS: tuple[Mutation, ...] = (flip, flip, lie, lie, lie, cut, drop, repeat, noise, splice)


def mutated(octets: bytes, dice: Random, seeds: Sequence[bytes]) -> bytes:
    """A file with one to eight mutations."""
    found = bytearray(octets)
    for _ in range(dice.choice((1, 1, 2, 3, 5, 8))):
        found = dice.choice(MUTATIONS)(found, dice, seeds)
    return bytes(found[:LONGEST])
