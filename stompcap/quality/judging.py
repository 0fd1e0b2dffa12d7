"""The one place Great Expectations runs: an ephemeral context, the suites, their results as rows.

`observed` is short and holds nothing from the wire: counts, the lake's own words, stream ids, and at most a few characters of a
word the lake should not have.
"""

from __future__ import annotations

import datetime
import json
import logging
import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa

os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")  # read once, when the package is imported

import great_expectations as gx

from stompcap.quality import suites
from stompcap.quality.invariants import INVARIANTS
from stompcap.quality.ranges import Faults, checks
from stompcap.tables import TABLES

if TYPE_CHECKING:
    from great_expectations.core import ExpectationSuiteValidationResult, ExpectationValidationResult
    from great_expectations.data_context import EphemeralDataContext
    from great_expectations.datasource.fluent.interfaces import DataAsset

    from stompcap.quality.profiles import Profile, Sums


def judge(
    profiles: dict[str, Profile],
    surplus: dict[str, int],
    sums: dict[str, Sums],
    offenders: dict[str, dict[str, Any]],
    run_id: str,
) -> pa.Table:
    """Rows of `quality_results` for the profiles and the invariants that have `sums`.

    `surplus` has the rows that repeat a key, per table that has some; `offenders`, by the name of a broken invariant, how many points
    break it and the first of them.
    """
    context = _context()
    rows: list[dict[str, Any]] = []
    pandas = context.data_sources.add_or_update_pandas("profiles")
    for name, profile in profiles.items():
        repeated = surplus.get(name, 0)
        frame = suites.evidence(profile, repeated)
        result = _run(context, pandas.add_dataframe_asset(name), suites.table_suite(profile.table), frame)
        for one in result.results:
            if _meta(one)["expectation"] == suites.BROKEN:
                rows += _checked(run_id, one, profile)
            else:
                rows.append(_row(run_id, one, _profiled(profile, repeated, _meta(one)["column_name"])))
    rules = {rule.name: rule for rule in INVARIANTS if rule.name in sums}
    if rules:
        asset = pandas.add_dataframe_asset("invariants")
        result = _run(context, asset, suites.invariants_suite(list(rules.values())), suites.sides(list(rules.values()), sums))
        for one in result.results:
            rule = rules[_meta(one)["expectation"]]
            sides = {rule.names[0]: sums[rule.name].left[0], rule.names[1]: sums[rule.name].right[0]}
            rows.append(_row(run_id, one, sides | offenders.get(rule.name, {})))
    return pa.Table.from_pylist(rows, schema=TABLES["quality_results"].arrow)


def _context() -> EphemeralDataContext:
    """A context that lives in memory, silent, and makes no pages: Great Expectations' own show nothing without the network."""
    logging.getLogger("great_expectations").setLevel(logging.ERROR)
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False, "metric_calculations": False}
    for site in context.get_site_names():
        context.delete_data_docs_site(site)
    return context


def _run(context: EphemeralDataContext, asset: DataAsset, suite: gx.ExpectationSuite, frame: Any) -> ExpectationSuiteValidationResult:
    """Judge one frame by one suite."""
    definition = gx.ValidationDefinition(
        name=suite.name, data=asset.add_batch_definition_whole_dataframe("all"), suite=context.suites.add(suite)
    )
    return context.validation_definitions.add(definition).run(batch_parameters={"dataframe": frame}, result_format="COMPLETE")


def _meta(result: ExpectationValidationResult) -> dict[str, Any]:
    config = result.expectation_config
    if config is None or config.meta is None:
        raise TypeError("every expectation of the suites has its meta")
    meta: dict[str, Any] = config.meta
    return meta


def _row(run_id: str, result: ExpectationValidationResult, observed: dict[str, Any]) -> dict[str, Any]:
    meta = _meta(result)
    if result.exception_info and result.exception_info.get("raised_exception"):
        observed = {"error": "the expectation could not be judged"}
    return {
        "run_id": run_id,
        "table_name": meta["table_name"],
        "column_name": meta["column_name"],
        "expectation": meta["expectation"],
        "severity": suites.SEVERITIES[result.expectation_config.severity],
        "success": bool(result.success),
        "observed": json.dumps(observed, sort_keys=True),
        "checked_ts": datetime.datetime.now(datetime.UTC),
    }


def _checked(run_id: str, result: ExpectationValidationResult, profile: Profile) -> list[dict[str, Any]]:
    """A row for each check of a table's rows, out of the one verdict on all of them."""
    broken, checked = set(result.result.get("unexpected_list", [])), []
    for check in checks(profile.table):
        faults = profile.faults.get(check.label, Faults())
        row = _row(run_id, result, {"rows": profile.rows, "broken": faults.rows, "first": faults.first})
        held = bool(result.success or (broken and check.label not in broken))
        checked.append(row | {"column_name": check.column.name, "expectation": check.expectation, "success": held})
    return checked


def _profiled(profile: Profile, repeated: int, column: str | None) -> dict[str, Any]:
    """What a profile says of a column; of the whole table, its keys."""
    if column is None:
        return {"rows": profile.rows, "repeated": repeated}
    values = profile.values[column]
    observed: dict[str, Any] = {"rows": profile.rows, "nulls": values.get(None, 0)}
    if profile.table.column(column).words:
        observed["values"] = {value: rows for value, rows in values.items() if value is not None}
    return observed
