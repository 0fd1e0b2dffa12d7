"""Dialogues of one subscription, and what became of its deliveries."""

from __future__ import annotations

from tests.session.transcript import picked, run

OPEN_12 = "> CONNECT accept-version:1.2 host:/\n< CONNECTED version:1.2 {server}\n"
OPEN_11 = "> CONNECT accept-version:1.1 host:/\n< CONNECTED version:1.1 {server}\n"
OPEN_10 = "> CONNECT login:a\n< CONNECTED session:1 {server}\n"
END = "> DISCONNECT\n> FIN\n< FIN\n"


def outcomes(text: str, server: str = "", **how: object) -> list[tuple[object, ...]]:
    """(message-id, status, settlement, settled_by) of each delivery."""
    analysis = run(text.replace("{server}", server), **how)  # type: ignore[arg-type]
    return picked(analysis.tables["deliveries"], "message_id", "status", "settlement", "settled_by")


def subscribed(opening: str, mode: str, messages: int = 3, **headers: str) -> str:
    """A subscription `1` and so many messages m1, m2, ... with ack ids a1, a2, ... where the version has them."""
    text = opening + f"> SUBSCRIBE id:1 destination:/queue/a ack:{mode}\n"
    for n in range(1, messages + 1):
        ack = f"ack:a{n}" if "1.2" in opening else ""
        text += f"< MESSAGE message-id:m{n} subscription:1 destination:/queue/a {ack} | body\n"
    return text


DIRECT, CUMULATIVE = ("settled", "ack", "direct"), ("settled", "ack", "cumulative")
REFUSED, SWEPT = ("settled", "nack", "direct"), ("settled", "nack", "cumulative")
LEFT, AUTO, UNKNOWN = ("unsettled", None, None), ("auto", None, None), ("unknown", None, None)
