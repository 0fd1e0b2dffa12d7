"""The queries of rules: which were kept and broken, how often, by which side and product, and samples of findings."""

# ruff: noqa: S608  the SQL is put together from this file's own constants only

from __future__ import annotations

from stompcap.lake.query import Query

_BY_LEVEL = "CASE {level} WHEN 'M' THEN 0 WHEN 'S' THEN 1 ELSE 2 END"

QUERIES = (
    Query(
        "levels",
        ("compliance_findings",),
        """
        SELECT level, side, count(*) AS findings, count(DISTINCT rule_id) AS rules,
               count(DISTINCT stream_id) AS sessions
        FROM compliance_findings GROUP BY level, side ORDER BY level, side LIMIT 10""",
    ),
    Query(
        "rules",
        ("compliance", "rules"),
        """
        SELECT c.rule_id, r.level, r.side, r.clause, r.title, r.explanation, c.sessions, c.passed, c.failed, c.not_evaluable
        FROM (SELECT rule_id, count(*) AS sessions, sum(passed) AS passed, sum(failed) AS failed, sum(not_evaluable) AS not_evaluable
              FROM compliance GROUP BY rule_id) c
        LEFT JOIN rules r ON r.id = c.rule_id
        ORDER BY c.failed DESC, c.rule_id LIMIT 200""",
    ),
    Query(
        "broken",
        ("compliance", "compliance_findings", "rules"),
        f"""
        SELECT f.rule_id, f.level, f.side, r.title, r.side AS who, f.findings, f.broken_in, c.sessions, c.judged, c.not_evaluable
        FROM (SELECT rule_id, level, side, count(*) AS findings, count(DISTINCT stream_id) AS broken_in
              FROM compliance_findings GROUP BY rule_id, level, side) f
        LEFT JOIN (SELECT rule_id, count(*) AS sessions, sum(passed + failed) AS judged, sum(not_evaluable) AS not_evaluable
                   FROM compliance GROUP BY rule_id) c ON c.rule_id = f.rule_id
        LEFT JOIN rules r ON r.id = f.rule_id
        ORDER BY {_BY_LEVEL.format(level="f.level")}, f.findings DESC, f.rule_id, f.side LIMIT 600""",
    ),
    Query(
        "product_findings",
        ("compliance_findings", "sessions"),
        """
        SELECT f.rule_id, f.level, f.side, CASE WHEN f.side = 'server' THEN s.server_product ELSE s.client_product END AS product,
               count(*) AS findings
        FROM compliance_findings f JOIN sessions s ON s.stream_id = f.stream_id
        GROUP BY 1, 2, 3, 4 ORDER BY findings DESC, 1, 2, 3, 4 LIMIT 2000""",
    ),
    Query(
        "product_judged",
        ("compliance_summary", "rules"),
        """
        SELECT o.side, o.rule_id, o.product, r.side AS who, sum(o.judged) AS judged
        FROM (SELECT 'server' AS side, rule_id, server_product AS product, passed + failed AS judged FROM compliance_summary
              UNION ALL
              SELECT 'client' AS side, rule_id, client_product AS product, passed + failed AS judged FROM compliance_summary) o
        JOIN rules r ON r.id = o.rule_id
        WHERE r.side IN ('both', o.side)
        GROUP BY o.side, o.rule_id, o.product, r.side ORDER BY judged DESC, 1, 2, 3 LIMIT 4000""",
    ),
    Query(
        "findings",
        ("compliance_findings",),
        f"""
        SELECT rule_id, level, side, stream_id, direction, stream_offset, ts_ns,
               substr(evidence, 1, 500) AS evidence
        FROM (SELECT *, row_number() OVER (PARTITION BY rule_id, level
                                           ORDER BY ts_ns, stream_id, stream_offset) AS nth
              FROM compliance_findings) f
        WHERE nth <= 3
        ORDER BY {_BY_LEVEL.format(level="level")}, rule_id, nth LIMIT 300""",
    ),
)
