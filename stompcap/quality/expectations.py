"""The one place where Great Expectations runs: an ephemeral context, and its results as plain records.

Great Expectations takes seconds for the suites of a lake. A process that validates again and again (`stompcap watch`) finds most tables
with the evidence of the last time, the same words in each column: then their results stand, and only the counts beside them are new.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from stompcap.quality import suites
from stompcap.quality.great_expectations import gx
from stompcap.quality.ranges import EXAMPLES

if TYPE_CHECKING:
    import pandas as pd
    from great_expectations.core import ExpectationValidationResult
    from great_expectations.data_context import EphemeralDataContext
    from great_expectations.datasource.fluent import PandasDatasource

    from stompcap.quality.profiles import Profile


@dataclass(frozen=True)
class Result:
    """What one expectation found: `broken` are the values that it did not expect, `raised` says that it could not be judged."""

    table: str
    column: str | None
    expectation: str
    severity: str
    success: bool
    raised: bool
    broken: frozenset[str]


_LAST: dict[str, tuple[Hashable, list[Result]]] = {}
"""By table the evidence that was judged last in this process, and the results."""


class Validator:
    """Great Expectations for one validation; its context, which takes a while, is made when something must be judged."""

    def of_table(self, profile: Profile, surplus: int) -> list[Result]:
        """The results for a table; those of the last time where the evidence is the same."""
        name, evidence = profile.table.name, _evidence(profile, surplus)
        if name not in _LAST or _LAST[name][0] != evidence:
            _LAST[name] = evidence, self.validate(suites.table_suite(profile.table), suites.evidence(profile, surplus))
        return _LAST[name][1]

    def validate(self, suite: gx.ExpectationSuite, frame: pd.DataFrame) -> list[Result]:
        """The results of one suite on one frame."""
        batch = self._pandas.add_dataframe_asset(suite.name).add_batch_definition_whole_dataframe("all")
        definition = gx.ValidationDefinition(name=suite.name, data=batch, suite=self._context.suites.add(suite))
        added = self._context.validation_definitions.add(definition)
        return [_result(one) for one in added.run(batch_parameters={"dataframe": frame}, result_format="COMPLETE").results]

    def of_rows(self, suite: gx.ExpectationSuite, rows: Any, keys: Sequence[str]) -> list[ExpectationValidationResult]:
        """The results of a suite on rows of a table, a frame of pandas or Spark; of those not expected they have the `keys` of some."""
        sources = self._context.data_sources
        source = sources.add_or_update_spark("rows", persist=False) if hasattr(rows, "sparkSession") else self._pandas
        batch = source.add_dataframe_asset(suite.name).add_batch_definition_whole_dataframe("all")
        definition = gx.ValidationDefinition(name=suite.name, data=batch, suite=self._context.suites.add(suite))
        added = self._context.validation_definitions.add(definition)
        shown = {"result_format": "SUMMARY", "unexpected_index_column_names": list(keys), "partial_unexpected_count": EXAMPLES}
        return list(added.run(batch_parameters={"dataframe": rows}, result_format=shown).results)

    @cached_property
    def _pandas(self) -> PandasDatasource:
        return self._context.data_sources.add_or_update_pandas("profiles")

    @cached_property
    def _context(self) -> EphemeralDataContext:
        """A context in memory, silent, without pages: Great Expectations' own are blank without the network."""
        logging.getLogger("great_expectations").setLevel(logging.ERROR)
        context = gx.get_context(mode="ephemeral")
        context.variables.progress_bars = {"globally": False, "metric_calculations": False}
        for site in context.get_site_names():
            context.delete_data_docs_site(site)
        return context


def _evidence(profile: Profile, surplus: int) -> Hashable:
    """What `suites.evidence` shows of a table, but for the number of rows and the order of values, on which no expectation depends."""
    words = tuple(frozenset(profile.values[column.name]) for column in profile.table.enumerations)
    return profile.rows > 0, surplus, words, frozenset(profile.faults)


def _result(result: ExpectationValidationResult) -> Result:
    config = result.expectation_config
    if config is None or config.meta is None:
        raise TypeError("an expectation of the suites has no meta")
    raised = bool(result.exception_info and result.exception_info.get("raised_exception"))
    return Result(
        config.meta["table_name"], config.meta["column_name"], config.meta["expectation"], suites.SEVERITIES[config.severity],
        bool(result.success), raised, frozenset(result.result.get("unexpected_list", [])),
    )  # fmt: skip
