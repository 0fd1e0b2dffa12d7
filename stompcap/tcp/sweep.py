"""Which segment supplies each octet where segments overlap: a sweep by position, with the candidates for an octet in a heap by priority."""

from __future__ import annotations

import numpy as np

from stompcap.capture.integers import Int
from stompcap.columns import I64
from stompcap.kernel import allocating, callee, inline


@inline
def higher(heap: I64, i: Int, j: Int, priority: I64) -> bool:
    """Heap order of two entries."""
    return bool(priority[heap[i]] < priority[heap[j]])


@callee
def push(heap: I64, size: Int, item: Int, priority: I64) -> None:
    """Add an item to a binary heap of `size` items."""
    heap[size] = item
    i = size
    while i > 0 and higher(heap, i, (i - 1) >> 1, priority):
        heap[i], heap[(i - 1) >> 1] = heap[(i - 1) >> 1], heap[i]
        i = (i - 1) >> 1


@callee
def pop(heap: I64, size: Int, priority: I64) -> None:
    """Remove the first item of a binary heap of `size` items."""
    heap[0] = heap[size - 1]
    size -= 1
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and higher(heap, child + 1, child, priority):
            child += 1
        if not higher(heap, child, i, priority):
            break
        heap[i], heap[child] = heap[child], heap[i]
        i = child


@allocating
def sweep(begins: I64, ends: I64, priority: I64) -> tuple[I64, I64]:
    """Assigns each octet of overlapping items: (pieces, losses), rows of item, begin, end.

    Pieces come by offset and do not overlap; an item has an octet if no item of smaller priority covers it. Losses
    are the octets that an item covers and does not have.
    """
    count = len(begins)
    by_begin = np.argsort(begins, kind="mergesort")
    pieces, losses = np.empty((2 * count, 3), np.int64), np.empty((3 * count, 3), np.int64)
    heap, done = np.empty(count, np.int64), begins.copy()
    size = next_item = n = lost = np.int64(0)
    at = np.int64(0)
    while size or next_item < count:
        if size == 0:
            at = begins[by_begin[next_item]]
        while next_item < count and begins[by_begin[next_item]] <= at:
            push(heap, size, by_begin[next_item], priority)
            size += 1
            next_item += 1
        while size and ends[heap[0]] <= at:
            pop(heap, size, priority)
            size -= 1
        if size == 0:
            continue
        item = heap[0]
        to = ends[item]
        if next_item < count:
            to = min(to, begins[by_begin[next_item]])
        if done[item] < at:
            losses[lost, 0], losses[lost, 1], losses[lost, 2] = item, done[item], at
            lost += 1
        if n and pieces[n - 1, 0] == item and pieces[n - 1, 2] == at:
            pieces[n - 1, 2] = to
        else:
            pieces[n, 0], pieces[n, 1], pieces[n, 2] = item, at, to
            n += 1
        done[item] = at = to
    for item in range(count):
        if done[item] < ends[item]:
            losses[lost, 0], losses[lost, 1], losses[lost, 2] = item, done[item], ends[item]
            lost += 1
    return pieces[:n], losses[:lost]
