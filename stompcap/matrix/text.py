"""A matrix for terminals: as many products side by side as fit, the rest below, then a line for each broken cell with its proof."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len, set_cell_size

from stompcap.matrix import wording
from stompcap.matrix.model import Cell, Column, Matrix
from stompcap.rules.record import Rule
from stompcap.tables.levels import spelled

NARROWEST = 40
BETWEEN = 2
NAME, TITLE = 16, 24  # characters of a column's head at most, and of titles at least where there is room for them
LEVEL = 6


def written(matrix: Matrix, width: int = 80) -> str:
    """The matrix in so many columns of a terminal; ends in a newline."""
    width = max(width, NARROWEST)
    lines = [f"Rules of {wording.WHO[matrix.subjects.side]}s, by {', '.join(matrix.subjects.by)}"]
    lines += _wrapped("ok N: kept on N occasions; M/N: broken on M of N (S: SHOULD, i: INFO); -: not judged", width)
    for begin, end in _blocks(matrix, width):
        lines += ["", *_block(matrix, begin, end, width)]
    lines += ["", *_proofs(matrix, width)]
    if matrix.untried:
        lines += ["", *_wrapped(f"Not judged: {', '.join(rule.id for rule in matrix.untried)}", width)]
    for remark in wording.remarks(matrix):
        lines += _wrapped(remark, width)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _widths(matrix: Matrix) -> list[int]:
    """Of each column, as wide as its widest cell, or its head up to NAME."""
    cells = [[wording.short(cells[at]) for _, cells in matrix.rows] for at in range(len(matrix.columns))]
    heads = [_head(column) for column in matrix.columns]
    return [max(*map(cell_len, own), *(min(cell_len(one), NAME) for one in head)) for own, head in zip(cells, heads, strict=True)]


def _head(column: Column) -> tuple[str, str]:
    """A product, and what else tells it apart."""
    return wording.name_of(str(column.key[0])), wording.name_of(" ".join(one for one in column.key[1:] if one is not None))


def _blocks(matrix: Matrix, width: int) -> Iterator[tuple[int, int]]:
    """Columns that fit side by side: first, and behind the last."""
    widths, begin = _widths(matrix), 0
    while begin < len(widths):
        end, taken = begin, _id_width(matrix) + BETWEEN + LEVEL
        while end < len(widths) and (end == begin or taken + BETWEEN + widths[end] <= width):
            taken += BETWEEN + widths[end]
            end += 1
        yield begin, end
        begin = end


def _id_width(matrix: Matrix) -> int:
    return max((len(rule.id) for rule, _ in matrix.rows), default=5)


def _block(matrix: Matrix, begin: int, end: int, width: int) -> list[str]:
    widths, columns = _widths(matrix)[begin:end], matrix.columns[begin:end]
    left = _id_width(matrix) + BETWEEN + LEVEL
    room = width - left - sum(widths) - BETWEEN * (len(widths) + 1)
    title = room if room >= TITLE else 0

    def line(name: str, cells: Sequence[str]) -> str:
        first = _cut(name, left + (title + BETWEEN if title else 0))
        return (" " * BETWEEN).join([first, *(_right(one, size) for one, size in zip(cells, widths, strict=True))])

    heads = [_head(column) for column in columns]
    lines = [line("", [one for one, _ in heads])]
    if any(more for _, more in heads):
        lines.append(line("", [more for _, more in heads]))
    lines.append(line("sessions", [str(column.sessions) for column in columns]))
    lines.append(line("MUST rules kept" if title else "MUST kept", [wording.totals(matrix, at) for at in range(begin, end)]))
    for family, rows in matrix.families:
        lines.append(family)
        for rule, cells in rows:
            name = f"{rule.id.ljust(_id_width(matrix))}  {_level(rule).ljust(LEVEL)}" + (f"  {rule.title}" if title else "")
            lines.append(line(name, [wording.short(cell) for cell in cells[begin:end]]))
    return lines


def _level(rule: Rule) -> str:
    """The rule's first level: the strictest there is."""
    return spelled(rule.level_text[0])


def _proofs(matrix: Matrix, width: int) -> list[str]:
    lines = []
    for rule, cells in matrix.rows:
        broken = [(column, cell) for column, cell in zip(matrix.columns, cells, strict=True) if cell.proof]
        if broken:
            lines += ["", *_wrapped(f"{rule.id}  {rule.title}", width)]
        for column, cell in broken:
            lines += _proof(column, cell, width)
    return lines[1:]


def _proof(column: Column, cell: Cell, width: int) -> list[str]:
    assert cell.proof is not None
    lines = _wrapped(f"  {wording.name_of(column.name)}: {wording.in_words(cell)}; {wording.where(cell.proof)}", width)
    lines += [_cut(f"    {wording.evidence(cell.proof)}", width)] if cell.proof.evidence else []
    octets = wording.octets(cell.proof, width)
    return [*lines, *([_cut(f"    {octets}", width)] if octets else [])]


def _cut(text: str, width: int) -> str:
    """The text in so many columns."""
    return set_cell_size(text, width) if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"


def _right(text: str, width: int) -> str:
    short = _cut(text, width).rstrip() if cell_len(text) > width else text
    return " " * (width - cell_len(short)) + short


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of words; those behind the first are set in by four."""
    indent = len(text) - len(text.lstrip())
    lines, line = [], " " * indent
    for word in text.split():
        for piece in _pieces(word, width - 4):
            if line.strip() and cell_len(line) + 1 + cell_len(piece) > width:
                lines.append(line)
                line = " " * 4
            line += ("" if not line.strip() else " ") + piece
    return [*lines, line]


def _pieces(word: str, width: int) -> Iterator[str]:
    while cell_len(word) > width:
        yield word[: width // 2]
        word = word[width // 2 :]
    yield word
