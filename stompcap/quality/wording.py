"""A failed expectation in words: which table, how many rows, where one of them is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from stompcap.quality import across
from stompcap.quality.clear_secrets import LENGTHS, MASKED
from stompcap.quality.examples import IN_SET, NOT_NULL, WHOLE
from stompcap.quality.invariants import INVARIANTS
from stompcap.quality.measures import FEW, RECENT
from stompcap.quality.ranges import checks
from stompcap.quality.row_rules import ROW_RULES
from stompcap.tables import TABLES
from stompcap.units import count, duration, share
from stompcap.visible import visible

CHECKS = {(table.name, check.column.name, check.expectation): check for table in TABLES.values() for check in checks(table)}
BALANCES = {(rule.table, rule.name): rule for rule in across.BALANCES}
RULES = {(rule.table, rule.column, rule.expectation): rule for rule in ROW_RULES}
STATEMENTS = {rule.name: rule.statement for rule in INVARIANTS}
OCTETS = {MASKED: "a secret in clear", LENGTHS[2]: "other bytes than length_octets says"}
POINT = ("stream_id", "direction", "stream_offset", "word")
ONE_POINT = "expect_one_capture_point_per_source"
STAY, FIGURES = "expect_rows_to_stay", "expect_figures_to_be_those_of_rows"
"""What pipelines compare: rows with those that other programs removed, figures with those made once more."""

FINISHED = "expect_batches_to_be_finished"
"""Whether runs that were killed have left batches that no run has finished."""

OWN = "own"
"""What a user's own expectation says, in what was observed (stompcap.quality.user_suites)."""

GOES_ON = "expect_open_connections_to_go_on"
"""What a run itself notes (stompcap.quality.noted)."""

LONGEST = 40
"""Characters of a value that are shown."""


def failure(row: Mapping[str, Any]) -> str:
    """Text for a row of `quality_results` that failed; its values are escaped."""
    observed = json.loads(row["observed"] or "{}")
    table, expectation = row["table_name"], row["expectation"]
    where = f"{table}.{row['column_name']}" if row["column_name"] else table
    if OWN in observed:
        return _of_own(observed, where, str(expectation).rpartition(": ")[0], table)
    if "error" in observed:
        return f"{where}: {expectation} could not be judged"
    if "broken" not in observed and expectation not in STATEMENTS:  # as older versions have it
        return f"{where}: {expectation} is not met"
    if expectation == ONE_POINT:
        return str(row["message"])
    if expectation == GOES_ON:
        number = observed["broken"]
        which = "connection of many packets did" if number == 1 else "connections of many packets did"
        return f"{where}: {count(number)} open {which} not go on: their state was of another version"
    example = _example(table, observed)
    if compared := _compared(row, observed, where, example):
        return compared
    if expectation in STATEMENTS:
        places = f"; {count(observed['broken'])} {_verb(observed['broken'], 'place differs', 'places differ')}" if example else ""
        return f"{where}: violated: {STATEMENTS[expectation]}{places}{example}"
    if expectation == FEW:
        lost = f"{_of(observed, 'octets')} of STOMP streams {_verb(observed['broken'], 'is', 'are')} missing"
        part = f"{share(observed['broken'], observed['rows'])}, above {observed['threshold'] * 100:g} %"
        return f"{where}: {lost}: {part}{example}"
    if expectation == RECENT:
        late = f"{_of(observed, 'sources')} {_verb(observed['broken'], 'has', 'have')}"
        return f"{where}: {late} no packet of the last {duration(observed['threshold'] * 1e6)}{_ages(observed)}"
    rows = f"{_of(observed, _noun(table))} {_verb(observed.get('broken', 0), 'is', 'are')}"
    if check := CHECKS.get((table, row["column_name"], expectation)):
        return f"{where}: {rows} {check.fault}{example}"
    if rule := RULES.get((table, row["column_name"], expectation)):
        return f"{where}: {rows} {rule.fault}{example}"
    if expectation in OCTETS:
        return f"{where}: {_of(observed, _noun(table))} {_verb(observed['broken'], 'has', 'have')} {OCTETS[expectation]}{example}"
    if expectation == NOT_NULL:
        return f"{where}: {rows} null{example}"
    if expectation in (IN_SET, WHOLE):
        return f"{where}: {rows} {_values(observed, expectation == IN_SET)}{example}"
    repeat = f"{_of(observed, _noun(table))} {_verb(observed.get('broken', 0), 'repeats', 'repeat')}"
    return f"{where}: {repeat} the {', '.join(TABLES[table].key)} of another{example}"


def _compared(row: Mapping[str, Any], observed: Mapping[str, Any], where: str, example: str) -> str | None:
    """Text for what compares several tables, or versions of one; None for other expectations."""
    expectation = row["expectation"]
    if expectation == STAY:
        gone = _verb(observed["broken"], "row is gone that was", "rows are gone that were")
        return f"{where}: {count(observed['broken'])} {gone} removed by another program than stompcap{example}"
    if expectation == FINISHED:
        begun = f"{_of(observed, 'batches')} {_verb(observed['broken'], 'was', 'were')} begun by a run that was killed"
        first = observed["first"][0]
        only = f"batch {first['batch_id'][:12]} of run {first['run_id']} is only in {', '.join(first['tables'])}"
        return f"{where}: {begun}, and its rows may stand twice: {only}; put its captures back and run again"
    if expectation == FIGURES:
        differ = _verb(observed["broken"], "group differs", "groups differ")
        return f"{where}: {count(observed['broken'])} of {count(observed['rows'])} {differ} from what the rows come to{example}"
    if balance := BALANCES.get((row["table_name"], expectation)):
        places = f"; {count(observed['broken'])} {_differing(balance.things, observed['broken'])}"
        return f"{where}: violated: {balance.statement}{places}{example}"
    return None


def _of_own(observed: Mapping[str, Any], where: str, suite: str, table: str) -> str:
    """Text for a user's own expectation: what it says, of a suite."""
    said = f"{suite}: {visible(observed[OWN], 3 * LONGEST)}"
    if "error" in observed:
        return f"{where}: {said}: could not be judged ({observed['error']})"
    if observed["broken"] is None:
        return f"{where}: {said}: is not met" + (f", for it is {observed['value']:g}" if "value" in observed else "")
    return f"{where}: {said}: not so of {_of(observed, _noun(table))}{_example(table, observed)}"


def _of(observed: Mapping[str, Any], noun: str) -> str:
    """How many rows of how many."""
    return f"{count(observed.get('broken', 0))} of {count(observed.get('rows', 0))} {noun}"


def _verb(number: int, one: str, many: str) -> str:
    return one if number == 1 else many


def _differing(things: str, number: int) -> str:
    """What differs: streams, captures."""
    return _verb(number, f"{things.removesuffix('es') if things == 'batches' else things.removesuffix('s')} differs", f"{things} differ")


def _noun(table: str) -> str:
    """What the rows of a table are."""
    if table in ("rules", "batches") or not table.endswith("s"):
        return "rows"
    return table.replace("_", " ")


def _example(table: str, observed: Mapping[str, Any]) -> str:
    """Where one of them is, in parentheses."""
    first = observed.get("first") or []
    if not first:
        return ""
    if table == "captures" and first[0].get("path"):
        return f" ({visible(first[0]['path'], LONGEST)})"
    return f" ({_place(first[0])})"


def _place(point: Mapping[str, Any]) -> str:
    """A place; the columns that locate it come first."""
    named = sorted(point.items(), key=lambda item: POINT.index(item[0]) if item[0] in POINT else len(POINT))
    return ", ".join(f"{key} {visible(str(value), LONGEST)}" for key, value in named if value is not None)


def _ages(observed: Mapping[str, Any]) -> str:
    """The source that has been silent for longest."""
    first = observed.get("first") or []
    if not first:
        return ""
    one = first[0]
    return f": {visible(one['source'], LONGEST)}, whose newest is {duration(one['age_s'] * 1e6)} old ({visible(one['path'], LONGEST)})"


def _values(observed: Mapping[str, Any], with_expected: bool) -> str:
    """Which words are wrong, with their rows if there are several; `with_expected`: beside those that are expected."""
    expected = observed.get("expected", [])
    wrong = {value: rows for value, rows in observed.get("values", {}).items() if value not in expected}
    many = len(wrong) > 1
    words = ", ".join(f"{visible(value, LONGEST)} ({count(rows)})" if many else visible(value, LONGEST) for value, rows in wrong.items())
    return f"{words}, not one of {', '.join(expected)}" if with_expected else words
