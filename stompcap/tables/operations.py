"""Operations: runs, quality, and the state that open streams need in the next run."""

import pyarrow as pa

from stompcap.tables import words
from stompcap.tables.schema import COUNTS, WORDS, Column, Table, big, flag, moment, text

CAPTURE = pa.struct([("capture_id", pa.string()), ("path", pa.string()), ("size_octets", pa.int64())])

RUNS = Table(
    "runs",
    "operations",
    "One row per run and stage",
    (
        text("run_id", "The run", nullable=False),
        text("stage", "extract, decode, correlate, metrics, validate or forget", nullable=False),
        moment("started_ts", "When the stage began"),
        moment("ended_ts", "When it ended"),
        text("status", "How it ended", *words.RUN_STATUSES, nullable=False),
        Column("inputs", pa.list_(pa.string()), "Captures by id, or other inputs; of forget the kinds of its criteria"),
        Column("rows", COUNTS, "Rows written, by table; of forget the rows deleted, and the number of connections"),
        Column("options", WORDS, "Options that change what was written, as on the command line; without those at their defaults"),
        text("tool_version", "Version of stompcap"),
        text("error", "What went wrong, secrets removed; null if nothing"),
    ),
    key=("run_id", "stage"),
    statistics=("run_id", "stage", "started_ts"),
)

BATCHES = Table(
    "batches",
    "operations",
    "One row per batch of captures, written before its rows are: a batch that table captures lacks was begun by a run that was killed",
    (
        text("batch_id", "The batch", nullable=False),
        text("run_id", "The run that began it", nullable=False),
        moment("begun_ts", "When"),
        Column("captures", pa.list_(CAPTURE), "Its captures: id, path, and how many octets of the file were there"),
        text("options", "The options of that run, as JSON"),
        text("tool_version", "Version of stompcap"),
    ),
    key=("batch_id",),
    statistics=("batch_id", "begun_ts"),
)

QUALITY_RESULTS = Table(
    "quality_results",
    "operations",
    "One row per expectation and run",
    (
        text("run_id", "The run", nullable=False),
        text("table_name", "The table checked", nullable=False),
        text("column_name", "The column checked; null for the whole table"),
        text("expectation", "The expectation's type", nullable=False),
        text("severity", "How bad a failure is", *words.SEVERITIES, nullable=False),
        flag("success", "Whether the expectation was met", nullable=False),
        text("observed", "What was observed, as JSON"),
        moment("checked_ts", "When"),
    ),
    key=("run_id", "table_name", "column_name", "expectation"),
    statistics=("run_id", "table_name", "success"),
)

STREAM_STATE = Table(
    "stream_state",
    "operations",
    "State of an open stream for the next run",
    (
        text("stream_id", "The stream", nullable=False),
        text("source", "The capture point", nullable=False),
        big("last_ns", "Time of its last captured packet", nullable=False),
        text("run_id", "The last run that read it", nullable=False),
        Column("state", pa.binary(), "Saved state of reassembler, delimiter and session machine; null until the stream is carried over"),
    ),
    key=("stream_id",),
    statistics=("stream_id", "source", "last_ns"),
)

TABLES = (RUNS, BATCHES, QUALITY_RESULTS, STREAM_STATE)
