"""The end: DISCONNECT, and ERROR."""

from __future__ import annotations

from stompcap.active.echo import END
from stompcap.active.serving_cases.shared import echoed, message, ready
from stompcap.active.steps import Case, Expect, Never, Say, frame

CASES = (
    Case(
        "disconnect-asks-for-a-receipt", ("DS-02", "DS-04"), "SHOULD", "A client that ends says DISCONNECT and asks for a receipt",
        "1.2 DISCONNECT", (*ready(), Say(message("m9", body=END)), Expect("DISCONNECT", has={"receipt": None}, patience=2)),
    ),
    Case(
        "nothing-behind-disconnect", ("DS-01",), "MUST", "Behind DISCONNECT the client sends nothing more", "1.2 DISCONNECT",
        (
            *ready(), Say(message("m9", body=END)), echoed(END, needed=True), Expect("ACK", needed=True),
            Expect("DISCONNECT", needed=True, patience=2),
            Never("SEND|ACK|NACK|SUBSCRIBE|UNSUBSCRIBE|BEGIN|COMMIT|ABORT|DISCONNECT"),
        ),
    ),
    Case(
        "error-is-the-end", ("ER-02",), "INFO", "Behind an ERROR the client sends no frame but DISCONNECT", "1.2 ERROR",
        (
            *ready(), Say(frame("ERROR", "message:made up", "content-type:text/plain", body=b"a reason") + message("m2", body=b"late")),
            Never("SEND|ACK|NACK|SUBSCRIBE|BEGIN"),
        ),
    ),
)  # fmt: skip
