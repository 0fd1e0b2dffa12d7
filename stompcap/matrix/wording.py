"""What all forms of a matrix say alike."""

from __future__ import annotations

import os

from stompcap.matrix.model import Cell, Matrix, Proof
from stompcap.units import counted
from stompcap.visible import visible, visible_octets

LONGEST_NAME, LONGEST_EVIDENCE, LONGEST_OCTETS = 60, 200, 160
WHO = {"client": "client", "server": "broker"}
"""The sides as products."""

SHARED = "≤"
"""In front of occasions that include those of the other side: a lake counts them together where a rule is about both."""


def name_of(text: str) -> str:
    """A product's name, which the peer chose, as people may see it."""
    return visible(text, LONGEST_NAME)


def short(cell: Cell) -> str:
    """A cell in few characters: `-` not judged, `ok 12`, `2/22`; behind it the level where that is milder than MUST."""
    if cell.status == "not judged":
        return "-"
    at_most = SHARED if cell.shared else ""
    if cell.level is None:
        return f"ok {at_most}{cell.occasions}"
    findings = cell.broken[0][1]
    return f"{findings}/{at_most}{cell.occasions}" + {"MUST": "", "SHOULD": " S", "INFO": " i"}[cell.level]


def in_words(cell: Cell) -> str:
    """A cell in words: `not judged`, `kept (12 occasions)`, `broken (2 MUST, in 1 of 3 sessions; of 22 occasions)`."""
    at_most = "at most " if cell.shared else ""
    if cell.status == "not judged":
        return "not judged"
    if cell.level is None:
        return f"kept ({at_most}{counted(cell.occasions, 'occasion')})"
    parts = [f"{findings:,} {level}, in {sessions:,} of {counted(cell.sessions, 'session')}" for level, findings, sessions in cell.broken]
    return f"{cell.status} ({'; '.join(parts)}; of {at_most}{counted(cell.occasions, 'occasion')})"


def where(proof: Proof) -> str:
    """Where a proof can be looked at: the packet where it is known, else the place in the stream."""
    if proof.packet is not None and proof.capture is not None:
        return f"{visible(os.path.basename(proof.capture), 80)}, packet {proof.packet}"
    return f"stream {proof.stream_id}, {proof.direction} {proof.stream_offset}"


def octets(proof: Proof, limit: int = LONGEST_OCTETS) -> str:
    """Its octets as text, escaped; empty where it has none."""
    return "" if proof.octets is None else visible_octets(proof.octets, limit)


def evidence(proof: Proof) -> str:
    """What was seen."""
    return visible(proof.evidence, LONGEST_EVIDENCE)


def remarks(matrix: Matrix) -> list[str]:
    """What the numbers do not say by themselves."""
    who = WHO[matrix.subjects.side]
    found = []
    if matrix.shared:
        found.append(f"{SHARED}: where a rule is about both sides, a lake counts the occasions of both; captures count each apart.")
    if matrix.left_out:
        found.append(f"{matrix.left_out:,} more are left out: name those to compare.")
    if matrix.unnamed:
        found.append(f"{counted(matrix.unnamed, 'session')} left out, whose {who} is not known.")
    return found


def totals(matrix: Matrix, column: int) -> str:
    """How many of the MUST rules that were judged a product kept; at most so many, where its peers alone may have tried some."""
    kept, judged = matrix.musts(column)
    at_most = SHARED if any(cells[column].shared for _, cells in matrix.rows) else ""
    return f"{at_most}{kept}/{at_most}{judged}"
