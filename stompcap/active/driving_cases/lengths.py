"""Bodies: content-length, NULs, sizes."""

from __future__ import annotations

from stompcap.active.steps import Case, Expect, Never, Say, frame, opened, subscribed

LENGTH, SIZES = "1.2 Header content-length", "1.2 Size Limits"
INSIDE = b"a\0\n\nSEND\ndestination:elsewhere\nreceipt:inner\n\nx\0\0\n\n\n\nend"


def sized(length: str, body: bytes, *lines: str) -> bytes:
    """A SEND with that content-length, whatever the body has."""
    return frame("SEND", "destination:{queue}", f"content-length:{length}", "content-type:application/octet-stream", *lines, body=body)


CASES = (
    Case(
        "nul-in-body", ("FR-07", "FR-09"), "MUST", "Content-length bytes are the body, NULs among them", LENGTH,
        (*opened(), *subscribed(), Say(sized("5", b"a\0b\0c")), Expect("MESSAGE", body=b"a\0b\0c")),
    ),
    Case(
        "all-bytes", ("FR-07",), "MUST", "A body may have any bytes", "1.2 Body",
        (*opened(), *subscribed(), Say(sized("256", bytes(range(256)))), Expect("MESSAGE", body=bytes(range(256)))),
    ),
    Case(
        "frames-in-a-body", ("FR-07",), "MUST", "What looks like a frame inside a body is none", LENGTH,
        (
            *opened(), *subscribed(), Say(sized(str(len(INSIDE)), INSIDE)),
            Never("RECEIPT", {"receipt-id": "inner"}),
            Expect("MESSAGE", body=INSIDE),
        ),
    ),
    Case(
        "empty-body", ("FR-01",), "MUST", "A message may have no body", "1.2 STOMP Frames",
        (*opened(), *subscribed(), Say(frame("SEND", "destination:{queue}")), Expect("MESSAGE", body=b"")),
    ),
    Case(
        "no-content-length", ("FR-01",), "MUST", "Without content-length a body ends at the first NUL", LENGTH,
        (*opened(), *subscribed(), Say(frame("SEND", "destination:{queue}", body=b"hello")), Expect("MESSAGE", body=b"hello")),
    ),
    Case(
        "content-length-too-long", ("FR-07",), "MUST", "What content-length counts is body: a frame in it is none", LENGTH,
        (
            *opened(), Say(sized("400", b"hello") + frame("SEND", "destination:{queue}", "receipt:inner", body=b"x")),
            Never("RECEIPT", {"receipt-id": "inner"}),
        ),
    ),
    Case(
        "content-length-too-short", ("FR-07",), "SHOULD", "A frame without a NUL behind its body is refused: ERROR, or a close", LENGTH,
        (*opened(), Say(sized("3", b"hello", "receipt:r")), Expect("ERROR|CLOSE")),
    ),
    Case(
        "content-length-negative", ("FR-08",), "SHOULD", "A negative content-length is refused: ERROR, or a close", LENGTH,
        (*opened(), Say(sized("-1", b"hello", "receipt:r")), Expect("ERROR|CLOSE")),
    ),
    Case(
        "content-length-no-number", ("FR-08",), "SHOULD", "A content-length that is no number is refused: ERROR, or a close", LENGTH,
        (*opened(), Say(sized("five", b"hello", "receipt:r")), Expect("ERROR|CLOSE")),
    ),
    Case(
        "content-length-repeated", ("FR-25", "FR-07"), "SHOULD", "Of two content-lengths the first counts", "1.2 Repeated Header Entries",
        (*opened(), *subscribed(), Say(sized("5", b"a\0b\0c", "content-length:1")), Expect("MESSAGE", body=b"a\0b\0c")),
    ),
    Case(
        "large-body", ("FR-30",), "SHOULD", "A body of 1 MB is taken, or refused by ERROR", SIZES,
        (*opened(), Say(sized("1000000", b"x" * 1_000_000, "receipt:r")), Expect("RECEIPT|ERROR", patience=3)),
    ),
    Case(
        "large-header", ("FR-30",), "SHOULD", "A header of 100 kB is taken, or refused by ERROR", SIZES,
        (*opened(), Say(frame("SEND", "destination:{queue}", "note:" + "x" * 100_000, "receipt:r", body=b"x")), Expect("RECEIPT|ERROR")),
    ),
    Case(
        "many-headers", ("FR-30",), "SHOULD", "Two thousand headers are taken, or refused by ERROR", SIZES,
        (
            *opened(), Say(frame("SEND", "destination:{queue}", "receipt:r", *(f"n{one}:{one}" for one in range(2_000)), body=b"x")),
            Expect("RECEIPT|ERROR"),
        ),
    ),
)  # fmt: skip
