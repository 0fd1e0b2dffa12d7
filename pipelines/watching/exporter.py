"""What a watch tells Prometheus: totals of the lake, brought up to date after each round.

After a round only the files that came and went since the last one are read: what came counts, what went counts no more. So the cost follows
what is new, and rows of open connections, which are replaced, count once. The first time the whole lake is read.

Labels are bounded: the commands of the specification, and the first destinations that were seen; all others are `other`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stompcap.errors import EnvironmentProblem
from stompcap.lake import data_files, delta_log, open_tables, query
from stompcap.lake.data_files import Files
from stompcap.lake.paths import location
from stompcap.stomp import grammar
from stompcap.tables import outcomes
from stompcap.visible import visible

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Upper bounds of the buckets of histograms."""

MOST_DESTINATIONS = 100
LONGEST_LABEL = 200
OTHER = "other"

@dataclass(frozen=True)
class Total:
    """A family of metrics, summed over the rows of a table: its name and help, its labels, and the SQL after SELECT that groups by them.

    The SQL gives the labels, then one number; of a histogram the bucket stands before the numbers, which are how many and their sum.
    `falls`: a gauge, not a counter.
    """

    name: str
    help: str
    table: str
    labels: tuple[str, ...]
    sql: str
    falls: bool = False
    buckets: bool = False


def _histogram(seconds: str) -> str:
    """The bucket of a number of seconds, how many fall into it, and their sum."""
    bounds = " ".join(f"WHEN {seconds} <= {bound} THEN {number}" for number, bound in enumerate(SECONDS))
    return f"CASE {bounds} ELSE {len(SECONDS)} END AS bucket, count(*) AS n, sum({seconds}) AS seconds"


_KNOWN = ", ".join(f"'{name}'" for name in grammar.NAMES)
_COMMAND = f"CASE WHEN command IN ({_KNOWN}) THEN command ELSE '{OTHER}' END"
TOTALS = (
    Total("stompcap_connections", "TCP connections by what they carry", "streams", ("protocol",),
          "protocol, count(*) FROM rows GROUP BY ALL"),
    Total("stompcap_lost_bytes", "Bytes of TCP streams that the captures lack", "streams", (),
          "sum(gap_octets_c2s + gap_octets_s2c) FROM rows"),
    Total("stompcap_sessions", "STOMP sessions by broker and outcome", "sessions", ("server_product", "outcome"),
          "coalesce(server_product, 'unknown'), outcome, count(*) FROM rows GROUP BY ALL"),
    Total("stompcap_open_sessions", "STOMP sessions that go on", "sessions", (), "count(*) FROM rows WHERE NOT final", falls=True),
    Total("stompcap_frames", "STOMP frames by command", "frames", ("command",), f"{_COMMAND}, count(*) FROM rows GROUP BY ALL"),
    Total("stompcap_ack_latency_seconds", "From MESSAGE to the ACK or NACK that settled it", "deliveries", ("destination",),
          f"coalesce(destination, ''), {_histogram('ack_latency_us / 1e6')} FROM rows WHERE {outcomes.MEASURED.sql()} GROUP BY ALL",
          buckets=True),
    Total("stompcap_unsettled_deliveries", "Deliveries that ask for an ACK and are not settled", "deliveries", ("destination",),
          f"coalesce(destination, ''), count(*) FROM rows WHERE {outcomes.NOT_SETTLED.sql()} GROUP BY ALL", falls=True),
    Total("stompcap_residence_seconds", "From SEND, or the COMMIT that made it effective, to MESSAGE", "journeys", ("destination",),
          f"coalesce(destination_name, ''), {_histogram('residence_us / 1e6')} FROM rows WHERE {outcomes.RESIDENCE} GROUP BY ALL",
          buckets=True),
    Total("stompcap_backlog", "Messages that were sent and that no MESSAGE was seen of yet", "journeys", ("destination",),
          f"coalesce(destination_name, ''), count(*) FROM rows WHERE {outcomes.WAITING} GROUP BY ALL", falls=True),
    Total("stompcap_findings", "Broken rules of the specification, by level (M MUST, S SHOULD, I INFO) and side", "compliance_findings",
          ("level", "side"), "level, side, count(*) FROM rows GROUP BY ALL"),
    Total("stompcap_incidents", "Incidents that the lake has, by kind and level", "incidents", ("kind", "level"),
          "kind, level, count(*) FROM rows GROUP BY ALL", falls=True),
    Total("stompcap_open_incidents", "Incidents that are still so where the captures end, by kind and level", "incidents",
          ("kind", "level"), "kind, level, count(*) FROM rows WHERE end_ns IS NULL GROUP BY ALL", falls=True),
    Total("stompcap_heartbeat_violations", "Gaps in heart-beats that are late or worse", "heartbeat_violations", ("severity",),
          "severity, count(*) FROM rows GROUP BY ALL"),
)  # fmt: skip
"""All families, each of one table."""


class Exporter:
    """A collector of prometheus_client over a lake. `update` is called between rounds, `collect` by whoever scrapes, at any time."""

    def __init__(self, lake: str, now: Callable[[], float] = time.time) -> None:
        self._lake, self._now = lake, now
        self._versions: dict[str, int] = {}
        self._counts: dict[str, Counter[tuple[Any, ...]]] = {}
        self._sums: dict[str, Counter[tuple[Any, ...]]] = {}
        self._destinations: set[str] = set()
        self._latest_s: float | None = None
        self._shown: tuple[Metric, ...] = ()

    def update(self) -> None:
        """Bring the totals up to date with the lake."""
        for table in dict.fromkeys(one.table for one in TOTALS):
            self._update(table)
        with query.opened({"rows": query.all_files(self._lake, "captures")}) as database:
            row = database.sql("SELECT max(last_ns) FROM rows").fetchone()
        self._latest_s = row[0] / 1e9 if row and row[0] is not None else None
        self._shown = tuple(self._families())

    def collect(self) -> Iterator[Metric]:
        """The families as they are, and how long ago the latest captured packet was."""
        from prometheus_client.core import GaugeMetricFamily

        yield from self._shown
        if self._latest_s is not None:
            says = "Seconds since the latest packet that the lake has"
            yield GaugeMetricFamily("stompcap_seconds_behind", says, value=max(0.0, self._now() - self._latest_s))

    def _update(self, table: str) -> None:
        """Count the rows that came to a table since its last version, and no more those that went."""
        held = open_tables.table(location(self._lake, table))
        since, families = self._versions.get(table), [one for one in TOTALS if one.table == table]
        changed = None if since is None else delta_log.changes(held, since)
        if changed is None or not data_files.exist([change.uri for change in changed]):
            for one in families:
                self._counts[one.name], self._sums[one.name] = Counter(), Counter()
            parts = [(1, query.all_files(self._lake, table))]
        else:
            ways = ((sign, tuple(change.uri for change in changed if change.added is (sign > 0))) for sign in (1, -1))
            parts = [(sign, Files(table, uris)) for sign, uris in ways if uris]
        for sign, files in parts:
            with query.opened({"rows": files}) as database:
                for one in families:
                    for row in database.sql(f"SELECT {one.sql}").fetchall():
                        self._add(one, row, sign)
        self._versions[table] = held.version()

    def _add(self, one: Total, row: tuple[Any, ...], sign: int) -> None:
        labels = tuple(self._label(name, value) for name, value in zip(one.labels, row, strict=False))
        numbers = row[len(one.labels) :]
        if one.buckets:
            bucket, count, seconds = numbers
            self._counts[one.name][(*labels, bucket)] += sign * count
            self._sums[one.name][labels] += sign * seconds
        else:
            self._counts[one.name][labels] += sign * int(numbers[0] or 0)

    def _label(self, name: str, value: str) -> str:
        """A value that anyone may have written as one that does no harm: the first destinations by name, the others together."""
        value = visible(str(value), LONGEST_LABEL)
        if name != "destination" or value in self._destinations:
            return value
        if len(self._destinations) >= MOST_DESTINATIONS:
            return OTHER
        self._destinations.add(value)
        return value

    def _families(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        for one in TOTALS:
            counts = self._counts[one.name]
            if one.buckets:
                histogram = HistogramMetricFamily(one.name, one.help, labels=one.labels)
                for labels in sorted({key[:-1] for key in counts}):
                    upto, buckets = 0, []
                    for number, bound in enumerate((*map(str, SECONDS), "+Inf")):
                        upto += counts[(*labels, number)]
                        buckets.append((bound, upto))
                    histogram.add_metric(labels, buckets, self._sums[one.name][labels])
                yield histogram
            else:
                kind = GaugeMetricFamily if one.falls else CounterMetricFamily
                family = kind(one.name, one.help, labels=one.labels)
                for labels, count in sorted(counts.items()):
                    family.add_metric(labels, count)
                yield family


def serve(exporter: Exporter, host: str, port: int) -> None:
    """Answer scrapes of `http://host:port/metrics` in a thread of its own, as long as the process lives.

    EnvironmentProblem where the port cannot be had.
    """
    from prometheus_client import CollectorRegistry, start_http_server

    registry = CollectorRegistry(auto_describe=False)
    registry.register(exporter)
    try:
        start_http_server(port, host, registry)
    except OSError as error:
        raise EnvironmentProblem(f"--metrics {host}:{port}: cannot listen there ({error.strerror or error}); name another port") from error


