"""A verdict as text of 80 columns, coloured on a terminal. What comes from the wire is escaped before it comes here."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from stompcap.checking import wording
from stompcap.checking.verdict import FAILED, LEVELS, NOT_JUDGED, RuleVerdict, Verdict
from stompcap.units import count, counted
from stompcap.visible import visible

WIDTH = 80
COLOURS = {
    "FAIL": "38;5;161", "MUST": "38;5;161", "SHOULD": "38;5;130", "INFO": "38;5;30", "head": "1", "dim": "38;5;243", "good": "38;5;28",
}  # fmt: skip
"""Of 256 colours, as those of peek."""

MOST_PEERS = 5


def written(verdict: Verdict, *, colours: bool = False) -> str:
    """The text; ends in a newline."""
    return "".join(f"{line}\n" for line in _lines(verdict, _Pen(colours)))


class _Pen:
    """Lines that fit, in colours or without."""

    def __init__(self, colours: bool) -> None:
        self.colours = colours

    def lines(self, text: str, colour: str = "", indent: str = "", first: str | None = None, *, whole: bool = False) -> Iterator[str]:
        """A text on lines of its own; a `whole` one, such as an address, on one."""
        wrapped = textwrap.wrap(text, WIDTH, initial_indent=indent if first is None else first, subsequent_indent=indent,
                                break_long_words=not whole, break_on_hyphens=False)  # fmt: skip
        for line in wrapped:
            yield f"\x1b[{COLOURS[colour]}m{line}\x1b[0m" if self.colours and colour else line


def _lines(verdict: Verdict, pen: _Pen) -> Iterator[str]:
    failed = sorted(verdict.of(FAILED), key=lambda one: LEVELS.index(one.level))
    for one in failed:
        if wording.mark(verdict, one) == "FAIL":
            yield from _failure(verdict, one, pen)
    rest = [one for one in failed if wording.mark(verdict, one) != "FAIL"]
    if rest:
        yield from pen.lines(f"Findings that do not count at --level {verdict.level}:", "head")
        for one in rest:
            known = ", in the baseline" if wording.mark(verdict, one) == "known" else ""
            yield from pen.lines(f"{_name(one)}: {one.rule.title} ({wording.rates(one)}{known})", one.level, " " * 12, "  ")
        yield ""
    yield from _untried(verdict, pen)
    for line in wording.peers(verdict)[:MOST_PEERS]:
        yield from pen.lines(line, "dim", "  ", "")
    if len(verdict.peers) > MOST_PEERS:
        yield from pen.lines(f"and sessions of {counted(len(verdict.peers) - MOST_PEERS, 'other pair')}", "dim")
    for line in (*verdict.refused, *verdict.remarks):
        yield from pen.lines(visible(line), "FAIL" if line in verdict.refused else "dim", "  ", "")
    if verdict.gone:
        gone = f"{counted(len(verdict.gone), 'finding')} of the baseline did not come again: {', '.join(map(visible, verdict.gone))}"
        yield from pen.lines(gone, "dim", "  ", "")
    for side in verdict.sides:
        yield from pen.lines(f"{side}: {wording.summary(verdict, side)}; {counted(verdict.frames.get(side, 0), 'frame')}", "head")
    yield from pen.lines(f"check {verdict.conclusion}", "good" if verdict.ok else "FAIL")


def _name(one: RuleVerdict) -> str:
    return f"{one.rule.id} {one.level} {one.side}"


def _failure(verdict: Verdict, one: RuleVerdict, pen: _Pen) -> Iterator[str]:
    """A rule that failed, in full."""
    yield from pen.lines(f"FAIL {_name(one)}: {one.rule.title}", one.level, "     ", "")
    yield from pen.lines(f"{wording.rates(one)}; clause: {one.rule.clause}", "", "     ")
    if quotation := wording.quoted(one):
        yield from pen.lines(quotation, "", "     ")
    if one.url:
        yield from pen.lines(one.url, "dim", "     ", whole=True)
    for finding in one.findings:
        if not verdict.counts(finding):
            continue
        yield from pen.lines(wording.title(finding), "", "     ")
        for example in finding.examples:
            yield from pen.lines(f"- {example.evidence}", "", "       ", "     ")
            yield from pen.lines(wording.location(example), "dim", "       ")
            if example.frame is not None:
                yield from pen.lines(example.frame, "", "         ")
    yield ""


def _untried(verdict: Verdict, pen: _Pen) -> Iterator[str]:
    """The rules that are not judged: at the level those that could count, of others the number."""
    untried = verdict.of(NOT_JUDGED)
    due = [one for one in untried if LEVELS.index(one.level) <= LEVELS.index(verdict.level)]
    if not untried:
        return
    milder = f", and {count(len(untried) - len(due))} milder ones" if len(due) < len(untried) else ""
    yield from pen.lines(f"Not judged: {counted(len(due), 'rule')} at {verdict.level} or above{milder}", "head")
    by_need: dict[str, list[str]] = {}
    for one in due:
        by_need.setdefault(wording.needs(one), []).append(one.rule.id if one.rule.side == one.side else f"{one.rule.id} {one.side}")
    for need, names in by_need.items():
        yield from pen.lines(f"{', '.join(names)}: {need}", "dim", "    ", "  ")
    yield ""
