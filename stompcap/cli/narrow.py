"""Tables on narrow terminals: ids and times shortened, long texts cut in their middle, and the least telling columns left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len

from stompcap.units import NOTHING
from stompcap.visible import CUT

BETWEEN = 3  # characters between two columns
LEAST = 14  # characters to which a text is cut before a column is left out
ID_DIGITS, DAY = 8, 11
LEFT_OUT = ("damage", "last", "format", "version", "size", "frames", "client", "broker", "p50", "side", "ended", "sessions", "messages")
"""Titles of columns, the least telling first."""

Table = tuple[list[str], list[list[Any]]]


def fitted(titles: Sequence[str], rows: Sequence[Sequence[Any]], width: int) -> Table:
    """A table of texts and numbers that fits so many columns of a terminal, as far as there is anything to shorten."""
    found: Table = list(titles), [list(row) for row in rows]
    if _width(found) <= width:
        return found
    found = _shortened(*found)
    named = ("address",) if "login" in found[0] else ()
    for title in (None, *LEFT_OUT[:3], *named, *LEFT_OUT[3:]):
        if title in found[0]:
            at = found[0].index(title)
            if title == "address":
                login = found[0].index("login")
                found = found[0], [[*row[:login], row[at] if row[login] == NOTHING else row[login], *row[login + 1 :]] for row in found[1]]
            found = [one for one in found[0] if one != title], [[*row[:at], *row[at + 1 :]] for row in found[1]]
        if _width(cut := _cut(found, width)) <= width:
            return cut
    return cut


def _shortened(titles: list[str], rows: list[list[Any]]) -> Table:
    """Ids by their first digits, and times without the day where all are of one."""
    for at, title in enumerate(titles):
        texts = [row[at] for row in rows if isinstance(row[at], str)]
        if title == "stream id":
            shorter = [text[:ID_DIGITS] for text in texts]
        elif title in ("opened", "first", "last") and texts:
            one_day = len({text[:DAY] for text in texts}) == 1
            shorter = [text[DAY : DAY + 8] if one_day else text[5 : DAY + 5] for text in texts]
        else:
            continue
        short = dict(zip(texts, shorter, strict=True))
        for row in rows:
            row[at] = short.get(row[at], row[at]) if isinstance(row[at], str) else row[at]
    return titles, rows


def _widths(table: Table) -> list[int]:
    titles, rows = table
    return [max([cell_len(title), *(cell_len(str(row[at])) for row in rows)]) for at, title in enumerate(titles)]


def _width(table: Table) -> int:
    widths = _widths(table)
    return sum(widths) + BETWEEN * max(len(widths) - 1, 0)


def _cut(table: Table, width: int) -> Table:
    """The table with its longest texts cut, none to less than LEAST."""
    titles, rows = table
    widths = _widths(table)
    texts = [at for at in range(len(titles)) if any(isinstance(row[at], str) for row in rows)]
    over = sum(widths) + BETWEEN * (len(widths) - 1) - width
    while over > 0:
        long = [at for at in texts if widths[at] > max(LEAST, cell_len(titles[at]))]
        if not long:
            break
        widths[max(long, key=lambda at: widths[at])] -= 1
        over -= 1
    return titles, [[middle(value, widths[at]) if isinstance(value, str) else value for at, value in enumerate(row)] for row in rows]


def middle(text: str, most: int) -> str:
    """A text of at most so many characters: its beginning and its end, as ends of paths and destinations tell most."""
    if len(text) <= most:
        return text
    end = (most - 1) * 2 // 3
    return text[: most - 1 - end] + CUT + text[len(text) - end :]
