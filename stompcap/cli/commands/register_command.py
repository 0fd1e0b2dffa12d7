"""`stompcap register`: the tables and views of a lake for a metastore."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from stompcap.cli import common
from stompcap.cli.stderr import to_stderr
from stompcap.errors import EnvironmentProblem
from stompcap.spark.catalog import CATALOG, SCHEMA
from stompcap.units import counted
from stompcap.visible import visible

Catalog = Annotated[str, typer.Option("--catalog", help="The catalog, as Spark's settings name it.")]
Schema = Annotated[str, typer.Option("--schema", help="The schema; it is made if it is not there.")]
FORGOTTEN = "spark_catalog is in memory here and forgets all this when the command ends; name a metastore with --conf (docs/sql.md)"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("register")(register_lake)


def register_lake(
    lake: common.Lake,
    catalog: Catalog = CATALOG,
    schema: Schema = SCHEMA,
    master: common.Master = None,
    conf: common.Conf = None,
    as_json: common.Json = False,
    quiet: common.Quiet = False,
    verbose: common.Verbose = False,
) -> None:
    """Make tables and views known to a metastore through Spark; the data stay in the lake."""
    del verbose
    from pyspark.errors import PySparkException

    from stompcap.lake import tables as lakes
    from stompcap.lake import upgrade
    from stompcap.spark import catalog as metastore

    lakes.demand(lake)
    if lacking := upgrade.older(lake):
        raise EnvironmentProblem(f"{lake}: made by an older version, without {lacking}; bring it up: stompcap maintain --lake {lake}")
    spark = common.session(master, conf)()
    try:
        done = metastore.register(spark, lake, catalog, schema)
    except PySparkException as error:
        reason = visible(" ".join(str(error).split("\n")[0].split()), 300)
        raise EnvironmentProblem(f"{catalog}.{schema}: {reason}; check the settings of the catalog (--conf)") from error
    if catalog == CATALOG and spark.conf.get("spark.sql.catalogImplementation", "") == "in-memory":
        to_stderr(FORGOTTEN)
    if as_json:
        print(json.dumps({"status": "done", "lake": lake, "catalog": catalog, "schema": schema, **done._asdict()}))
    elif not quiet:
        new, known = counted(done.new, "table is", "tables are"), counted(done.known, "was", "were")
        print(visible(f"{catalog}.{schema}: {new} new, {known} known; {counted(done.views, 'view')}"))
