"""Events, and which of them are many: the SQL that the kinds which come from connections are made of.

An event is a row of the columns of `EVENT`. It is flagged where it is one of `least` or more of the same (`SAME`) within `within_s` seconds
before and behind it: that is told by what is near in time, so rows of other days never change it.
"""

# ruff: noqa: S608  the SQL consists of our own constants only

from __future__ import annotations

SECOND_NS = 1_000_000_000
OF_TRAFFIC = ("destination_name", "before", "backlog", "late_s")
"""Further columns of events that come from traffic: `amount` as it was before, how much the backlog grew, how late messages came."""

NO_TEXT = "CAST(NULL AS STRING)"
NO_NUMBER = "CAST(NULL AS DOUBLE)"

SAME = "source, subject_kind, subject, what"
"""Events that are alike in these are of one incident while they follow each other."""

EVENT = (
    "source", "subject_kind", "subject", "server_product", "what", "text", "begin_ns", "end_ns", "messages", "amount", "stream_id",
    "direction", "stream_offset",
)  # fmt: skip
"""Columns of an event: `what` tells it from others of its subject, `text` is what the sentence quotes, `amount` a number of the kind."""

_NO_DIGITS = "translate({}, '0123456789', '##########')"
_SAID = "substr(coalesce({s}.error_message, ''), 1, 300)"
_FIRST_LINE = "trim(split_part(replace(coalesce({s}.error_detail, ''), chr(13), chr(10)), chr(10), 1))"


def many(events: str, least: int, within_s: int, more: tuple[str, ...] = ()) -> str:
    """The events that are flagged; `more` are columns that they have beside those of `EVENT`."""
    near = f"RANGE BETWEEN {within_s * SECOND_NS} PRECEDING AND {within_s * SECOND_NS} FOLLOWING"
    names = ", ".join((*EVENT, *more))
    return f"""
    SELECT {names} FROM (
        SELECT {names}, count(*) OVER (PARTITION BY {SAME} ORDER BY begin_ns {near}) AS near
        FROM ({events}) happened WHERE begin_ns IS NOT NULL) counted
    WHERE near >= {least}"""


def error_text(of: str = "s") -> str:
    """What the ERROR of a session says: its message, and the first line of its body where that adds something (no trace of Java)."""
    said, line = _SAID.format(s=of), _FIRST_LINE.format(s=of)
    adds = f"{line} NOT IN ('', {said}) AND {line} NOT LIKE '%Exception%' AND NOT contains({said}, {line})"
    return f"CASE WHEN {adds} THEN concat({said}, ': ', substr({line}, 1, 200)) ELSE {said} END"


def alike(text: str) -> str:
    """A text without its digits, and without what it lists in brackets: ids, ports, times and sizes differ from one ERROR to the next."""
    return _NO_DIGITS.format(rf"regexp_replace({text}, '(.)\[.*', '\1')")
