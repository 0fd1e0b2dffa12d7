"""What became of the cases of `serve` and `drive`: a table with the bytes of each that failed, or JSON; and the exit code."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from stompcap.active import results as made
from stompcap.active.engine import FAILED, NOT_JUDGED, PASSED
from stompcap.errors import EnvironmentProblem, UsageError
from stompcap.visible import visible

if TYPE_CHECKING:
    from stompcap.active.engine import Result
    from stompcap.active.steps import Case

ALL, PLAIN = "all", "plain"
Scenario = Annotated[
    str, typer.Option("--scenario", metavar="NAME", help="all, or names of cases, comma-separated; `list` prints them.")
]
Level = Annotated[str, typer.Option("--level", help="Exit code 1 where a case failed at this level or above: MUST, SHOULD or INFO.")]
Format = Annotated[str, typer.Option("--format", help="text or json.")]
Patience = Annotated[
    float, typer.Option("--patience", min=0.1, max=60, help="How many seconds the other side may take to answer; some steps take several.")
]
FAILED_CODE = 1


def select(cases: Sequence[Case], scenario: str) -> list[Case]:
    """The cases that --scenario names; raises UsageError for a name that is none."""
    if scenario == ALL:
        return list(cases)
    names = [name.strip() for name in scenario.split(",")]
    known = {case.name: case for case in cases}
    for name in names:
        if name not in known:
            raise UsageError(f"--scenario {visible(name, 40)}: no such case; `--scenario list` prints all")
    return [known[name] for name in names]


def check_options(level: str, form: str) -> None:
    """Raise UsageError for a level or a format that there is not."""
    if level not in made.LEVELS:
        raise UsageError(f"--level {visible(level, 20)}: must be MUST, SHOULD or INFO")
    if form not in ("text", "json"):
        raise UsageError(f"--format {visible(form, 20)}: must be text or json")


def print_list(cases: Sequence[Case]) -> None:
    """Print the cases: name, level, rules, what the other side must do."""
    for case in cases:
        print(f"{case.name:30} {case.level:7} {', '.join(case.rules):22} {case.must}")


def print_results(found: Iterable[Result], form: str, level: str) -> None:
    """Print results as they come, and the counts, also where a signal ends it.

    Raises SystemExit where a case failed, EnvironmentProblem where none was judged.
    """
    results = []
    try:
        for result in found:
            results.append(result)
            if form == "text":
                _line(result)
    finally:
        if results:
            _counts(results, form)
    if made.failed(results, level):
        raise SystemExit(FAILED_CODE)
    if results and all(result.outcome == NOT_JUDGED for result in results):
        raise EnvironmentProblem(f"no case could be judged; of the first: {results[0].reason}")


def _counts(results: Sequence[Result], form: str) -> None:
    """What became of all; in JSON the results too."""
    counts = made.counts(results)
    if form == "json":
        print(json.dumps({"counts": counts, "cases": [made.as_object(result) for result in results]}, indent=1), flush=True)
    else:
        print(f"\n{counts[PASSED]} passed, {counts[FAILED]} failed, {counts[NOT_JUDGED]} not judged", flush=True)


def _line(result: Result) -> None:
    """A result; of one that failed, what had to be, what was, and the bytes."""
    case = result.case
    reason = f"  {visible(result.reason, 100)}" * (result.outcome == NOT_JUDGED)
    print(f"{result.outcome:10}  {case.level:6}  {case.name:30}  {', '.join(case.rules)}{reason}", flush=True)
    if result.outcome != FAILED:
        return
    print(f"    {case.must} ({case.clause})\n    {visible(result.reason, 300)}")
    for theirs, octets in result.proof:
        print(f"    {'<' if theirs else '>'} {visible(octets.decode(errors='backslashreplace'), 600)}")
