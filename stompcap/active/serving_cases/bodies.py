"""Bodies: content-length, NULs, sizes."""

from __future__ import annotations

from stompcap.active.serving_cases.shared import echoed, message, ready
from stompcap.active.steps import Case, Say

LENGTH = "1.2 Header content-length"
INSIDE = b"a\0\n\nMESSAGE\nsubscription:{sub}\nmessage-id:inner\nack:inner\ndestination:x\n\nx\0\0end"
LARGE = b"0123456789abcdef" * 65_536

CASES = (
    Case(
        "nul-in-body", ("FR-07", "FR-09"), "MUST", "Content-length bytes are the body, NULs among them", LENGTH,
        (*ready(), Say(message("m1", body=b"a\0b\0c")), echoed(b"a\0b\0c")),
    ),
    Case(
        "frames-in-a-body", ("FR-07",), "MUST", "What looks like a frame inside a body is none", LENGTH,
        (*ready(), Say(message("m1", body=INSIDE.replace(b"{sub}", b"1"))), echoed(INSIDE.replace(b"{sub}", b"1"))),
    ),
    Case(
        "no-content-length", ("FR-01",), "MUST", "Without content-length a body ends at the first NUL", LENGTH,
        (*ready(), Say(message("m1", body=b"hello", length=False)), echoed(b"hello")),
    ),
    Case(
        "empty-body", ("FR-01",), "MUST", "A message may have no body", "1.2 STOMP Frames",
        (*ready(), Say(message("m1", "note:n")), echoed(b"", {"note": "n"})),
    ),
    Case(
        "content-length-zero", ("FR-07",), "MUST", "A body may have no bytes and a content-length", LENGTH,
        (*ready(), Say(message("m1", "content-length:0", "note:n")), echoed(b"", {"note": "n"})),
    ),
    Case(
        "content-length-repeated", ("FR-25", "FR-07"), "SHOULD", "Of two content-lengths the first counts", "1.2 Repeated Header Entries",
        (*ready(), Say(message("m1", "content-length:5", "content-length:1", body=b"a\0b\0c", length=False)), echoed(b"a\0b\0c")),
    ),
    Case(
        "large-body", ("FR-07",), "MUST", "A body of 1 MiB arrives whole", LENGTH,
        (*ready(), Say(message("m1", body=LARGE)), echoed(LARGE, patience=3)),
    ),
)  # fmt: skip
