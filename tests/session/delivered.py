"""Dialogues in which messages are delivered, in few words, and what becomes of them."""

from __future__ import annotations

from stompcap.session import Analysis
from tests.session.transcript import run

OPENINGS = {
    "1.0": "> CONNECT login:a\n< CONNECTED session:1 {0}\n",
    "1.1": "> CONNECT accept-version:1.1 host:/\n< CONNECTED version:1.1 {0}\n",
    "1.2": "> CONNECT accept-version:1.2 host:/\n< CONNECTED version:1.2 {0}\n",
}
END = "> DISCONNECT\n> FIN\n< FIN\n"
RABBITMQ, ACTIVEMQ = "server:RabbitMQ/3.10", "server:ActiveMQ/5.17"
ACK, SWEPT = ("settled", "ack", "direct"), ("settled", "ack", "cumulative")
NACK, SWEPT_BY_NACK = ("settled", "nack", "direct"), ("settled", "nack", "cumulative")
AUTO, LEFT, UNKNOWN = ("auto", None, None), ("unsettled", None, None), ("unknown", None, None)
UNCLEAR = ("unknown", "ack", "direct")
VOID, VOID_ALONG = ("voided", "ack", "direct"), ("voided", "ack", "cumulative")


def subscribe(name: int = 1, mode: str = "client", destination: str = "/queue/a") -> str:
    return f"> SUBSCRIBE id:{name} destination:{destination} ack:{mode}\n"


def message(name: str, subscription: int = 1, destination: str = "/queue/a", ack: str = "", more: str = "") -> str:
    return f"< MESSAGE message-id:{name} subscription:{subscription} destination:{destination} {ack and 'ack:' + ack} {more}\n"


ONE, EACH = subscribe(), subscribe(mode="client-individual")
FIRST, SECOND, THIRD = (message(f"m{n}", ack=f"a{n}") for n in (1, 2, 3))
ANEW = message("m1", ack="b1", more="redelivered:true")
BEGIN, COMMIT, ABORT = (f"> {command} transaction:t\n" for command in ("BEGIN", "COMMIT", "ABORT"))
INSIDE = "> ACK id:a1 transaction:t\n"
A1, A2, A3 = ("> ACK id:a1\n", "> ACK id:a2\n", "> ACK id:a3\n")
GONE, LOST = "> UNSUBSCRIBE id:1\n", "< GAP 60\n> ACK id:a2\n< EOL\n"
OLD, OLD_ACK = message("m1") + message("m2"), "> ACK message-id:m1 subscription:1\n"


def dialogue(version: str, server: str, text: str) -> str:
    """The whole transcript of a case."""
    return OPENINGS[version].format(server) + text + ("" if "RST" in text or "FIN" in text else END)


def analysed(version: str, server: str, text: str, **how: object) -> Analysis:
    return run(dialogue(version, server, text), **how)  # type: ignore[arg-type]
