"""Framing: MESSAGE frames in pieces, together, with all that 1.2 permits."""

from __future__ import annotations

from stompcap.active.serving_cases.shared import echoed, message, ready
from stompcap.active.steps import Case, Expect, Say

FRAMES, ENCODING, BNF = "1.2 STOMP Frames", "1.2 Value Encoding", "1.2 Augmented BNF"

CASES = (
    Case(
        "byte-by-byte", ("FR-01",), "MUST", "A frame that comes one byte a segment is a frame like any other", FRAMES,
        (*ready(), Say(message("m1", "note:a", body=b"hello"), pieces=1, gap_s=0.001), echoed(b"hello", {"note": "a"})),
    ),
    Case(
        "frames-in-one-segment", ("AK-09", "FR-01"), "MUST", "Twenty frames in one segment are twenty frames", FRAMES,
        (
            *ready(), Say(b"".join(message(f"m{number}", body=b"%d" % number) for number in range(1, 21))),
            *(echoed(b"%d" % number) for number in range(1, 21)), *(Expect("ACK", {"id": f"m{number}"}) for number in range(1, 21)),
        ),
    ),
    Case(
        "eols-between-frames", ("FR-11",), "MUST", "EOLs between frames are passed over", BNF,
        (*ready(), Say(b"\n\n\n" + message("m1", body=b"a") + b"\n\n" + message("m2", body=b"b") + b"\n"), echoed(b"a"), echoed(b"b")),
    ),
    Case(
        "crlf-lines", ("FR-03",), "MUST", "In 1.2 lines may end in CRLF, and the CR is no part of a value", BNF,
        (*ready(), Say(message("m1", "note:a", body=b"hello", eol="\r\n") + b"\r\n"), echoed(b"hello", {"note": "a"})),
    ),
    Case(
        "escapes", ("FR-20", "FR-23"), "MUST", r"\r, \n, \c and \\ stand for CR, LF, colon and backslash", ENCODING,
        (*ready(), Say(message("m1", r"note:a\cb\\c\nd\\n", body=b"x")), echoed(b"x", {"note": "a:b\\c\nd\\n"})),
    ),
    Case(
        "escaped-cr", ("FR-21",), "MUST", r"\r stands for CR in 1.2", ENCODING,
        (*ready(), Say(message("m1", r"note:a\rb", body=b"x")), echoed(b"x", {"note": "a\rb"})),
    ),
    Case(
        "undefined-escape", ("FR-19b",), "MUST", r"An undefined escape such as \t is fatal: the client closes", ENCODING,
        (*ready(), Say(message("m1", r"note:a\tb", body=b"x")), Expect("CLOSE|DISCONNECT")),
    ),
    Case(
        "repeated-header", ("FR-25",), "SHOULD", "Of repeated headers the first counts", "1.2 Repeated Header Entries",
        (*ready(), Say(message("m1", "note:1", "note:2", body=b"x")), echoed(b"x", {"note": "1"})),
    ),
    Case(
        "unknown-headers", ("SN-03",), "MUST", "Headers of the sender's are no reason to refuse a frame", "1.2 SEND",
        (*ready(), Say(message("m1", "x-y_z.1:a", "KEY:", r"a\cb:c", "note:n", body=b"x")), echoed(b"x", {"note": "n"})),
    ),
    Case(
        "utf-8-headers", ("FR-18",), "MUST", "Headers are UTF-8", FRAMES,
        (*ready(), Say(message("m1", "note:número €", body=b"x")), echoed(b"x", {"note": "número €"})),
    ),
    Case(
        "utf-8-in-pieces", ("FR-18", "FR-01"), "MUST", "A character may lie in two segments", FRAMES,
        (*ready(), Say(message("m1", "note:€€€", body="€€€".encode()), pieces=1, gap_s=0.002), echoed("€€€".encode(), {"note": "€€€"})),
    ),
    Case(
        "spaces-are-kept", ("FR-24",), "MUST", "Spaces around a value belong to it", "1.2 Header",
        (*ready(), Say(message("m1", "note:  a b ", body=b"x")), echoed(b"x", {"note": "  a b "})),
    ),
)  # fmt: skip
