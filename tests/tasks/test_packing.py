"""Pieces of work are put into tasks by size: all once, none empty, balanced. No Spark needed."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stompcap.tasks.packing import FILE_OCTETS, Packs, packed, tasks_to_read


@given(st.lists(st.integers(0, 1 << 30), max_size=200), st.integers(1, 20))
def test_every_piece_is_in_one_task(octets: list[int], tasks: int) -> None:
    packs = packed(octets, tasks)
    assert sorted(piece for pack in packs for piece in pack) == list(range(len(octets)))
    assert len(packs) == min(tasks, len(octets))
    assert all(packs)
    loads = [sum(octets[piece] + FILE_OCTETS for piece in pack) for pack in packs]
    largest = max(octets, default=0) + FILE_OCTETS
    assert max(loads, default=0) <= min(loads, default=0) + largest


@pytest.mark.parametrize(
    ("octets", "cores", "tasks"),
    [(0, 2, 1), (1, 2, 1), (1 << 20, 2, 1), (3 << 20, 2, 2), (3 << 20, 8, 3), (350_000_000, 2, 2), (3 << 30, 2, 12), (1 << 40, 64, 4096),
     (0, 0, 1), (350_000_000, 0, 6), (1 << 40, 0, 1 << 14)],
)
def test_tasks_follow_octets_and_cores_or_on_a_cluster_octets_alone(octets: int, cores: int, tasks: int) -> None:
    assert tasks_to_read(octets, cores) == tasks


class Piece:
    """Work that tells when it is unpacked."""

    def __getstate__(self) -> int:
        return 1

    unpacked = 0

    def __setstate__(self, state: object) -> None:
        Piece.unpacked += 1


def test_a_task_unpacks_its_own_pieces_alone() -> None:
    travelled: Packs[Piece] = pickle.loads(pickle.dumps(Packs([[Piece(), Piece()], [Piece()], []])))
    assert (len(travelled), Piece.unpacked) == (3, 0)
    assert [len(travelled[task]) for task in range(3)] == [2, 1, 0]
    assert Piece.unpacked == 3
