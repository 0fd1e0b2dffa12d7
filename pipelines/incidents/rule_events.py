"""Events of rules that were broken, and of what captures lack.

Rules about heart-beats are not among them: who missed his beats is an incident of its own.
"""

# ruff: noqa: S608  the SQL consists of our own constants only

from __future__ import annotations

from pipelines.incidents.flagged import NO_TEXT
from pipelines.incidents.who import BROKER, SUBJECT, SUBJECT_KIND

EVERYONE, MOST = 5, 0.9
"""What most logins of a day break, so many or more being judged, is said once of all clients."""

_NOWHERE = f"{NO_TEXT} AS direction, CAST(NULL AS BIGINT) AS stream_offset"
_DAY = "CAST(s.opened_ts AS DATE)"

BROKEN_RULES = f"""
    WITH came AS (
        SELECT s.stream_id, s.source, {_DAY} AS day, {SUBJECT} AS subject FROM clients s
    ), everybody AS (
        SELECT *, row_number() OVER () AS client FROM (SELECT DISTINCT source, day, subject FROM came) every
    ), numbered AS (
        SELECT a.stream_id, b.client FROM came a JOIN everybody b
        ON b.source = a.source AND b.day IS NOT DISTINCT FROM a.day AND b.subject = a.subject
    ), judged AS (
        SELECT n.client, c.rule_id, sum(c.failed) AS failed FROM compliance c JOIN numbered n ON n.stream_id = c.stream_id
        WHERE c.passed + c.failed > 0
              AND c.rule_id IN (SELECT rule_id FROM compliance_findings WHERE level = 'M' AND side = 'client' AND rule_id NOT LIKE 'HB-%')
        GROUP BY n.client, c.rule_id
    ), common AS (
        SELECT k.source, j.rule_id, k.day FROM judged j JOIN everybody k ON k.client = j.client GROUP BY k.source, j.rule_id, k.day
        HAVING count(*) >= {EVERYONE} AND count_if(j.failed > 0) >= {MOST} * count(*)
    )
    SELECT s.source,
           CASE WHEN f.side = 'server' THEN 'broker' WHEN c.rule_id IS NOT NULL THEN 'client' ELSE {SUBJECT_KIND} END AS subject_kind,
           CASE WHEN f.side = 'server' THEN {BROKER} WHEN c.rule_id IS NOT NULL THEN 'all clients' ELSE {SUBJECT} END AS subject,
           CASE WHEN f.side = 'server' OR c.rule_id IS NULL THEN s.server_product END AS server_product,
           concat(f.rule_id, ' ', coalesce(CASE WHEN f.side = 'client' AND c.rule_id IS NULL THEN s.client_product END, '')) AS what,
           concat(f.rule_id, ' ', coalesce(r.title, '')) AS text, f.ts_ns AS begin_ns, f.ts_ns AS end_ns, 0 AS messages,
           CAST(NULL AS DOUBLE) AS amount, f.stream_id, f.direction, f.stream_offset
    FROM compliance_findings f JOIN clients s ON s.stream_id = f.stream_id
    LEFT JOIN rules r ON r.id = f.rule_id
    LEFT JOIN common c ON c.source = s.source AND c.rule_id = f.rule_id AND c.day = {_DAY} AND f.side = 'client'
    WHERE f.level = 'M' AND f.rule_id NOT LIKE 'HB-%' AND f.ts_ns IS NOT NULL"""
"""Findings of level MUST. Of each session many rules are judged: that is counted by the number of its client, not by words."""


def _of_capture(what: str, amount: str, where: str) -> str:
    return f"""
    SELECT source, 'capture' AS subject_kind, source AS subject, {NO_TEXT} AS server_product, '{what}' AS what, {NO_TEXT} AS text,
           first_ns AS begin_ns, last_ns AS end_ns, 0 AS messages, CAST({amount} AS DOUBLE) AS amount, stream_id, {_NOWHERE}
    FROM streams p WHERE protocol = 'stomp' AND first_ns IS NOT NULL AND {where}"""


_GAPS, _CUT = (f"(coalesce(p.{name}_octets_c2s, 0) + coalesce(p.{name}_octets_s2c, 0))" for name in ("gap", "truncated"))
_LOST = f"({_GAPS} - {_CUT})"
LOST = _of_capture("lost", _LOST, f"{_LOST} > 0 AND p.outer_octets_c2s > 0 AND p.outer_octets_s2c > 0")
CUT = _of_capture("cut", _CUT, f"{_CUT} > 0")
ONE_WAY = _of_capture("one way", "1", "p.history IN (upper(p.history), lower(p.history)) AND p.octets_c2s + p.octets_s2c > 0")
CLOCKS = _of_capture("clocks", "p.acks_against_time", "p.acks_against_time > 0")
IS_DAMAGED = "status = 'damaged'"
DAMAGED = f"""
    SELECT source, 'capture' AS subject_kind, source AS subject, {NO_TEXT} AS server_product, 'damaged' AS what, path AS text,
           first_ns AS begin_ns, last_ns AS end_ns, 0 AS messages, CAST(NULL AS DOUBLE) AS amount, {NO_TEXT} AS stream_id, {_NOWHERE}
    FROM captures WHERE {IS_DAMAGED} AND first_ns IS NOT NULL"""
CLOSED_TLS = f"""
    SELECT p.source, 'capture' AS subject_kind, p.source AS subject, {NO_TEXT} AS server_product, 'tls' AS what, t.reason AS text,
           p.first_ns AS begin_ns, p.last_ns AS end_ns, 0 AS messages, CAST(NULL AS DOUBLE) AS amount, p.stream_id, {_NOWHERE}
    FROM transports t JOIN streams p ON p.stream_id = t.stream_id WHERE t.status = 'not_decrypted' AND p.first_ns IS NOT NULL"""
"""Connections in TLS that no key opens: what they carry is not known."""
