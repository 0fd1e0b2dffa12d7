"""A matrix as Markdown: a table for each family of rules, and the proofs below."""

from __future__ import annotations

import re

from stompcap.matrix import wording
from stompcap.matrix.model import Cell, Matrix
from stompcap.tables.levels import spelled

SPECIAL = re.compile(r"([\\`*_\[\]<>|~&$])")
PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
HARMLESS = re.compile(r"(?!www\.)[A-Za-z0-9][A-Za-z0-9 /.-]*", re.ASCII)


def written(matrix: Matrix, title: str = "", begins: int = 1) -> str:
    """The matrix as a page, or, where `begins` is more than 1, as the part of one whose headings begin at that level."""
    mark = "#" * begins
    lines = [f"{mark} {title or f'Rules kept and broken by {wording.WHO[matrix.subjects.side]}s'}", ""]
    names = [foreign(wording.name_of(column.name)) for column in matrix.columns]
    lines += [f"| | {' | '.join(names)} |", f"| --- |{' ---: |' * len(names)}"]
    lines.append(f"| sessions | {' | '.join(_sessions(column.versions) for column in matrix.columns)} |")
    lines.append(f"| MUST rules kept, of those judged | {' | '.join(wording.totals(matrix, at) for at in range(len(names)))} |")
    for family, rows in matrix.families:
        lines += ["", f"{mark}# {family}", ""]
        lines += [f"| rule | level | what | {' | '.join(names)} |", f"| --- | --- | --- |{' ---: |' * len(names)}"]
        for rule, cells in rows:
            told = " | ".join(_cell(cell) for cell in cells)
            lines.append(f"| {rule.id} | {spelled(rule.level_text)} | {plain(rule.title)} | {told} |")
    if matrix.untried:
        lines += ["", f"{mark}# Not judged", "", ", ".join(rule.id for rule in matrix.untried) + "."]
    lines += ["", *wording.remarks(matrix)] if wording.remarks(matrix) else []
    proofs = _proofs(matrix)
    return "\n".join([*lines, *(["", f"{mark}# Proofs", "", *proofs] if proofs else [])]) + "\n"


def _sessions(versions: dict[str | None, int]) -> str:
    named = [f"{number:,} of {version}" for version, number in versions.items() if version]
    return f"{sum(versions.values()):,}" + (f" ({', '.join(named)})" if named else "")


def _cell(cell: Cell) -> str:
    at_most = wording.SHARED if cell.shared else ""
    if cell.status == "not judged":
        return "not judged"
    if cell.level is None:
        return f"kept, {at_most}{cell.occasions:,}"
    findings = [f"{number:,}{'' if level == 'MUST' else f' {level}'}" for level, number, _ in cell.broken]
    told = ", ".join(findings)
    return f"{told if cell.status == 'noted' else f'**{told}**'} of {at_most}{cell.occasions:,}"


def _proofs(matrix: Matrix) -> list[str]:
    lines = []
    for rule, cells in matrix.rows:
        for column, cell in zip(matrix.columns, cells, strict=True):
            if cell.proof is None:
                continue
            octets, evidence = wording.octets(cell.proof), wording.evidence(cell.proof)
            seen = f": {code(evidence)}" if evidence else ""
            frame = f"; {code(octets)}" if octets else ""
            name = foreign(wording.name_of(column.name))
            lines.append(f"- **{rule.id}**, {name}: {wording.in_words(cell)}. {code(wording.where(cell.proof))}{seen}{frame}")
    return lines


def plain(text: str) -> str:
    """Text of our own that shows as it is: every character that means something to Markdown within a line is escaped."""
    return SPECIAL.sub(r"\\\1", text)


def foreign(text: str) -> str:
    """Text that a peer chose: all punctuation is escaped, so that it becomes no link either; names as most products have them are left."""
    return text if HARMLESS.fullmatch(text) else PUNCTUATION.sub(r"\\\1", text)


def code(text: str) -> str:
    """Text as code in a line, behind more backticks than it has in a row."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence, room = "`" * (longest + 1), " " if text.startswith(("`", " ")) or text.endswith(("`", " ")) else ""
    return f"{fence}{room}{text}{room}{fence}"
