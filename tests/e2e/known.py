"""What real brokers and client libraries break: the MUST rules that clean sessions break, and where every broken rule is recorded."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from tests.e2e.truth import Observed, Row, Session, all_sessions

LIBRARIES = ("library", "stompjs", "gostomp", "vertx", "stompest")  # captures in which libraries do nothing wrong on purpose
PRODUCTS = {"rabbitmq": "RabbitMQ", "activemq": "ActiveMQ", "artemis": "Artemis"}

# (rule, who breaks it): why the finding is right.
MUST = {
    ("CN-02", "stompjs"): "stompjs writes a `host` header only where the application puts one among its `connectHeaders`; the examples "
    "in its documentation do not. STOMP 1.1 and 1.2 ask for it without exception (CONNECT or STOMP Frame). All three brokers let it in.",
    ("HB-02", "ActiveMQ"): "ActiveMQ checks at the agreed interval whether it wrote anything since the last check, so what it wrote just "
    "after a check is followed by up to twice the interval of silence (its own issue AMQ-4710). The specification asks for new data at "
    "least every interval; an error margin is the receiver's to add, and the half that stompcap allows is exceeded.",
}

# (rules, who, why there is no recording of it): habits that others have seen.
NOT_RECORDED = (
    ("FR-04, MS-04, HB-03", "CoilMQ", "commands in lower case, no subscription, beats announced unasked: the recorder does not set it up; "
     "a public capture that the tests use shows the first two"),
    ("FR-20, FR-21, FR-22", "Apollo", "escapes in CONNECTED, an LF written as a colon: the project has ended"),
    ("FR-20, DS-02", "webstomp-client", "never escapes, leaves without a receipt: it speaks WebSocket, which stompcap does not read"),
    ("FR-03, FR-07", "PHP clients", "a CR in values, an ACK with a content-length and no body: the recorder does not set up PHP"),
    ("FR-22", "go-stomp, vert.x, RabbitMQ", "escapes in CONNECT and CONNECTED: the octets may be meant as they are, so the "
     "rule is never failed"),
    ("FR-29", "ActiveMQ", "characters beyond the basic plane encoded as two: of some releases, not of the one recorded"),
    ("FR-30", "RabbitMQ", "a silent close over a frame too large: the limit is not on the wire, so the rule is never failed"),
    ("MS-05", "Spring's simple broker", "MESSAGE without ack: it speaks WebSocket"),
    ("SB-04", "stompest", "client-individual in 1.0, where the application does not say otherwise: the one recorded does"),
    ("SN-03, SN-04", "all three brokers", "headers dropped, destinations renamed: nothing ties a MESSAGE to its SEND, so the "
     "rules are never failed"),
    ("HB-02", "RabbitMQ", "no beats while publishers are blocked: takes a broker short of memory; here its process is stopped instead"),
    ("DS-06", "ActiveMQ", "a second RECEIPT of DISCONNECT: it may happen and did not"),
)


class Recorded:
    """Findings of recorded sessions, each with its session and the product that is to blame."""

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        self.tables = tables
        self.seen = Observed(tables)
        self.sessions: dict[str, tuple[str, Session]] = {}  # by stream: capture without its broker, session
        for capture, session in all_sessions():
            self.sessions[self.seen.stream_of(session)] = capture.split("_")[1], session

    def broken(self) -> list[tuple[str, Row, str, Session]]:
        """(product, finding, capture, session) of all that is no scripted client's, in order of session, rule and place."""
        found = []
        for rows in self.seen.by_stream["compliance_findings"].values():
            for row in rows:
                capture, session = self.sessions[row["stream_id"]]
                product = self.blamed(row, session)
                if product is not None:
                    found.append((product, row, capture, session))
        return sorted(found, key=lambda one: (one[3].name, one[1]["rule_id"], one[1]["ts_ns"], one[1]["stream_offset"], one[1]["evidence"]))

    def blamed(self, finding: Row, session: Session) -> str | None:
        """The broker, or the library without its version; null where a scripted client did it, on purpose."""
        if finding["side"] == "server":
            return PRODUCTS[session.summary["broker"]]
        client = str(session.summary["client"])
        return None if client == "scripted" else client.split("/")[0]

    def clean(self, level: str) -> list[tuple[str, Row, Session]]:
        """(product, finding, session) of clean sessions, one level."""
        found = [one for one in self.broken() if one[2] in LIBRARIES]
        return [(product, row, session) for product, row, _, session in found if row["level"] == level]
