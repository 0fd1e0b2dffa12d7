"""A dialogue in the manner of each document that people implement STOMP from.

1.0 as Codehaus wrote it, 1.0 as a broker's handbook tells it, 1.0 in its lenient form (any case, blanks stripped, `username`), the draft
of 1.1, and 1.2. Signs as in `tests.rules.transcript`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Header = dict[str, str]


@dataclass(frozen=True)
class Document:
    """A dialogue; its frames as (command, effective headers, body), in wire order; columns of its tables; `decode_errors` of frames."""

    text: str
    frames: list[tuple[str, Header, str | None]]
    tables: dict[str, list[dict[str, object]]] = field(default_factory=dict)
    errors: dict[int, list[str]] = field(default_factory=dict)


CODEHAUS = Document(
    """
    C: CONNECT⏎login: ann⏎passcode:pw-1⏎⏎␀
    S: CONNECTED⏎session: s-77⏎⏎␀⏎
    C: SUBSCRIBE⏎destination: /queue/in⏎ack: client⏎selector: price > 5⏎id: one⏎⏎␀
    C: SUBSCRIBE⏎destination:/topic/news⏎⏎␀
    C: BEGIN⏎transaction: t1⏎⏎␀
    C: SEND⏎destination:/queue/out⏎transaction: t1⏎content-length: 5⏎receipt:r-1⏎⏎ab␀cd␀
    S: RECEIPT⏎receipt-id:r-1⏎⏎␀
    S: MESSAGE⏎destination:/queue/in⏎message-id: m:1⏎subscription: one⏎⏎first␀
    S: MESSAGE⏎destination:/topic/news⏎message-id: m:2⏎⏎second␀
    C: ACK⏎message-id: m:1⏎transaction: t1⏎⏎␀
    C: COMMIT⏎transaction: t1⏎⏎␀
    C: BEGIN⏎transaction:t2⏎⏎␀
    C: SEND⏎destination:/queue/out⏎transaction:t2⏎⏎never␀
    C: ABORT⏎transaction:t2⏎⏎␀
    C: UNSUBSCRIBE⏎id: one⏎⏎␀
    C: UNSUBSCRIBE⏎destination: /topic/news⏎⏎␀
    S: ERROR⏎message: no such thing⏎⏎more about it␀
    C: DISCONNECT⏎⏎␀
    C closes
    """,
    [
        ("CONNECT", {"login": "ann", "passcode": "***"}, None),
        ("CONNECTED", {"session": "s-77"}, None),
        ("SUBSCRIBE", {"destination": "/queue/in", "ack": "client", "selector": "price > 5", "id": "one"}, None),
        ("SUBSCRIBE", {"destination": "/topic/news"}, None),
        ("BEGIN", {"transaction": "t1"}, None),
        ("SEND", {"destination": "/queue/out", "transaction": "t1", "content-length": "5", "receipt": "r-1"}, "ab\0cd"),
        ("RECEIPT", {"receipt-id": "r-1"}, None),
        ("MESSAGE", {"destination": "/queue/in", "message-id": "m:1", "subscription": "one"}, "first"),
        ("MESSAGE", {"destination": "/topic/news", "message-id": "m:2"}, "second"),
        ("ACK", {"message-id": "m:1", "transaction": "t1"}, None),
        ("COMMIT", {"transaction": "t1"}, None),
        ("BEGIN", {"transaction": "t2"}, None),
        ("SEND", {"destination": "/queue/out", "transaction": "t2"}, "never"),
        ("ABORT", {"transaction": "t2"}, None),
        ("UNSUBSCRIBE", {"id": "one"}, None),
        ("UNSUBSCRIBE", {"destination": "/topic/news"}, None),
        ("ERROR", {"message": "no such thing"}, "more about it"),
        ("DISCONNECT", {}, None),
    ],
    {
        "sessions": [{"version": "1.0", "version_source": "assumed_1_0", "login": "ann", "session": "s-77", "outcome": "connected",
                      "error_message": "no such thing", "end_kind": "disconnect"}],
        "subscriptions": [
            {"subscription": "one", "destination": "/queue/in", "ack_mode": "client", "status": "unsubscribed", "acked": 1},
            {"subscription": "/topic/news", "destination": "/topic/news", "ack_mode": "auto", "status": "unsubscribed", "delivered": 1},
        ],
        "deliveries": [
            {"message_id": "m:1", "status": "settled", "settlement": "ack", "settled_by": "direct", "transaction_outcome": "committed"},
            {"message_id": "m:2", "status": "auto", "subscription": "/topic/news"},
        ],
        "transactions": [
            {"transaction": "t1", "outcome": "committed", "sends": 1, "acks": 1},
            {"transaction": "t2", "outcome": "aborted", "sends": 1, "acks": 0},
        ],
        "receipts": [{"receipt": "r-1", "status": "answered", "command": "SEND"}],
    },
)

HANDBOOK = Document(
    """
    C: CONNECT⏎login: bob⏎passcode: pw-2⏎⏎␀
    S: CONNECTED⏎session:ID-4⏎⏎␀
    C: SUBSCRIBE⏎destination: /queue/foo.*⏎ack: client⏎id:all⏎receipt:order-1⏎⏎this body means nothing␀
    S: RECEIPT⏎receipt-id:order-1⏎⏎␀
    S: MESSAGE⏎destination:/queue/foo.a⏎message-id:<a>⏎subscription:all⏎content-length:3⏎⏎a␀b␀
    S: MESSAGE⏎destination:/queue/foo.b⏎message-id:<b>⏎subscription:all⏎⏎␀
    C: BEGIN⏎transaction: <t>⏎⏎␀
    C: ACK⏎message-id: <b>⏎transaction: <t>⏎⏎␀
    C: ABORT⏎transaction: <t>⏎⏎␀
    C: SEND⏎receipt:order-2⏎⏎nowhere to go␀
    S: ERROR⏎message: no destination⏎content-length:5⏎⏎-----␀
    C: UNSUBSCRIBE⏎id:all⏎⏎␀
    C: DISCONNECT⏎⏎␀
    """,
    [
        ("CONNECT", {"login": "bob", "passcode": "***"}, None),
        ("CONNECTED", {"session": "ID-4"}, None),
        ("SUBSCRIBE", {"destination": "/queue/foo.*", "ack": "client", "id": "all", "receipt": "order-1"}, "this body means nothing"),
        ("RECEIPT", {"receipt-id": "order-1"}, None),
        ("MESSAGE", {"destination": "/queue/foo.a", "message-id": "<a>", "subscription": "all", "content-length": "3"}, "a\0b"),
        ("MESSAGE", {"destination": "/queue/foo.b", "message-id": "<b>", "subscription": "all"}, None),
        ("BEGIN", {"transaction": "<t>"}, None),
        ("ACK", {"message-id": "<b>", "transaction": "<t>"}, None),
        ("ABORT", {"transaction": "<t>"}, None),
        ("SEND", {"receipt": "order-2"}, "nowhere to go"),
        ("ERROR", {"message": "no destination", "content-length": "5"}, "-----"),
        ("UNSUBSCRIBE", {"id": "all"}, None),
        ("DISCONNECT", {}, None),
    ],
    {
        "sessions": [{"version": "1.0", "version_source": "assumed_1_0", "login": "bob", "error_message": "no destination"}],
        "subscriptions": [{"subscription": "all", "ack_mode": "client", "delivered": 2, "acked": 0}],
        # the ACK of <b> is cumulative, and void with its transaction
        "deliveries": [{"message_id": "<a>", "status": "voided"}, {"message_id": "<b>", "status": "voided"}],
        "transactions": [{"transaction": "<t>", "outcome": "aborted"}],
        "receipts": [{"receipt": "order-1", "status": "answered"}, {"receipt": "order-2", "status": "open"}],
    },
)

LENIENT = Document(
    """
    C: ⏎␍⏎connect␍⏎Username:   carol  ⏎PassCode: pw-3⏎ ␍⏎␀
    S: Connected⏎SESSION: 9 ␍⏎  ⏎␀
    C: subscribe⏎Destination: /queue/a␍⏎Ack: client ⏎Receipt: sub⏎⏎␀
    C: Send⏎destination: /queue/a ⏎CONTENT-LENGTH: 13⏎receipt: put⏎⏎hello,␀world!␀
    S: receipt⏎Receipt-Id: put⏎⏎␀
    S: RECEIPT⏎receipt-id: sub⏎⏎␀
    S: message⏎Destination: /queue/a⏎Message-ID: 1234⏎Content-Length:13⏎My-Own: Kept⏎⏎hello,␀world!␀
    C: ack⏎MESSAGE-ID: 1234⏎⏎␀
    C: Disconnect⏎⏎␀
    """,
    [
        ("CONNECT", {"username": "carol", "passcode": "***"}, None),
        ("CONNECTED", {"session": "9"}, None),
        ("SUBSCRIBE", {"destination": "/queue/a", "ack": "client", "receipt": "sub"}, None),
        ("SEND", {"destination": "/queue/a", "content-length": "13", "receipt": "put"}, "hello,\0world!"),
        ("RECEIPT", {"receipt-id": "put"}, None),
        ("RECEIPT", {"receipt-id": "sub"}, None),
        ("MESSAGE", {"destination": "/queue/a", "message-id": "1234", "content-length": "13", "My-Own": "Kept"}, "hello,\0world!"),
        ("ACK", {"message-id": "1234"}, None),
        ("DISCONNECT", {}, None),
    ],
    {
        "sessions": [{"version": "1.0", "version_source": "assumed_1_0", "login": "carol", "session": "9", "outcome": "connected",
                      "cleartext_credentials": True, "connect_command": "CONNECT"}],
        "subscriptions": [{"destination": "/queue/a", "ack_mode": "client", "acked": 1}],
        "deliveries": [{"message_id": "1234", "status": "settled", "body_octets": 13}],
        "receipts": [{"receipt": "sub", "status": "answered"}, {"receipt": "put", "status": "answered"}],
    },
    # what 1.0 says nothing of (case) breaks no rule; a CR at a line's end does
    {2: ["FR-02"]} | {n: [] for n in (0, 1, 3, 4, 5, 6, 7, 8)},
)

DRAFT = Document(
    """
    C: CONNECT⏎accept-version:1.0,1.1,2.0⏎host:broker.test⏎heart-beat:1000,0⏎⏎␀⏎⏎
    S: CONNECTED⏎version:1.1⏎heart-beat:0,500⏎⏎␀
    C: SUBSCRIBE⏎id:0⏎destination:/queue/\\cfoo⏎ack:client⏎⏎␀
    C: SUBSCRIBE⏎id:1⏎destination:/queue/bar⏎ack:client-individual⏎⏎␀
    C: SEND⏎destination:/queue/\\cfoo⏎own: padded ⏎raw:a:b⏎content-type:text/plain⏎⏎hello⏎␀
    S: MESSAGE⏎subscription:0⏎message-id:007⏎destination:/queue/\\cfoo⏎own:first⏎own:second⏎two:a\\nb\\\\⏎⏎one␀
    S: MESSAGE⏎subscription:0⏎message-id:008⏎destination:/queue/\\cfoo⏎⏎two␀
    S: MESSAGE⏎subscription:1⏎message-id:008⏎destination:/queue/bar⏎⏎two too␀⏎
    S: MESSAGE⏎subscription:1⏎message-id:009⏎destination:/queue/bar⏎⏎three␀⏎
    C: BEGIN⏎transaction:tx1⏎⏎␀
    C: ACK⏎subscription:0⏎message-id:008⏎transaction:tx1⏎⏎␀
    C: COMMIT⏎transaction:tx1⏎⏎␀
    C: NACK⏎subscription:1⏎message-id:009⏎⏎␀
    C: UNSUBSCRIBE⏎id:0⏎⏎␀
    C: DISCONNECT⏎receipt:77⏎⏎␀
    S: RECEIPT⏎receipt-id:77⏎⏎␀
    C closes
    """,
    [
        ("CONNECT", {"accept-version": "1.0,1.1,2.0", "host": "broker.test", "heart-beat": "1000,0"}, None),
        ("CONNECTED", {"version": "1.1", "heart-beat": "0,500"}, None),
        ("SUBSCRIBE", {"id": "0", "destination": "/queue/:foo", "ack": "client"}, None),
        ("SUBSCRIBE", {"id": "1", "destination": "/queue/bar", "ack": "client-individual"}, None),
        ("SEND", {"destination": "/queue/:foo", "own": " padded ", "raw": "a:b", "content-type": "text/plain"}, "hello\n"),
        ("MESSAGE", {"subscription": "0", "message-id": "007", "destination": "/queue/:foo", "own": "first", "two": "a\nb\\"}, "one"),
        ("MESSAGE", {"subscription": "0", "message-id": "008", "destination": "/queue/:foo"}, "two"),
        ("MESSAGE", {"subscription": "1", "message-id": "008", "destination": "/queue/bar"}, "two too"),
        ("MESSAGE", {"subscription": "1", "message-id": "009", "destination": "/queue/bar"}, "three"),
        ("BEGIN", {"transaction": "tx1"}, None),
        ("ACK", {"subscription": "0", "message-id": "008", "transaction": "tx1"}, None),
        ("COMMIT", {"transaction": "tx1"}, None),
        ("NACK", {"subscription": "1", "message-id": "009"}, None),
        ("UNSUBSCRIBE", {"id": "0"}, None),
        ("DISCONNECT", {"receipt": "77"}, None),
        ("RECEIPT", {"receipt-id": "77"}, None),
    ],
    {
        "sessions": [{"version": "1.1", "version_source": "connected", "host": "broker.test", "heartbeat_c2s_ms": 1000,
                      "heartbeat_s2c_ms": 0, "login": None}],
        "deliveries": [
            {"message_id": "007", "status": "settled", "settled_by": "cumulative", "transaction_outcome": "committed"},
            {"message_id": "008", "status": "settled", "settled_by": "direct", "subscription": "0"},
            {"message_id": "008", "status": "unsettled", "subscription": "1"},
            {"message_id": "009", "status": "settled", "settlement": "nack", "settled_by": "direct"},
        ],
        "receipts": [{"receipt": "77", "status": "answered"}],
    },
    {n: [] for n in range(16)},
)

DRAFT_REFUSED = Document(
    """
    C: CONNECT⏎accept-version:1.0⏎host:broker.test⏎⏎␀
    S: ERROR⏎version:1.2,2.1⏎content-type:text/plain⏎⏎Supported are 1.2 2.1␀
    S closes
    """,
    [
        ("CONNECT", {"accept-version": "1.0", "host": "broker.test"}, None),
        ("ERROR", {"version": "1.2,2.1", "content-type": "text/plain"}, "Supported are 1.2 2.1"),
    ],
    {"sessions": [{"version": None, "version_source": "unknown", "outcome": "refused"}]},
)

LATEST = Document(
    """
    C: STOMP␍⏎accept-version:1.0,1.1,1.2␍⏎host:/␍⏎login:dora␍⏎passcode:pw-4␍⏎heart-beat:0,400␍⏎␍⏎␀␍⏎
    S: CONNECTED␍⏎version:1.2␍⏎session:a\\cb␍⏎server:Some/1.0 (a comment)␍⏎heart-beat:300,0␍⏎␍⏎␀␍⏎
    C: SUBSCRIBE␍⏎id:0␍⏎destination:/queue/a␍⏎ack:client␍⏎content-length:0␍⏎␍⏎␀
    C: SEND␍⏎destination:/queue/a␍⏎k\\ck:a\\rb\\nc\\\\␍⏎content-length:4␍⏎content-type:text/plain␍⏎␍⏎a␀b⏎␀
    S: MESSAGE⏎subscription:0⏎message-id:007⏎destination:/queue/a⏎ack:x1⏎k\\ck:a\\rb\\nc\\\\⏎content-length:4⏎⏎a␀b⏎␀␍⏎
    S: MESSAGE⏎subscription:0⏎message-id:008⏎destination:/queue/a⏎ack:x2⏎⏎second␀
    C: ACK␍⏎id:x1␍⏎␍⏎␀
    C: BEGIN␍⏎transaction:tx1␍⏎␍⏎␀
    C: NACK␍⏎id:x2␍⏎transaction:tx1␍⏎␍⏎␀
    C: COMMIT␍⏎transaction:tx1␍⏎␍⏎␀
    C: SEND␍⏎destined:/queue/a␍⏎receipt:message-9␍⏎␍⏎lost␀
    S: ERROR⏎receipt-id:message-9⏎content-type:text/plain⏎content-length:9⏎message: malformed⏎⏎The frame␀
    S closes
    """,
    [
        ("STOMP", {"accept-version": "1.0,1.1,1.2", "host": "/", "login": "dora", "passcode": "***", "heart-beat": "0,400"}, None),
        ("CONNECTED", {"version": "1.2", "session": "a\\cb", "server": "Some/1.0 (a comment)", "heart-beat": "300,0"}, None),
        ("SUBSCRIBE", {"id": "0", "destination": "/queue/a", "ack": "client", "content-length": "0"}, None),
        ("SEND", {"destination": "/queue/a", "k:k": "a\rb\nc\\", "content-length": "4", "content-type": "text/plain"}, "a\0b\n"),
        ("MESSAGE", {"subscription": "0", "message-id": "007", "destination": "/queue/a", "ack": "x1", "k:k": "a\rb\nc\\",
                     "content-length": "4"}, "a\0b\n"),
        ("MESSAGE", {"subscription": "0", "message-id": "008", "destination": "/queue/a", "ack": "x2"}, "second"),
        ("ACK", {"id": "x1"}, None),
        ("BEGIN", {"transaction": "tx1"}, None),
        ("NACK", {"id": "x2", "transaction": "tx1"}, None),
        ("COMMIT", {"transaction": "tx1"}, None),
        ("SEND", {"destined": "/queue/a", "receipt": "message-9"}, "lost"),
        ("ERROR", {"receipt-id": "message-9", "content-type": "text/plain", "content-length": "9", "message": " malformed"}, "The frame"),
    ],
    {
        "sessions": [{"version": "1.2", "version_source": "connected", "connect_command": "STOMP", "heartbeat_s2c_ms": 400,
                      "error_message": " malformed", "server": "Some/1.0 (a comment)", "login": "dora"}],
        "deliveries": [
            {"message_id": "007", "ack_id": "x1", "status": "settled", "settlement": "ack"},
            {"message_id": "008", "ack_id": "x2", "status": "settled", "settlement": "nack", "transaction_outcome": "committed"},
        ],
        "receipts": [{"receipt": "message-9", "status": "refused", "answer": "ERROR"}],
    },
    {n: [] for n in range(12)},
)

DOCUMENTS = {
    "1.0": CODEHAUS, "1.0 handbook": HANDBOOK, "1.0 lenient": LENIENT, "1.1 draft": DRAFT, "1.1 draft refused": DRAFT_REFUSED,
    "1.2": LATEST,
}
