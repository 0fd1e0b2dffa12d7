"""Operations: runs, batches, quality, and the segments of connections that later captures may go on with."""

from dataclasses import replace

import pyarrow as pa

from stompcap.tables import words
from stompcap.tables.schema import COUNTS, WORDS, Column, Table, big, flag, integer, moment, text

CAPTURE = pa.struct([("capture_id", pa.string()), ("path", pa.string()), ("size_octets", pa.int64())])

RUNS = Table(
    "runs",
    "operations",
    "One row per run and stage",
    (
        text("run_id", "The run", nullable=False),
        text("stage", "extract, reprocess, decode, correlate, metrics, validate or forget", nullable=False),
        moment("started_ts", "When the stage began"),
        moment("ended_ts", "When it ended"),
        text("status", "How it ended", *words.RUN_STATUSES, nullable=False),
        Column("inputs", pa.list_(pa.string()), "Captures by id, or other inputs; of forget and narrowed reprocess the kinds of criteria"),
        Column("rows", COUNTS, "Rows written, by table; of forget the rows deleted, and the number of connections"),
        Column("options", WORDS, "Options that change what was written, as on the command line; without those at their defaults"),
        text("tool_version", "Version of stompcap"),
        text("error", "What went wrong, secrets removed; null if nothing"),
        big("octets", "Octets of the captures among its inputs, as far as they were read; null where it has none"),
        big("packets", "Packets of these captures"),
        big("peak_memory_octets", "The most memory that the driver's Python process had held until the stage ended"),
        text("host", "The machine of the driver"),
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
        big("state_version", "Version of table stream_state that the batch goes on from"),
        text("tool_version", "Version of stompcap"),
        big("streams_version", "Version of table streams in which connections were found that the batch computes again"),
        Column("again", pa.list_(CAPTURE), "Captures of earlier batches that are read again for these connections"),
        text("slice", "Of a batch that only computes connections again, which these are, as JSON; else null"),
        big("raw_version", "Version of table raw_frames that has octets of the open connections that the batch goes on with"),
        flag("anew", "Whether it computes all open connections again, as the batch before it was not finished"),
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
        text("expectation", "The expectation's type; of a suite of yours, behind the suite's name", nullable=False),
        text("severity", "How bad a failure is", *words.SEVERITIES, nullable=False),
        flag("success", "Whether the expectation was met", nullable=False),
        text("observed", "What was observed, as JSON"),
        moment("checked_ts", "When"),
        big("checked_rows", "Rows that the expectation is about; null for an invariant between tables"),
        big("failed_rows", "Those that do not meet it; of an invariant the places that differ"),
        text("message", "A failure in words, with the number of rows and an example; null where the expectation was met"),
    ),
    key=("run_id", "table_name", "column_name", "expectation"),
    statistics=("run_id", "table_name", "success"),
)

STREAM_STATE = Table(
    "stream_state",
    "operations",
    "One row per TCP segment of the connections that later captures may go on with, or, where these are many, pieces of the state of the "
    "machines that they went through; replaced by each run that reads packets of the connection",
    (
        text("stream_id", "Its connection", nullable=False),
        text("source", "The capture point", nullable=False),
        text("capture_id", "Its capture", nullable=False),
        big("packet", "Its number in that capture", nullable=False),
        big("ts_ns", "Capture time", nullable=False),
        big("flow", "Hash of the endpoints", nullable=False, least=None),
        Column("endpoints", pa.binary(), "Low address (16 octets, IPv4 mapped), low port, high address, high port", nullable=False),
        flag("forward", "Sent by the low endpoint", nullable=False),
        big("seq", "Sequence number", nullable=False),
        big("ack", "Acknowledgement number", nullable=False),
        integer("flags", "TCP flags", nullable=False),
        replace(integer("window_size", "Window as in the header", nullable=False), formerly="window"),
        big("ip_id", "IPv4 identification; -1 for IPv6", nullable=False, least=None),
        integer("ttl", "Time to live, or hop limit", nullable=False),
        big("wire_octets", "Octets of TCP payload", nullable=False),
        big("captured_octets", "Those of them that were captured", nullable=False),
        flag("bad_checksum", "Its TCP checksum was wrong as captured", nullable=False),
        replace(
            big("place", "File offset of its octets in the capture; -1 where they are not in it as they are", nullable=False, least=None),
            before=-1,
        ),
        replace(big("layers", "Encapsulation (stompcap.capture.outer)", nullable=False, least=None), formerly="outer"),
        text("role", "What the octets showed its sender to be, where payload is null though there were octets", *words.ROLES),
        Column("payload", pa.binary(), "Its octets, redacted as in raw_frames; null where all of them stand there, or where the connection "
               "has shown no STOMP"),
        integer("pieces", "Of a row that is no segment: how many have the state of this flow, in order of packet"),
        big("last_ns", "Capture time of the flow's latest packet; null where an older version wrote the row"),
        flag("some_open", "A connection of the flow is open; else two minutes of silence are enough to end it"),
        text("direction", "With stream_offset: where its octets stand in raw_frames; null where not all of them do", *words.DIRECTIONS),
        big("stream_offset", "Offset of the first of them, the others follow; null where not all of them stand in raw_frames"),
    ),
    key=("stream_id", "capture_id", "packet"),
    statistics=("stream_id", "source", "capture_id", "ts_ns"),
)

TABLES = (RUNS, BATCHES, QUALITY_RESULTS, STREAM_STATE)
