"""The words of the lake's tables as numbers, which kernels and columns have: a code is the index of its word in stompcap.tables.words.

The name of a code ends in its word; a code of -1 is null, the absence of a word. `stompcap.columns` has `worded` and `coded`.
"""

from __future__ import annotations

from stompcap.tables import words

CLIENT, SERVER, BOTH = range(len(words.CLOSERS))
"""Sides of a connection; CLIENT and SERVER are those of words.SIDES and words.DIRECTIONS too."""

LOW, HIGH, NOBODY = 0, 1, -1
"""Endpoints of a flow, where it is not known or does not matter which is the client: the smaller one in order of address and port."""

ROLE_UNKNOWN, ROLE_CLIENT, ROLE_SERVER, ROLE_TLS, ROLE_HTTP, ROLE_WEBSOCKET, ROLE_OTHER = range(7)
ROLE_EOLS, ROLE_AMQP, ROLE_MQTT, ROLE_OPENWIRE, ROLE_CORE = range(7, 12)
ROLE_TLS_CLIENT, ROLE_TLS_SERVER, ROLE_HTTP_SERVER, ROLE_WEBSOCKET_SERVER = range(12, len(words.ROLES))
"""What a direction's sender is by its first octets: unknown; a STOMP client or server by the first command; TLS, its sender unknown; a
client of HTTP, or one that asks for WebSocket; none of these; nothing but EOLs; the other protocols of message brokers; a TLS client or
server by its hello; a server of HTTP, or one that answers for WebSocket."""

TRANSPORT_TCP, TRANSPORT_TLS, TRANSPORT_WEBSOCKET, TRANSPORT_WSS, TRANSPORT_SOCKJS = range(len(words.TRANSPORTS))
PROTOCOL_STOMP, PROTOCOL_TLS, PROTOCOL_HTTP, PROTOCOL_AMQP, PROTOCOL_MQTT, PROTOCOL_OPENWIRE, PROTOCOL_CORE, PROTOCOL_OTHER = range(
    len(words.PROTOCOLS)
)
CLOSE_FIN, CLOSE_RST, CLOSE_OPEN = range(len(words.CLOSE_KINDS))
STALL_ZERO_WINDOW, STALL_RETRANSMISSION, STALL_CLOCK_STEP, STALL_CONTROL_FRAME = range(len(words.STALLS))

FRAME, EOL, GAP, JUNK, PARTIAL = range(len(words.RAW_KINDS))
BY_NUL, BY_CONTENT_LENGTH, BY_CONTENT_LENGTH_IGNORED, BY_CONTENT_LENGTH_EXTENDED, BY_CONTENT_LENGTH_SHORTENED = range(len(words.DELIMITERS))
V1_0, V1_1, V1_2 = range(len(words.VERSIONS))
UNKNOWN_VERSION = -1
VERSION_CONNECTED, VERSION_ASSUMED_1_0, VERSION_INFERRED, VERSION_UNKNOWN = range(len(words.VERSION_SOURCES))
LINES_LF, LINES_CRLF, LINES_MIXED = range(len(words.EOLS))

OUTCOME_CONNECTED, OUTCOME_REFUSED, OUTCOME_UNANSWERED, OUTCOME_MIDSTREAM = range(len(words.OUTCOMES))
END_DISCONNECT, END_FIN, END_RST, END_OPEN = range(len(words.END_KINDS))
SUBSCRIPTION_OPEN, SUBSCRIPTION_UNSUBSCRIBED, SUBSCRIPTION_ENDED = range(len(words.SUBSCRIPTION_STATUSES))

MODE_AUTO, MODE_CLIENT, MODE_CLIENT_INDIVIDUAL = range(len(words.ACK_MODES))
MODE_OTHER = len(words.ACK_MODES)  # a mode that no version knows
MODE_UNKNOWN = -1

DELIVERY_AUTO, DELIVERY_SETTLED, DELIVERY_VOIDED, DELIVERY_UNSETTLED, DELIVERY_OPEN, DELIVERY_UNKNOWN = range(len(words.DELIVERY_STATUSES))
TRANSACTION_COMMITTED, TRANSACTION_ABORTED, TRANSACTION_IMPLICITLY_ABORTED, TRANSACTION_OPEN, TRANSACTION_UNKNOWN = range(
    len(words.TRANSACTION_OUTCOMES)
)
RECEIPT_ANSWERED, RECEIPT_REFUSED, RECEIPT_UNANSWERED, RECEIPT_OPEN = range(len(words.RECEIPT_STATUSES))

HEARTBEAT_OK, HEARTBEAT_LATE, HEARTBEAT_VIOLATION, HEARTBEAT_DEAD, HEARTBEAT_NOT_EVALUABLE = range(len(words.HEARTBEAT_VERDICTS))
ENDED_BY_DATA, ENDED_BY_HEARTBEAT, ENDED_BY_CLOSE, ENDED_BY_CAPTURE_END = range(len(words.GAP_ENDERS))
EXCUSE_CAPTURE_GAP, EXCUSE_ZERO_WINDOW, EXCUSE_RETRANSMISSION, EXCUSE_CONTROL_FRAME = range(len(words.EXCUSES))
