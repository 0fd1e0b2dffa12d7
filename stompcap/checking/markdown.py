"""A verdict as Markdown, for a job's summary, a ticket or a comment. What comes from the wire is escaped or in code spans."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stompcap.checking import wording
from stompcap.checking.verdict import FAILED, LEVELS, NOT_JUDGED, STATUSES, RuleVerdict, Verdict
from stompcap.visible import visible

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#+!|~@&$:-])")


def written(verdict: Verdict) -> str:
    """The text; ends in a newline."""
    return "".join(f"{line}\n" for line in _lines(verdict))


def plain(text: str) -> str:
    """A text in which nothing is Markdown, a mention, a link or HTML."""
    return SPECIAL.sub(r"\\\1", visible(text)).replace("www.", "www\\.")


def code(text: str) -> str:
    """A text as a code span (CommonMark 6.1): between more backticks than it has in a row; a | would end a table's cell."""
    text = visible(text).replace("|", "¦")
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"


def _lines(verdict: Verdict) -> Iterator[str]:
    yield from (f"### stompcap check {plain(verdict.conclusion)}", "")
    yield from (f"| | {' | '.join(STATUSES)} | frames |", "| --- | ---: | ---: | ---: | ---: |")
    for side in verdict.sides:
        counts = verdict.counted(side)
        yield f"| {side} | {' | '.join(str(counts[status]) for status in STATUSES)} | {verdict.frames.get(side, 0)} |"
    yield ""
    failed = sorted(verdict.of(FAILED), key=lambda one: (wording.mark(verdict, one) != "FAIL", LEVELS.index(one.level)))
    if failed:
        yield from ("| | rule | level | side | what | failed of tried | first seen |", "| --- | --- | --- | --- | --- | ---: | --- |")
        yield from (_row(verdict, one) for one in failed)
        yield ""
    untried = verdict.of(NOT_JUDGED)
    if untried:
        yield from (f"<details><summary>{len(untried)} not judged</summary>", "")
        yield from (f"- {one.rule.id} {one.level} {one.side}: {plain(wording.needs(one))}" for one in untried)
        yield from ("", "</details>", "")
    for line in (*wording.peers(verdict), *verdict.refused, *verdict.remarks):
        yield f"- {plain(line)}"


def _row(verdict: Verdict, one: RuleVerdict) -> str:
    """A rule that failed."""
    example = next((finding for finding in one.findings if verdict.counts(finding)), one.findings[0]).examples[0]
    name = f"[{one.rule.id}]({one.url})" if one.url else one.rule.id
    where = f"packet {example.packet} of {code(example.capture or '')}" if example.packet is not None else ""
    seen = f"{plain(example.evidence)}, {where}" + (f": {code(example.frame)}" if example.frame is not None else "")
    mark = wording.mark(verdict, one)
    cells = [f"**{mark}**" if mark == "FAIL" else mark, name, one.level, one.side, plain(one.rule.title)]
    return f"| {' | '.join([*cells, f'{one.failed} of {one.tried}', seen])} |"
