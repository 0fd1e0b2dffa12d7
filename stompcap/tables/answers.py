"""Views of the lake that answer questions of their own: their rows are some of a table's, with what other rows say of them.

The SQL is understood by DuckDB and Spark alike, as that of stompcap.views; {session} stands for the columns of the session.
"""

from __future__ import annotations

from stompcap.tables.outcomes import MEASURED
from stompcap.tables.view import View

ERRORS = View(
    "errors",
    "One row per ERROR: what it said, the client's frame that caused it (`cause_known_by` receipt: it names that; last: the client's last "
    "one before it), how long until the close, session and capture point",
    ("frames", "raw_frames", "receipts", "sessions", "streams"),
    """
    WITH near AS (
        SELECT f.stream_id, f.direction, f.stream_offset, r.wire_order FROM {frames} f
        JOIN {raw_frames} r ON r.stream_id = f.stream_id AND r.direction = f.direction AND r.stream_offset = f.stream_offset
        WHERE f.stream_id IN (SELECT stream_id FROM {frames} WHERE command = 'ERROR')
    ), behind AS (
        SELECT *, max(CASE WHEN direction = 'c2s' THEN stream_offset END) OVER (PARTITION BY stream_id ORDER BY wire_order, direction
                  ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS last_offset FROM near
    ), asked AS (
        SELECT stream_id, receipt, answered_ns, max(request_offset) AS request_offset FROM {receipts} WHERE answer = 'ERROR'
        GROUP BY stream_id, receipt, answered_ns
    ), told AS (
        SELECT e.*, b.last_offset, a.request_offset, coalesce(a.request_offset, b.last_offset) AS cause_offset FROM {frames} e
        JOIN behind b ON b.stream_id = e.stream_id AND b.direction = e.direction AND b.stream_offset = e.stream_offset
        LEFT JOIN asked a ON a.stream_id = e.stream_id AND a.receipt = e.receipt_id AND a.answered_ns = e.last_ns
        WHERE e.command = 'ERROR'
    )
    SELECT t.stream_id, t.stream_offset, t.last_ns AS error_ns, t.first_ts AS error_ts, t.header['message'] AS message,
           t.body_preview AS detail, t.receipt_id, t.cause_offset,
           CASE WHEN t.request_offset IS NOT NULL THEN 'receipt' WHEN t.last_offset IS NOT NULL THEN 'last' END AS cause_known_by,
           c.command AS cause_command, c.destination AS cause_destination,
           CASE WHEN s.closed_ns >= t.last_ns THEN CAST(floor((s.closed_ns - t.last_ns) / 1000.0) AS BIGINT) END AS to_close_us,
           s.close_cause, p.closed_by, {session}, p.source
    FROM told t LEFT JOIN {frames} c ON c.stream_id = t.stream_id AND c.direction = 'c2s' AND c.stream_offset = t.cause_offset
    LEFT JOIN {sessions} s ON s.stream_id = t.stream_id LEFT JOIN {streams} p ON p.stream_id = t.stream_id
    """,
)

DELIVERY_PACKETS = View(
    "delivery_packets",
    "Deliveries, whether they are `measured` (their latency counts), with the packet that completed the MESSAGE "
    "and the one that began its ACK or NACK, each with its capture's path",
    ("deliveries", "frames", "captures", "sessions", "streams"),
    """
    SELECT t.*, (@measured) AS measured, m.last_packet AS message_packet, d.path AS message_path, a.first_packet AS settle_packet,
           e.path AS settle_path, {session}, p.source
    FROM {deliveries} t LEFT JOIN {frames} m ON m.stream_id = t.stream_id AND m.direction = 's2c' AND m.stream_offset = t.stream_offset
    LEFT JOIN {captures} d ON d.capture_id = m.last_capture_id
    LEFT JOIN {frames} a ON a.stream_id = t.stream_id AND a.direction = 'c2s' AND a.stream_offset = t.settle_offset
    LEFT JOIN {captures} e ON e.capture_id = a.first_capture_id
    LEFT JOIN {sessions} s ON s.stream_id = t.stream_id LEFT JOIN {streams} p ON p.stream_id = t.stream_id
    """.replace("@measured", MEASURED.sql("t")),
)

RECONNECTS = View(
    "reconnects",
    "Sessions with the one before of the same client (address, login and client-id) at the same broker: which one this is, why the one "
    "before ended, how long the client was away; null while that was still open",
    ("sessions", "streams"),
    """
    WITH known AS (SELECT t.*, p.source FROM {sessions} t LEFT JOIN {streams} p ON p.stream_id = t.stream_id), lined AS (
        SELECT *, row_number() OVER one AS number, lag(stream_id) OVER one AS previous_stream_id,
               lag(close_cause) OVER one AS previous_cause, lag(closed_ns) OVER one AS previous_closed_ns
        FROM known WINDOW one AS (
            PARTITION BY source, server_ip, server_port, client_ip, login, client_id ORDER BY opened_ns, stream_id)
    )
    SELECT *, CASE WHEN opened_ns >= previous_closed_ns
                   THEN CAST(floor((opened_ns - previous_closed_ns) / 1000.0) AS BIGINT) END AS away_us
    FROM lined
    """,
)

REQUESTS = View(
    "requests",
    "SENDs with correlation-id and reply-to, with the first MESSAGE behind it on the connection that has the same correlation-id: when the "
    "reply came, and how long it took",
    ("frames", "sessions", "streams"),
    """
    WITH asked AS (
        SELECT stream_id, stream_offset, last_ns, first_ts, destination, header['correlation-id'] AS correlation_id,
               header['reply-to'] AS reply_to
        FROM {frames} WHERE command = 'SEND' AND header['correlation-id'] IS NOT NULL AND header['reply-to'] IS NOT NULL
    ), came AS (
        SELECT stream_id, stream_offset, last_ns, header['correlation-id'] AS correlation_id
        FROM {frames} WHERE command = 'MESSAGE' AND header['correlation-id'] IS NOT NULL
    ), answered AS (
        SELECT q.*, r.stream_offset AS reply_offset, r.last_ns AS replied_ns,
               row_number() OVER (PARTITION BY q.stream_id, q.stream_offset ORDER BY r.last_ns, r.stream_offset) AS number
        FROM asked q LEFT JOIN came r ON r.stream_id = q.stream_id AND r.correlation_id = q.correlation_id AND r.last_ns >= q.last_ns
    )
    SELECT t.stream_id, t.stream_offset, t.last_ns AS asked_ns, t.first_ts AS asked_ts, t.destination, t.correlation_id, t.reply_to,
           t.reply_offset, t.replied_ns, CAST(floor((t.replied_ns - t.last_ns) / 1000.0) AS BIGINT) AS reply_us, {session}, p.source
    FROM answered t LEFT JOIN {sessions} s ON s.stream_id = t.stream_id LEFT JOIN {streams} p ON p.stream_id = t.stream_id
    WHERE t.number = 1
    """,
)

EOL_DETAILS = View(
    "eol_details",
    "Rows of raw_frames that are EOLs, with `heartbeat`: they stand alone, and did not come with the last byte before them; with session "
    "and capture point",
    ("raw_frames", "sessions", "streams"),
    """
    SELECT t.*, b.stream_id IS NULL AS heartbeat, {session}, p.source FROM {raw_frames} t
    LEFT JOIN (SELECT stream_id, direction, stream_offset + length_octets AS end_offset, last_ns FROM {raw_frames}) b
    ON b.stream_id = t.stream_id AND b.direction = t.direction AND b.end_offset = t.stream_offset AND b.last_ns = t.first_ns
    LEFT JOIN {sessions} s ON s.stream_id = t.stream_id LEFT JOIN {streams} p ON p.stream_id = t.stream_id WHERE t.kind = 'eol'
    """,
)

PARTIAL_FRAMES = View(
    "partial_frames",
    "Rows of raw_frames that are part of a frame: `command`, `destination` and `head` (its lines up to the blank one) as far as they were "
    "captured. DuckDB writes bytes beyond ASCII as escapes",
    ("raw_frames", "sessions", "streams"),
    # octets as text, with LF for line ends: DuckDB writes CR and LF as \x0D and \x0A, Spark as they are
    """
    WITH texts AS (
        SELECT t.*, replace(replace(replace(CAST(t.raw AS STRING), concat(chr(92), 'x0A'), chr(10)), concat(chr(92), 'x0D'), ''),
                            chr(13), '') AS octets_text
        FROM {raw_frames} t WHERE t.kind = 'partial'
    ), heads AS (SELECT *, split_part(octets_text, concat(chr(10), chr(10)), 1) AS head_text FROM texts)
    SELECT t.stream_id, t.direction, t.stream_offset, t.length_octets, t.first_ns, t.last_ns, t.first_ts, t.first_capture_id,
           t.first_packet, t.syntax,
           nullif(split_part(regexp_extract(t.octets_text, concat('^[A-Za-z]+', chr(10)), 0), chr(10), 1), '') AS command,
           nullif(regexp_extract(concat(t.head_text, CASE WHEN t.head_text = t.octets_text THEN '' ELSE chr(10) END),
                                 concat(chr(10), 'destination:([^', chr(10), ']*)', chr(10)), 1), '') AS destination,
           t.head_text AS head, {session}, p.source
    FROM heads t LEFT JOIN {sessions} s ON s.stream_id = t.stream_id LEFT JOIN {streams} p ON p.stream_id = t.stream_id
    """,
)

STREAM_PAIRS = View(
    "stream_pairs",
    "Connections that two sources have, with as many bytes: the same endpoints (`known_by` endpoints), or the same session header of "
    "CONNECTED (`known_by` session: before and behind a balancer or proxy); `later_us`, by how much the other source saw CONNECTED later",
    ("streams", "sessions", "frames"),
    """
    WITH seen AS (
        SELECT c.stream_id, c.source, c.client_ip, c.client_port, c.server_ip, c.server_port, c.first_ns, c.octets_c2s, c.octets_s2c,
               s.session, f.last_ns AS connected_ns
        FROM {streams} c JOIN {sessions} s ON s.stream_id = c.stream_id
        LEFT JOIN {frames} f ON f.stream_id = c.stream_id AND f.direction = 's2c' AND f.stream_offset = 0 AND f.command = 'CONNECTED'
    ), pairs AS (
        SELECT a.*, b.stream_id AS other_stream_id, b.source AS other_source, b.connected_ns AS other_connected_ns, 'endpoints' AS known_by
        FROM seen a JOIN seen b ON a.client_ip = b.client_ip AND a.client_port = b.client_port AND a.server_ip = b.server_ip
             AND a.server_port = b.server_port AND a.octets_c2s = b.octets_c2s AND a.octets_s2c = b.octets_s2c AND a.source < b.source
             AND coalesce(a.session, '') = coalesce(b.session, '')
        UNION ALL
        SELECT a.*, b.stream_id AS other_stream_id, b.source AS other_source, b.connected_ns AS other_connected_ns, 'session' AS known_by
        FROM seen a JOIN seen b ON a.session = b.session AND a.octets_c2s = b.octets_c2s AND a.octets_s2c = b.octets_s2c
             AND a.source < b.source AND NOT (a.client_ip = b.client_ip AND a.client_port = b.client_port
             AND a.server_ip = b.server_ip AND a.server_port = b.server_port)
    )
    SELECT *, CAST(floor((other_connected_ns - connected_ns) / 1000.0) AS BIGINT) AS later_us FROM pairs
    """,
)

ANSWERS = (ERRORS, DELIVERY_PACKETS, RECONNECTS, REQUESTS, EOL_DETAILS, PARTIAL_FRAMES, STREAM_PAIRS)
