"""Receipts, of all frames."""

from __future__ import annotations

from stompcap.active.steps import Case, Expect, Say, Step, frame, opened

RECEIPTS = "1.2 Header receipt"


def asked(command: str, *lines: str, body: bytes = b"") -> tuple[Step, Step]:
    """A frame that asks for a receipt, and that."""
    name = f"r-{command.lower()}"
    return Say(frame(command, *lines, f"receipt:{name}", body=body)), Expect("RECEIPT", {"receipt-id": name})


CASES = (
    Case(
        "receipts-of-all-frames", ("RC-03", "RC-01", "RC-02"), "MUST", "Every frame that asks for a receipt gets one", RECEIPTS,
        (
            *opened(), *asked("SUBSCRIBE", "id:s", "destination:{queue}", "ack:client-individual"), *asked("BEGIN", "transaction:t"),
            *asked("COMMIT", "transaction:t"), *asked("SEND", "destination:{queue}", body=b"x"),
            Expect("MESSAGE", keep={"ack": "ack"}), *asked("ACK", "id:{ack}"), *asked("UNSUBSCRIBE", "id:s"),
            Say(frame("BEGIN", "transaction:u")), *asked("ABORT", "transaction:u"), *asked("DISCONNECT"),
        ),
    ),
    Case(
        "escaped-receipt", ("RC-02",), "MUST", "Receipt-id repeats the receipt, whatever characters it has", "1.2 RECEIPT",
        (*opened(), Say(frame("SEND", "destination:{queue}", r"receipt:a\cb\\c", body=b"x")), Expect("RECEIPT", {"receipt-id": "a:b\\c"})),
    ),
    Case(
        "close-behind-disconnect", ("DS-05",), "INFO", "DISCONNECT's receipt comes before the close", "1.2 DISCONNECT",
        (*opened(), *asked("DISCONNECT"), Expect("CLOSE", patience=2)),
    ),
)  # fmt: skip
