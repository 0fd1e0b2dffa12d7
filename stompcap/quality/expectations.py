"""The one place where Great Expectations runs: an ephemeral context, and its results as plain records."""

from __future__ import annotations

import logging
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from stompcap.quality.great_expectations import gx
from stompcap.quality.ranges import EXAMPLES

if TYPE_CHECKING:
    import pandas as pd
    from great_expectations.core import ExpectationValidationResult
    from great_expectations.data_context import EphemeralDataContext
    from great_expectations.datasource.fluent import PandasDatasource

@dataclass(frozen=True)
class Verdict:
    """What an expectation found: `broken` are the values that it did not expect, `raised` says that it could not be judged."""

    success: bool
    raised: bool
    broken: frozenset[Hashable]

    def holds(self, labels: Collection[Hashable] | None = None) -> bool:
        """Whether what has these labels, among other things that the expectation is about, is as expected; without labels all of it."""
        return self.success or (labels is not None and bool(self.broken) and self.broken.isdisjoint(labels))


class Validator:
    """Great Expectations for one validation; its context, which takes a while, is made when something must be judged."""

    def validate(self, suite: gx.ExpectationSuite, frame: pd.DataFrame) -> dict[str, Verdict]:
        """What the expectations of a suite found in a frame, by the names in their `meta`."""
        batch = self._pandas.add_dataframe_asset(suite.name).add_batch_definition_whole_dataframe("all")
        definition = gx.ValidationDefinition(name=suite.name, data=batch, suite=self._context.suites.add(suite))
        added = self._context.validation_definitions.add(definition)
        return dict(_verdict(one) for one in added.run(batch_parameters={"dataframe": frame}, result_format="COMPLETE").results)

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


def _verdict(result: ExpectationValidationResult) -> tuple[str, Verdict]:
    config = result.expectation_config
    if config is None or config.meta is None:
        raise TypeError("an expectation of the suites has no meta")
    raised = bool(result.exception_info and result.exception_info.get("raised_exception"))
    return config.meta["name"], Verdict(bool(result.success), raised, frozenset(result.result.get("unexpected_list", [])))
