"""Column functions: the decoder applied to any binary column."""

# No postponed annotations here: Spark reads them at run time to find the kind of function.

from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import Column

DECODED = (
    "command STRING, command_raw STRING, destination STRING, id STRING, subscription STRING, message_id STRING, ack STRING, "
    "transaction STRING, receipt STRING, receipt_id STRING, content_type STRING, content_length BIGINT, body_octets BIGINT, "
    "body_preview STRING, eol STRING, syntax BIGINT, decode_errors ARRAY<STRING>, "
    "headers ARRAY<STRUCT<name: STRING, value: STRING>>, header MAP<STRING, STRING>"
)


@cache
def _decoder() -> Any:
    """The Arrow UDF; made once a process, where Spark is."""
    from pyspark.sql import functions as f

    @f.arrow_udf(DECODED)  # type: ignore[attr-defined]  # pyspark exports it since 4.1 but its stubs do not say so
    def decode_frames(raw: pa.Array, version: pa.Array) -> pa.Array:
        from stompcap.stomp import decode_column

        return decode_column(raw, version)

    return decode_frames


def decode(raw: "Column | str", version: "Column | str | None" = None) -> "Column":
    """Decode a BINARY column of STOMP frames, one a row, to a struct of the columns `command` to `header` of table frames.

    `version` is a column of 1.0, 1.1 or 1.2, or one of these words; null or absent decodes with 1.2's escapes and breaks off at
    nothing. A row that holds no frame gives null.
    """
    from pyspark.sql import functions as f

    octets = f.col(raw) if isinstance(raw, str) else raw
    if version is None:
        versions = f.lit(None).cast("string")
    elif isinstance(version, str):
        versions = f.lit(version) if version in ("1.0", "1.1", "1.2") else f.col(version)
    else:
        versions = version
    column: Column = _decoder()(octets, versions)
    return column
