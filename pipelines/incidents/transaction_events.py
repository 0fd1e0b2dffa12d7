"""Events of transactions: left open with messages in them, rolled back again and again."""

# ruff: noqa: S608  the SQL consists of our own constants only

from __future__ import annotations

from pipelines.incidents.consumer_minutes import AGAIN, AGAIN_SHARE, MINUTE_NS
from pipelines.incidents.flagged import NO_NUMBER, NO_TEXT, SECOND_NS
from pipelines.incidents.leaps import leapt_ns
from pipelines.incidents.who import SUBJECT, SUBJECT_KIND

OPEN_S, OPEN_MESSAGES = 60, 10
"""A transaction that is neither committed nor aborted for so many seconds, or that is lost with so many SENDs and ACKs, is an incident."""

_OF_SESSION = f"s.source, {SUBJECT_KIND} AS subject_kind, {SUBJECT} AS subject, s.server_product"
_SESSION = "JOIN clients s ON s.stream_id = t.stream_id"
_ENDED = "coalesce(t.ended_ns, s.closed_ns, s.last_ns)"
_LASTED = f"{_ENDED} - t.begun_ns - {leapt_ns('s.source', 't.begun_ns', _ENDED)}"
_MORE = f"{NO_NUMBER} AS backlog, {NO_NUMBER} AS late_s"

UNCOMMITTED = f"""
    SELECT {_OF_SESSION}, coalesce(x.destination_name, '') AS what, {NO_TEXT} AS text, t.begun_ns AS begin_ns,
           CASE WHEN t.outcome <> 'open' THEN {_ENDED} END AS end_ns, t.sends + t.acks + t.nacks AS messages,
           ({_LASTED}) / 1e9 AS amount, t.stream_id, 'c2s' AS direction, t.begin_offset AS stream_offset,
           x.destination_name, CAST(t.sends AS DOUBLE) AS before, {_MORE}
    FROM transactions t {_SESSION} LEFT JOIN (
        SELECT stream_id, transaction, min(destination_name) AS destination_name, min(sent_ns) AS first_ns, max(sent_ns) AS last_ns
        FROM sends WHERE transaction_outcome IN ('open', 'implicitly_aborted') GROUP BY stream_id, transaction
    ) x ON x.stream_id = t.stream_id AND x.transaction = t.transaction AND x.last_ns >= t.begun_ns AND x.first_ns <= {_ENDED}
    WHERE t.outcome IN ('open', 'implicitly_aborted') AND t.sends + t.acks + t.nacks > 0 AND s.gap_octets = 0 AND t.begun_ns > 0
      AND ({_LASTED} >= {OPEN_S * SECOND_NS}
           OR (t.outcome = 'implicitly_aborted' AND t.sends + t.acks + t.nacks >= {OPEN_MESSAGES}))"""
"""Transactions that nobody commits, or that end with their connection: `before` is how many SENDs they have."""

_ROLLED = f"""
    SELECT {_OF_SESSION}, CAST(floor(t.ended_ns / {MINUTE_NS}.0) AS BIGINT) AS minute, count(*) AS transactions,
           count_if(t.outcome = 'aborted') AS aborted, sum(CASE WHEN t.outcome = 'aborted' THEN t.sends + t.acks + t.nacks ELSE 0 END)
           AS messages, min(CASE WHEN t.outcome = 'aborted' THEN t.ended_ns END) AS first_ns,
           max(CASE WHEN t.outcome = 'aborted' THEN t.ended_ns END) AS last_ns,
           min(CASE WHEN t.outcome = 'aborted'
                    THEN {{'ns': t.ended_ns, 'stream_id': t.stream_id, 'stream_offset': t.begin_offset}} END) AS first
    FROM transactions t {_SESSION} WHERE t.ended_ns > 0 AND t.outcome IN ('committed', 'aborted')
    GROUP BY s.source, {SUBJECT_KIND}, {SUBJECT}, s.server_product, CAST(floor(t.ended_ns / {MINUTE_NS}.0) AS BIGINT)"""

ROLLED_BACK = f"""
    SELECT source, subject_kind, subject, server_product, 'aborted' AS what, {NO_TEXT} AS text, first_ns AS begin_ns, last_ns AS end_ns,
           CAST(messages AS BIGINT) AS messages, CAST(aborted AS DOUBLE) AS amount, first.stream_id AS stream_id,
           'c2s' AS direction, first.stream_offset AS stream_offset, {NO_TEXT} AS destination_name,
           CAST(transactions AS DOUBLE) AS before, {_MORE}
    FROM ({_ROLLED}) minutes WHERE aborted >= {AGAIN} AND aborted >= {AGAIN_SHARE} * transactions
      AND first.stream_id NOT IN (SELECT stream_id FROM deliveries WHERE redelivered)"""
"""Minutes in which a client aborted many of its transactions; where its broker delivers again what it gave back, that is said instead."""
