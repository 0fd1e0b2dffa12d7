"""ACK: by which names, and of what is delivered again."""

from __future__ import annotations

from stompcap.active.serving_cases.shared import echoed, message, ready
from stompcap.active.steps import Case, Expect, Say

ACK = "1.2 ACK"

CASES = (
    Case(
        "ack-by-ack-header", ("AK-03", "AK-04"), "MUST", "ACK's id is the ack header of the MESSAGE, not its message-id", ACK,
        (*ready(), Say(message("m1", body=b"x").replace(b"ack:m1", b"ack:other")), Expect("ACK", {}, {"id": "other"})),
    ),
    Case(
        "escaped-ack", ("AK-04", "FR-23"), "MUST", "ACK's id is the ack header, whatever characters it has", ACK,
        (*ready(), Say(message("m1", body=b"x").replace(b"ack:m1", rb"ack:a\cb\\c")), Expect("ACK", {}, {"id": "a:b\\c"})),
    ),
    Case(
        "redelivery", ("AK-04", "AK-03"), "MUST", "A message that comes again is acknowledged by its new ack header", ACK,
        (
            *ready(), Say(message("m1", body=b"x")), echoed(b"x"), Expect("ACK", {}, {"id": "m1"}),
            Say(message("m1", "redelivered:true", body=b"x").replace(b"ack:m1", b"ack:again")), echoed(b"x"),
            Expect("ACK", {}, {"id": "again"}),
        ),
    ),
    Case(
        "every-message-is-acknowledged", ("AK-09",), "MUST", "In mode client-individual every message is acknowledged", "1.2 SUBSCRIBE",
        (
            *ready(), *(Say(message(f"m{number}", body=b"x")) for number in range(1, 6)),
            *(Expect("ACK", {"id": f"m{number}"}) for number in range(1, 6)),
        ),
    ),
)  # fmt: skip
