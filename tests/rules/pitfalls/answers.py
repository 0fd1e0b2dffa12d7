"""Pitfalls of the rules on RECEIPT, ERROR, DISCONNECT and the close (RC, ER, DS)."""

SEND = "C: SEND⏎destination:/queue/a⏎receipt"
RECEIPT = "S: RECEIPT⏎receipt-id"
LEAVE = "C: DISCONNECT⏎receipt:1⏎⏎␀"
BAD, ERROR = "C: SEND⏎receipt:1⏎⏎␀", "S: ERROR⏎message:no⏎⏎␀"
RABBIT = "C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀\nS: CONNECTED⏎version:1.2⏎server:RabbitMQ/3.10.8⏎⏎␀\n"
BEGUN = f"C: BEGIN⏎transaction:t⏎⏎␀\n{SEND}:1⏎transaction:t⏎⏎␀\nwait 15s\n"

CASES = (
    ("RC-01", "a receipt of an empty name was asked for", "kept", f"in 1.2\n{SEND}:⏎⏎␀\n{RECEIPT}:⏎⏎␀"),
    ("RC-02", "the request may be lost", "unsure", f"in 1.2\nC loses 30\nC: BEGIN⏎transaction:t⏎⏎␀\n{RECEIPT}:1⏎⏎␀"),
    ("RC-02", "a capture that begins mid-stream", "unsure", f"midstream\nC: BEGIN⏎transaction:t⏎⏎␀\n{RECEIPT}:1⏎⏎␀"),
    ("RC-02", "one side escapes and the other does not", "kept", f"in 1.2\n{SEND}:a:1⏎⏎␀\n{RECEIPT}:a\\c1⏎⏎␀"),
    ("RC-03", "RabbitMQ confirms after COMMIT", "kept", f"{RABBIT}{BEGUN}C: COMMIT⏎transaction:t⏎⏎␀\n{RECEIPT}:1⏎⏎␀"),
    ("RC-03", "and never what was aborted", "unsure", f"in 1.2\n{BEGUN}C: ABORT⏎transaction:t⏎⏎␀\nwait 15s\nS: ⏎"),
    ("RC-03", "nor what it could not make safe", "unsure", f"{RABBIT}{SEND}:1⏎⏎␀\nwait 15s\nS: ⏎"),
    ("RC-04", "a client that always asks for 0", "kept", f"in 1.2\n{SEND}:0⏎⏎␀\n{SEND}:0⏎⏎␀\n{RECEIPT}:0⏎⏎␀\n{RECEIPT}:0⏎⏎␀"),
    ("RC-05", "out of order", "kept", f"in 1.2\n{SEND}:1⏎⏎␀\n{SEND}:2⏎⏎␀\n{RECEIPT}:2⏎⏎␀\n{RECEIPT}:1⏎⏎␀"),
    ("ER-02", "1.0 has no such rule", "none", f"in 1.0\n{BAD}\n{ERROR}\nwait 5s\nS: ⏎"),
    ("ER-02", "1.1 has it of failed SENDs and SUBSCRIBEs only", "none", f"in 1.1\nC: ABORT⏎transaction:t⏎⏎␀\n{ERROR}\nwait 5s\nS: ⏎"),
    ("ER-02", "the client closes first", "unsure", f"in 1.2\n{BAD}\n{ERROR}\nC closes\nwait 5s\nS closes"),
    ("ER-02", "within the second", "kept", f"in 1.2\n{BAD}\n{ERROR}\nS resets"),
    ("ER-02", "brokers that keep the connection", "M", f"in 1.2\n{BAD}\n{ERROR}\nwait 5s\nS: ⏎"),
    ("ER-03", "1.1 has no such rule", "none", f"in 1.1\n{BAD}\n{ERROR}\n{LEAVE}\n{RECEIPT}:1⏎⏎␀"),
    ("ER-03", "brokers that keep the connection", "M", f"in 1.2\n{BAD}\n{ERROR}\n{LEAVE}\n{RECEIPT}:1⏎⏎␀"),
    ("ER-04", "RabbitMQ never says it", "S", f"{RABBIT}{BAD}\n{ERROR}\nS closes"),
    ("ER-04", "ActiveMQ and Artemis do", "kept", f"in 1.2\n{BAD}\nS: ERROR⏎message:no⏎receipt-id:1⏎⏎␀\nS closes"),
    ("ER-05", "no body", "none", f"in 1.2\n{BAD}\n{ERROR}\nS closes"),
    ("ER-05", "ActiveMQ's stack traces", "S", f"in 1.2\n{BAD}\nS: ERROR⏎message:no⏎content-type:text/plain⏎⏎at java␀\nS closes"),
    ("ER-06", "it is advice", "S", f"in 1.2\nC: SEND⏎⏎␀\n{ERROR}\nS closes"),
    ("DS-01", "heart-beats may go on", "kept", f"in 1.2\n{LEAVE}⏎\nC: ⏎\n{RECEIPT}:1⏎⏎␀\nC closes"),
    ("DS-01", "a SEND that was under way is one too many", "M", f"in 1.2\n{LEAVE}\nC: SEND⏎destination:/a⏎⏎␀\n{RECEIPT}:1⏎⏎␀"),
    ("DS-01", "what follows may be lost", "unsure", f"in 1.2\n{LEAVE}\nC loses 30"),
    ("DS-02", "webstomp closes at once", "S", "in 1.2\nC: DISCONNECT⏎⏎␀\nC closes"),
    ("DS-04", "legal, though what was sent last may be lost", "I", "in 1.2\nC: SEND⏎destination:/a⏎⏎␀\nC closes\nS closes"),
    ("DS-05", "a reset may overtake the RECEIPT at the client, not at the capture point", "kept",
     f"in 1.2\n{LEAVE}\n{RECEIPT}:1⏎⏎␀\nS resets"),
    ("DS-05", "the client closes first", "unsure", f"in 1.2\n{LEAVE}\nC closes\nS closes"),
    ("DS-05", "the server had closed before it", "none", f"in 1.2\nS closes\n{LEAVE}\nC closes"),
    ("DS-06", "ActiveMQ's second RECEIPT", "I", f"in 1.2\n{LEAVE}\n{RECEIPT}:1⏎⏎␀\n{RECEIPT}:1⏎⏎␀"),
    ("DS-07", "a RST at the end", "I", f"in 1.2\n{LEAVE}\n{RECEIPT}:1⏎⏎␀\nC resets"),
    ("DS-07", "a FIN may be what was lost", "unsure", f"midstream\nS: ⏎\n{LEAVE}\nC loses 30\nC: ⏎\nC resets"),
    ("DS-07", "a capture that begins mid-stream lacks no FIN", "I", f"midstream\nS: ⏎\n{LEAVE}\nC resets"),
    ("DS-07", "both close in order", "kept", f"in 1.2\n{LEAVE}\n{RECEIPT}:1⏎⏎␀\nS closes\nC closes"),
)
