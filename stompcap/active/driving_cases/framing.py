"""Framing: pieces, ends of lines, escapes, octets that are no frame."""

from __future__ import annotations

from stompcap.active.steps import Case, Expect, Never, Say, connect, frame, opened, subscribed

FRAMES, ENCODING, BNF = "1.2 STOMP Frames", "1.2 Value Encoding", "1.2 Augmented BNF"
SEND = frame("SEND", "destination:{queue}", "receipt:r", body=b"hello")
GOT = Expect("RECEIPT", {"receipt-id": "r"})


def noted(name: str, value: str, body: bytes = b"hello") -> bytes:
    """A SEND with a header of the user's, as on the wire."""
    return frame("SEND", "destination:{queue}", f"{name}:{value}", "content-type:text/plain", body=body)


CASES = (
    Case(
        "byte-by-byte", ("FR-01", "RC-03"), "MUST", "A frame that comes one byte a segment is a frame like any other", FRAMES,
        (Say(connect("1.2"), pieces=1), Expect("CONNECTED"), Say(SEND, pieces=1, gap_s=0.001), GOT),
    ),
    Case(
        "frames-in-one-segment", ("RC-03", "FR-01"), "MUST", "Twenty frames in one segment are twenty frames", FRAMES,
        (
            *opened(), Say(b"".join(SEND.replace(b"receipt:r", b"receipt:r%d" % number) for number in range(20))),
            *(Expect("RECEIPT", {"receipt-id": f"r{number}"}) for number in range(20)),
        ),
    ),
    Case(
        "frame-behind-half-a-frame", ("FR-01",), "MUST", "Where a segment ends means nothing", FRAMES,
        (
            *opened(), Say(SEND.replace(b"receipt:r", b"receipt:a") + SEND[:25]), Expect("RECEIPT", {"receipt-id": "a"}),
            Say(SEND[25:]), GOT,
        ),
    ),
    Case(
        "eols-between-frames", ("FR-11",), "MUST", "EOLs between frames are passed over", BNF,
        (*opened(), Say(b"\n" * 50 + SEND.replace(b"receipt:r", b"receipt:a") + b"\n\n\n" + SEND + b"\n"), GOT),
    ),
    Case(
        "crlf-lines", ("FR-03", "RC-02"), "MUST", "In 1.2 lines may end in CRLF, and the CR is no part of a value", BNF,
        (
            Say(connect("1.2", eol="\r\n")), Expect("CONNECTED"),
            Say(frame("SEND", "destination:{queue}", "receipt:r", eol="\r\n", body=b"hello") + b"\r\n"), GOT,
        ),
    ),
    Case(
        "escapes", ("SN-03", "FR-20", "FR-23"), "MUST", r"\r, \n, \c and \\ stand for CR, LF, colon and backslash", ENCODING,
        (
            *opened(), *subscribed(), Say(noted("note", r"a\cb\\c\nd\\n")),
            Expect("MESSAGE", has={"note": "a:b\\c\nd\\n"}),
        ),
    ),
    Case(
        "escaped-cr", ("SN-03", "FR-21"), "MUST", r"\r stands for CR in 1.2", ENCODING,
        (*opened(), *subscribed(), Say(noted("note", r"a\rb")), Expect("MESSAGE", has={"note": "a\rb"})),
    ),
    Case(
        "escaped-name", ("SN-03", "FR-20"), "MUST", "Names of headers are escaped as values are", ENCODING,
        (*opened(), *subscribed(), Say(noted(r"a\cb", "1")), Expect("MESSAGE", has={"a:b": "1"})),
    ),
    Case(
        "undefined-escape", ("FR-19b", "FR-19"), "MUST", r"An undefined escape such as \t is fatal: ERROR, or the connection is closed",
        ENCODING, (*opened(), Say(noted("note", r"a\tb").replace(b"\n\n", b"\nreceipt:r\n\n")), Expect("ERROR|CLOSE")),
    ),
    Case(
        "cr-escape-in-1.1", ("FR-19b", "FR-19"), "MUST", r"\r is no escape of 1.1: ERROR, or the end", "1.1 STOMP Frames",
        (*opened("1.1"), Say(noted("note", r"a\rb").replace(b"\n\n", b"\nreceipt:r\n\n")), Expect("ERROR|CLOSE")), "1.1",
    ),
    Case(
        "utf-8-headers", ("SN-03", "FR-18"), "MUST", "Headers are UTF-8", "1.2 STOMP Frames",
        (*opened(), *subscribed(), Say(noted("note", "número €")), Expect("MESSAGE", has={"note": "número €"})),
    ),
    Case(
        "spaces-are-kept", ("SN-03", "FR-24"), "MUST", "Spaces around a value belong to it", "1.2 Header",
        (*opened(), *subscribed(), Say(noted("note", "  a b ")), Expect("MESSAGE", has={"note": "  a b "})),
    ),
    Case(
        "empty-value", ("SN-03",), "MUST", "A header may have an empty value", BNF,
        (*opened(), *subscribed(), Say(noted("note", "")), Expect("MESSAGE", has={"note": ""})),
    ),
    Case(
        "repeated-header", ("FR-25",), "SHOULD", "Of repeated headers the first counts", "1.2 Repeated Header Entries",
        (
            *opened(), *subscribed(), Say(frame("SEND", "destination:{queue}", "destination:{queue}.not", "note:1", "note:2", body=b"x")),
            Expect("MESSAGE", has={"note": "1"}),
        ),
    ),
    Case(
        "unknown-command", ("FR-04", "ER-02"), "SHOULD", "A frame that cannot be processed is answered by ERROR, then a close", "1.2 ERROR",
        (*opened(), Say(frame("FETCH", "destination:{queue}", "receipt:r")), Expect("ERROR"), Expect("CLOSE", patience=3)),
    ),
    Case(
        "no-colon", ("FR-15",), "SHOULD", "A line without a colon is no header: ERROR, or the connection is closed", BNF,
        (*opened(), Say(frame("SEND", "destination:{queue}", "nonsense", "receipt:r", body=b"x")), Expect("ERROR|CLOSE")),
    ),
    Case(
        "nothing-behind-error", ("ER-03", "ER-02"), "MUST", "Behind ERROR comes no frame, whatever followed the bad one", "1.2 ERROR",
        (
            *opened(), Say(frame("SEND", "receipt:a", body=b"x") + SEND), Expect("ERROR", needed=True),
            Never("RECEIPT|MESSAGE|CONNECTED", seconds=0.2),
        ),
    ),
)  # fmt: skip
