"""Asks both sides of a comparison, each source of the lake for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stompcap.errors import UsageError
from stompcap.report import against, changes
from stompcap.report.asking import ask
from stompcap.report.page import records
from stompcap.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from stompcap.lake.scope import Scope
    from stompcap.report.against import Before
    from stompcap.report.anonymous import Anonymous
    from stompcap.report.changes import Changes


def changed(
    lake: str, before: Before, points: Sequence[str | None], scope: Scope | None, spark: Callable[[], SparkSession],
    anonymous: Anonymous | None = None,
) -> dict[str | None, Changes]:
    """What changed at each capture point, None being the one that a lake has; those that `before` has nothing of are left out.

    Raises UsageError where it has none of them.
    """
    from stompcap.lake import sources

    held = sources.selected(before.lake)
    pairs = [(point, point if point in held else None) for point in points if point in held or held == [None]]
    if not pairs:
        raise UsageError(f"--compare {visible(before.lake, 80)}: has none of the capture points of this report; name one with --source")

    def side(of: str, point: str | None, part: Scope | None) -> dict[str, changes.Rows]:
        answers = ask(of, against.ASKED, spark, point, part, against.queries(part))
        answers = answers if anonymous is None else anonymous.tables(answers)
        return {name: records(table) for name, table in answers.items()}

    return {point: changes.of(side(before.lake, other, before.scope), side(lake, point, scope), before.words) for point, other in pairs}
