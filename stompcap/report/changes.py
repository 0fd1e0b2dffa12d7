"""What changed between two parts of lakes: figures of each side with their intervals, what differs for sure, incidents new and gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from stompcap.report import intervals
from stompcap.report.against import MINUTE, PERCENTILES
from stompcap.report.intervals import Figure
from stompcap.tables.levels import spelled
from stompcap.units import NOTHING, count, counted, duration

Rows = list[dict[str, Any]]
Answers = Mapping[str, Rows]

LEAST = 1.1
"""The factor by which figures differ at least that are said to."""

NOTABLE = 1.5
"""The factor from which on a difference that is not sure is named."""

SHOWN, DOUBTFUL = 100, 50  # changes that are listed, sure ones and others
UNITS: dict[str, Callable[[float], str]] = {
    "us": duration, "share": lambda value: f"{100 * value:.3g} %", "minute": lambda value: f"{value:.3g} a minute",
}  # fmt: skip


@dataclass(frozen=True)
class Change:
    """A figure before and now: of whom, what, its unit, whether more of it is worse (None: neither), and the counts behind it as words."""

    subject: str
    what: str
    unit: str
    before: Figure
    now: Figure
    worse: bool | None = True
    counted: tuple[str, str] = ("", "")

    @property
    def sure(self) -> bool:
        """Whether the figures differ for sure, and by enough to be named."""
        return intervals.differ(self.before, self.now) and self.factor >= LEAST

    @property
    def factor(self) -> float:
        """By how much they differ: the larger by the smaller."""
        small, large = sorted((self.before.value or 0, self.now.value or 0))
        return 1 if large == small else large / small if small else float("inf")

    @property
    def grade(self) -> str:
        """`worse`, `better`, or `other` where more is neither."""
        more = (self.now.value or 0) > (self.before.value or 0)
        return "other" if self.worse is None else "worse" if more is self.worse else "better"

    def in_words(self, figure: Figure) -> str:
        """A figure with its interval."""
        if figure.value is None:
            return NOTHING
        text = UNITS[self.unit]
        ends = [NOTHING if end is None else text(end) for end in (figure.low, figure.high)]
        return text(figure.value) + (f" ({ends[0]} to {ends[1]})" if figure.known else "")

    def samples(self) -> tuple[str, str]:
        """What the figures are counted from."""
        if any(self.counted):
            return self.counted
        word = {"us": "of", "minute": "in"}[self.unit]
        unit = " minutes" if self.unit == "minute" else ""
        return f"{word} {count(self.before.of)}{unit}", f"{word} {count(self.now.of)}{unit}"

    def by(self) -> str:
        """`×19.5`, or `÷2`; `new`, `gone`."""
        if not (self.before.value and self.now.value):
            return "new" if self.now.value else "gone"
        by = f"{self.factor:.3g}" if self.factor < 1000 else count(round(self.factor))
        return f"{'×' if self.now.value > self.before.value else '÷'}{by}"


@dataclass(frozen=True)
class Changes:
    """What changed: the changes that are sure, the worst first; those that are not; how many figures did not change; and incidents.

    `unlisted` is how many sure changes there are beside those that are here. `new` incidents are numbered as in the list of now;
    `judged` says whether both sides have the table, `limited` whether one has more incidents than were compared.
    """

    words: str
    now: dict[str, Any]
    before: dict[str, Any]
    sure: list[Change]
    unlisted: int
    doubtful: list[Change]
    alike: int
    new: list[tuple[int, dict[str, Any]]]
    gone: Rows
    both: int
    judged: bool
    limited: bool
    broken: list[Change]
    """Rules of MUST and SHOULD that are broken more often now for sure, or were not broken before."""

    def of_a_lake(self) -> Changes:
        """The same without the name of the lake it was compared with."""
        return replace(self, words="another lake") if self.words.startswith("lake ") else self


def of(before: Answers, now: Answers, words: str) -> Changes:
    """The changes between the answers of two sides to the queries of `stompcap.report.against`."""
    rules = list(_rules(before, now))
    every = [*_sessions(before, now), *_who(before, now), *_destinations(before, now), *rules]
    sure = sorted((one for one in every if one.sure), key=lambda one: (("worse", "other", "better").index(one.grade), -one.factor))
    known_figures = [one for one in every if one.before.value is not None and one.now.value is not None]
    doubtful = [one for one in known_figures if not one.sure and one.factor >= NOTABLE]
    doubtful.sort(key=lambda one: -min(one.before.of, one.now.of))
    known = {_key(row) for row in before.get("incidents", [])}
    current = {_key(row) for row in now.get("incidents", [])}
    return Changes(
        words, _side(now), _side(before), sure[:SHOWN], max(len(sure) - SHOWN, 0), doubtful[:DOUBTFUL],
        len(every) - len(sure) - len(doubtful[:DOUBTFUL]),
        [(number, row) for number, row in enumerate(now.get("incidents", []), 1) if _key(row) not in known],
        [row for row in before.get("incidents", []) if _key(row) not in current], len(known & current),
        "incidents" in before and "incidents" in now, any(_more(side) for side in (before, now)),
        [one for one in rules if one.grade == "worse" and (one.sure or not one.before.value)],
    )  # fmt: skip


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """What makes an incident the same in both."""
    return tuple(row[name] for name in ("kind", "subject_kind", "subject", "destination_name"))


def _more(side: Answers) -> bool:
    number: int = sum(row["number"] for row in side.get("incident_levels", []))
    return number > len(side.get("incidents", []))


def _first(side: Answers, name: str) -> dict[str, Any]:
    return next(iter(side.get(name, [])), {})


def _side(side: Answers) -> dict[str, Any]:
    """What a side is: from when to when, how long captured, how many sessions."""
    captured, sessions = _first(side, "captured"), _first(side, "sessions_total")
    return {name: captured.get(name) for name in ("first_ns", "last_ns", "covered_ns")} | {"sessions": sessions.get("sessions", 0)}


def _minutes(captured: Mapping[str, Any]) -> int:
    """Whole minutes from the first packet to the last."""
    if captured.get("first_ns") is None:
        return 0
    return max(int(captured["last_ns"] // MINUTE - -(-captured["first_ns"] // MINUTE)), 0)


def _of(part: int, whole: int) -> str:
    return f"{count(part)} of {count(whole)}"


def _shares(subject: str, what: str, parts: tuple[int, int], wholes: tuple[int, int]) -> Change:
    before, now = (intervals.share(part, whole) for part, whole in zip(parts, wholes, strict=True))
    said = _of(parts[0], wholes[0]), _of(parts[1], wholes[1])
    return Change(subject, what, "share", before, now, counted=said)


def _sessions(before: Answers, now: Answers) -> Iterator[Change]:
    sides = _first(before, "sessions_total"), _first(now, "sessions_total")
    wholes = sides[0].get("sessions") or 0, sides[1].get("sessions") or 0
    for name in ("refused", "unanswered", "reset"):
        yield _shares("all sessions", name, (sides[0].get(name) or 0, sides[1].get(name) or 0), wholes)


def _who(before: Answers, now: Answers) -> Iterator[Change]:
    """Of those who are on both sides, what share of their connections and messages went wrong; who is on one is told by rates."""
    sides = [{row["who"]: row for row in side.get("who", [])} for side in (before, now)]
    for name in (name for name in sides[1] if name in sides[0]):
        one, other = sides[0][name], sides[1][name]
        for what, part, whole in (
            ("connections refused or unanswered", "refused", "connections"), ("connections that ended in ERROR", "errors", "connections"),
            ("messages not acknowledged", "unsettled", "delivered"), ("messages received again", "redelivered", "delivered"),
        ):  # fmt: skip
            wholes = one[whole] or 0, other[whole] or 0
            parts = min(one[part] or 0, wholes[0]), min(other[part] or 0, wholes[1])
            if all(wholes):
                yield _shares(name, what, parts, wholes)


def _destinations(before: Answers, now: Answers) -> Iterator[Change]:
    for query, title in (("ack_samples", "ack latency"), ("residence_samples", "time in the broker")):
        sides = [{row["destination_name"]: row for row in side.get(query, [])} for side in (before, now)]
        for name in (name for name in sides[1] if name in sides[0]):
            for figure in PERCENTILES:
                ends = (figure, f"{figure}_low", f"{figure}_high", "samples")
                one, other = (Figure(*(side[name][column] for column in ends)) for side in sides)
                yield Change(name, f"{title}, {'median' if figure == 'p50' else figure}", "us", one, other)
    sides = [{row["destination_name"]: row for row in side.get("minute_samples", [])} for side in (before, now)]
    minutes = [_minutes(_first(side, "captured")) for side in (before, now)]
    for name in dict.fromkeys((*sides[1], *sides[0])):
        for column, what in (("sends", "sent"), ("messages", "received")):
            figures = [
                intervals.rate(row[column] if row else 0, row[f"{column}_squares"] if row else 0, minutes[nth])
                for nth, row in enumerate(side.get(name) for side in sides)
            ]
            if any(figure.value for figure in figures):
                yield Change(name, what, "minute", figures[0], figures[1], worse=None)


def _rules(before: Answers, now: Answers) -> Iterator[Change]:
    broken = [{(row["rule_id"], row["level"], row["side"]): row for row in side.get("broken", [])} for side in (before, now)]
    judged = [{row["rule_id"]: row["sessions"] for row in side.get("rules", [])} for side in (before, now)]
    for key in dict.fromkeys((*broken[1], *broken[0])):
        rule, level, side = key
        rows = broken[0].get(key), broken[1].get(key)
        found = [row["findings"] if row else 0 for row in rows]
        parts = [row["broken_in"] if row else 0 for row in rows]
        wholes = [max(of_side.get(rule) or 0, part) for of_side, part in zip(judged, parts, strict=True)]
        said = [f"{_of(part, whole)}, {counted(number, 'finding')}" for part, whole, number in zip(parts, wholes, found, strict=True)]
        one, other = (intervals.share(part, whole) for part, whole in zip(parts, wholes, strict=True))
        worse = True if level != "I" else None
        yield Change(f"{rule} {spelled(level)}, {side}", "sessions that broke it", "share", one, other, worse, (said[0], said[1]))
