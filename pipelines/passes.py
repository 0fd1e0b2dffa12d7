"""One pass over captures: which tables it makes, and the tables that sum these up."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from pipelines.ingest import bronze, silver
from pipelines.metrics import gold
from pipelines.metrics.aggregates import refresh
from pipelines.work import Work
from stompcap.lake import tables as lakes


class Pass(Work):
    """A run that makes rows of captures."""

    def outputs(self, *, whole: bool) -> tuple[str, ...]:
        """The tables that are made in a pass, when what it takes is at hand."""
        if whole:
            from stompcap.quality import prepare

            prepare()
        self.progress.begin("starting Spark")
        self.spark()
        return bronze.TABLES + (("frames", *silver.SESSION_TABLES, *gold.SESSION_TABLES) if whole else ())

    def aggregate(self, batches: Sequence[str], written: dict[str, int], tables: Sequence[str] = gold.TABLES) -> None:
        """Make the tables current that sum up all sessions, as the stage metrics."""
        with self.stage("metrics", batches) as rows:
            rows.update(written)
            self.refresh(batches, rows, tables)

    def refresh(self, batches: Sequence[str], rows: dict[str, int], tables: Sequence[str] = gold.TABLES) -> None:
        """Make the tables current that sum up all sessions; `rows` get how many were written."""
        from stompcap.rules import catalogue_table

        self.progress.begin("computing metrics")
        run_id = self.result.run_id
        wanted = [one for one in gold.AGGREGATES if one.name in tables]
        with ThreadPoolExecutor(len(gold.AGGREGATES)) as pool:
            made = pool.map(lambda one: refresh(self.lake, one, batches, run_id, self.spark), wanted)
            for one, number in zip(wanted, made, strict=True):
                rows[one.name] = rows.get(one.name, 0) + number
        if "rules" in tables:
            rows["rules"] = lakes.replace(self.lake, "rules", catalogue_table(self.options.settings), run_id)
            lakes.commit(self.lake, "rules", [], batches, run_id)
