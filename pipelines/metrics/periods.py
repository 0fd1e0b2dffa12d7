"""Hours or days into which rows fall."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from stompcap.tables.schema import TIMESTAMP

Moment = datetime.datetime


@dataclass(frozen=True)
class Periods:
    """Some hours or days by their beginnings, each as long as `length`; a null stands for rows without a time."""

    begins: pa.Array
    length: datetime.timedelta

    @property
    def ranges(self) -> list[tuple[Moment, Moment]]:
        """Beginning (included) and end (excluded) of each; periods that meet are joined."""
        found: list[tuple[Moment, Moment]] = []
        for begin in sorted(self.begins.drop_null().cast(TIMESTAMP).to_pylist()):
            if found and found[-1][1] >= begin:
                found[-1] = found[-1][0], begin + self.length
            else:
                found.append((begin, begin + self.length))
        return found

    def condition(self, column: str) -> str:
        """SQL: the condition that a TIMESTAMP column lies in one of them."""
        among = [f"({column} >= TIMESTAMP '{_sql(begin)}' AND {column} < TIMESTAMP '{_sql(end)}')" for begin, end in self.ranges]
        if self.timeless:
            among.append(f"{column} IS NULL")
        return f"({' OR '.join(among)})" if among else "false"

    @property
    def timeless(self) -> bool:
        """Whether rows without a time are meant, too."""
        return bool(self.begins.null_count)


def _sql(moment: Any) -> str:
    return f"{moment.astimezone(datetime.UTC):%Y-%m-%d %H:%M:%S}"
