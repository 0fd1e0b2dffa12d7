"""A matrix: rows are rules by family, columns are products, a cell says what a product did with a rule."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from stompcap.matrix.counts import Counts, Key
from stompcap.matrix.subjects import Subjects
from stompcap.rules.catalogue import RULES
from stompcap.rules.record import Rule
from stompcap.tables.levels import SPELLED
from stompcap.tables.words import LEVELS, VERSIONS

MOST = 12
"""Columns of a matrix, those with the most sessions; peers choose their names, so there may be any number."""

FAMILIES = {
    "FR": "Frames", "CN": "Connecting", "HB": "Heart-beats", "SN": "SEND", "SB": "Subscriptions", "MS": "MESSAGE", "AK": "Acknowledgements",
    "TX": "Transactions", "RC": "Receipts", "ER": "Errors", "DS": "The end", "TR": "Below STOMP",
}  # fmt: skip


@dataclass(frozen=True)
class Column:
    """A product, with what else tells it apart, None where that is not known; its sessions by version of the protocol, known ones first."""

    key: Key
    versions: dict[str | None, int]

    @property
    def sessions(self) -> int:
        """How many."""
        return sum(self.versions.values())

    @property
    def name(self) -> str:
        """As the peer has it: any characters."""
        return " ".join([str(self.key[0]), *(one for one in self.key[1:] if one is not None)])


@dataclass(frozen=True)
class Proof:
    """One finding: what was seen, where, and the octets there; None where it is of silence, or nothing is known."""

    evidence: str
    stream_id: str
    direction: str
    stream_offset: int
    capture: str | None
    packet: int | None
    octets: bytes | None


@dataclass(frozen=True)
class Cell:
    """What a product did with a rule: how often it was judged, and by level how often it broke it, in how many sessions.

    `shared`: occasions of the other side are among them, for the rule is about both. `proof`: the first finding of the strictest level.
    """

    occasions: int = 0
    sessions: int = 0
    shared: bool = False
    broken: tuple[tuple[str, int, int], ...] = ()
    proof: Proof | None = None

    @property
    def level(self) -> str | None:
        """The strictest level at which it was broken: MUST, SHOULD, INFO; None where it was not."""
        return self.broken[0][0] if self.broken else None

    @property
    def status(self) -> str:
        """Broken; noted, where it was as INFO alone, which is no violation; kept; or not judged."""
        if self.broken:
            return "noted" if self.level == "INFO" else "broken"
        return "kept" if self.occasions else "not judged"


NOTHING = Cell()


@dataclass(frozen=True)
class Matrix:
    """All cells: those of a rule in the order of the columns.

    `left_out`: products that have no column for want of room; `unnamed`: sessions whose product is not known.
    """

    subjects: Subjects
    columns: tuple[Column, ...]
    rows: tuple[tuple[Rule, tuple[Cell, ...]], ...]
    left_out: int = 0
    unnamed: int = 0

    @property
    def families(self) -> list[tuple[str, list[tuple[Rule, tuple[Cell, ...]]]]]:
        """Rows that some product has tried, by the names of their families."""
        found: dict[str, list[tuple[Rule, tuple[Cell, ...]]]] = {}
        for rule, cells in self.rows:
            if any(cell.status != "not judged" for cell in cells):
                found.setdefault(FAMILIES[rule.id[:2]], []).append((rule, cells))
        return [*found.items()]

    @property
    def untried(self) -> list[Rule]:
        """Rules that no product has tried."""
        return [rule for rule, cells in self.rows if all(cell.status == "not judged" for cell in cells)]

    @property
    def shared(self) -> bool:
        """Whether some occasions are of both sides."""
        return any(cell.shared and cell.occasions for _, cells in self.rows for cell in cells)

    def musts(self, column: int) -> tuple[int, int]:
        """Of the rules that are a MUST in a product's sessions and were judged: how many it kept, and how many they are."""
        versions = [name for name in self.columns[column].versions if name] or [*VERSIONS]
        kept = judged = 0
        for rule, cells in self.rows:
            cell = cells[column]
            if cell.status != "not judged" and any(rule.levels(version)[0] == "M" for version in versions):
                judged += 1
                kept += cell.level != "MUST"
        return kept, judged


def matrix(counts: Counts, subjects: Subjects, wanted: Collection[str] = ()) -> Matrix:
    """The matrix of a side; of the products that are wanted, or of those with the most sessions."""
    lower = {name.lower() for name in wanted}
    every = [Column(key, _sorted(versions)) for key, versions in counts.versions.items()]
    chosen = [one for one in every if not lower or {one.name.lower(), str(one.key[0]).lower()} & lower]
    most = sorted(chosen, key=lambda one: (-one.sessions, _natural(one)))[:MOST]
    columns = tuple(sorted(most, key=_natural))
    rules = [rule for rule in RULES if rule.side in (subjects.side, "both")]
    rows = tuple((rule, tuple(_cell(counts, rule, column.key) for column in columns)) for rule in rules)
    return Matrix(subjects, columns, rows, len(chosen) - len(columns), counts.unnamed)


def _sorted(versions: dict[str | None, int]) -> dict[str | None, int]:
    return dict(sorted(versions.items(), key=lambda one: (one[0] is None, one[0] or "")))


def _natural(column: Column) -> list[tuple[int, int | str]]:
    """Names without regard to case, numbers in them by their value."""
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+|[0-9]+", column.name.lower())
    return [(0, int(part)) if len(part) <= 18 and part.isascii() and part.isdigit() else (1, part) for part in parts]


def _cell(counts: Counts, rule: Rule, key: Key) -> Cell:
    judged = counts.judged.get((rule.id, key))
    found = [(level, counts.broken[rule.id, level, key]) for level in LEVELS if (rule.id, level, key) in counts.broken]
    if judged is None and not found:
        return NOTHING
    proof = None
    if found:
        first = found[0][1].first
        proof = Proof(
            first["evidence"] or "", first["stream_id"], first["direction"], first["stream_offset"], first.get("capture"),
            first.get("packet"), first.get("raw"),
        )  # fmt: skip
    total = sum(one.findings for _, one in found)
    broken = tuple((SPELLED[level], one.findings, one.sessions) for level, one in found)
    if judged is None:
        return Cell(total, max(one.sessions for _, one in found), broken=broken, proof=proof)
    return Cell(max(judged.occasions, total), judged.sessions, judged.shared, broken, proof)
