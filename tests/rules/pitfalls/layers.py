"""Cases of the layers between TCP and STOMP."""

CASES: tuple[tuple[str, str, str, str], ...] = (
    ("TR-01", "the request was not captured", "none", "in 1.2"),
    ("TR-02", "ActiveMQ answers what nobody asked for", "M", "in 1.2\nS breaks subprotocol stomp of none"),
    ("TR-02", "a name that is none of STOMP's", "unsure", "in 1.2\nS hides subprotocol"),
    ("TR-03", "STOMP 1.0 by its name", "kept", "in 1.0\nS keeps version v10.stomp"),
    ("TR-03", "1.0 is asked for, 1.2 is spoken", "I", "in 1.2\nS keeps version v10.stomp"),
    ("TR-03", "no CONNECTED was captured", "unsure", "C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀\nS keeps version v10.stomp"),
    ("TR-03", "a name without a version", "none", "in 1.2\nS keeps version stomp"),
    ("TR-04", "heads of frames are missing", "unsure", "in 1.2\nC hides mask"),
    ("TR-14", "RabbitMQ sends a body that is no text as text", "M", "in 1.2\nS breaks utf8"),
    ("TR-10", "a code of Spring's own", "kept", "in 1.2\nS keeps close_code 4500"),
    ("TR-11", "Artemis answers with RST", "unsure", "in 1.2\nS breaks close_answer\nS resets"),
    ("TR-11", "the other side reset the connection first", "unsure", "in 1.2\nS breaks close_answer\nC resets\nS closes"),
    ("TR-11", "it may be among lost octets", "unsure", "in 1.2\nS breaks close_answer\nS loses 9\nS closes\nC closes"),
    ("TR-11", "the capture ends", "unsure", "in 1.2\nS breaks close_answer"),
    ("TR-11", "one side ends without", "I", "in 1.2\nS breaks close_answer\nS closes\nC closes"),
    ("TR-12", "many programs close at once", "S", "in 1.2\nC breaks close_notify\nC closes\nS closes"),
    ("TR-12", "records are missing", "unsure", "in 1.2\nC hides close_notify\nC closes\nS closes"),
    ("TR-12", "a connection that was reset", "unsure", "in 1.2\nC breaks close_notify\nC resets"),
)
