"""The words of every enumeration in the lake, each list in one place."""

DIRECTIONS = ("c2s", "s2c")
SIDES = ("client", "server")

CAPTURE_FORMATS = ("pcap", "pcapng")
CAPTURE_STATUSES = ("complete", "truncated", "damaged", "unreadable")

TRANSPORTS = ("tcp", "tls", "websocket", "wss")
PROTOCOLS = ("stomp", "tls", "http", "other")
CLOSE_KINDS = ("fin", "rst", "open")
STALLS = ("zero_window", "retransmission")
CLOSERS = ("client", "server", "both")

RAW_KINDS = ("frame", "eol", "gap", "junk", "partial")
DELIMITERS = ("nul", "content_length", "content_length_ignored", "content_length_extended", "content_length_shortened")

VERSIONS = ("1.0", "1.1", "1.2")
VERSION_SOURCES = ("connected", "assumed_1_0", "inferred", "unknown")
EOLS = ("lf", "crlf", "mixed")

OUTCOMES = ("connected", "refused", "unanswered", "midstream")
END_KINDS = ("disconnect", "fin", "rst", "open")
SUBSCRIPTION_STATUSES = ("open", "unsubscribed", "ended")
ACK_MODES = ("auto", "client", "client-individual")
DELIVERY_STATUSES = ("auto", "settled", "voided", "unsettled", "open", "unknown")
SETTLEMENTS = ("ack", "nack")
SETTLED_BY = ("direct", "cumulative")
TRANSACTION_OUTCOMES = ("committed", "aborted", "implicitly_aborted", "open", "unknown")
RECEIPT_ANSWERS = ("RECEIPT", "ERROR")
RECEIPT_STATUSES = ("answered", "refused", "unanswered", "open")

HEARTBEAT_VERDICTS = ("ok", "late", "violation", "dead", "not_evaluable")
HEARTBEAT_SEVERITIES = ("late", "violation", "dead")
GAP_ENDERS = ("data", "heartbeat", "close", "capture_end")
EXCUSES = ("capture_gap", "zero_window", "retransmission")

LEVELS = ("M", "S", "I")
RUN_STATUSES = ("running", "done", "failed")
SEVERITIES = ("error", "warning")
