"""The words of every enumeration in the lake, each list in one place."""

DIRECTIONS = ("c2s", "s2c")
SIDES = ("client", "server")

CAPTURE_FORMATS = ("pcap", "pcapng")
UNREADABLE = "unreadable"
"""The status of a capture that could not be read: its row is all the lake has of it."""

CAPTURE_STATUSES = ("complete", "truncated", "damaged", UNREADABLE)

ROLES = (
    "unknown", "client", "server", "tls", "http", "websocket", "other", "eols", "amqp", "mqtt", "openwire", "core", "tls_client",
    "tls_server", "http_server", "websocket_server",
)
"""What the first octets of a direction show its sender to be, by the codes of stompcap.stomp.prefixes."""

TRANSPORTS = ("tcp", "tls", "websocket", "wss", "sockjs")
TRANSPORT_LAYERS = ("proxy", "tls", "http", "websocket", "sockjs")
LAYER_STATUSES = ("read", "partly", "not_decrypted", "refused", "unreadable")
TRANSPORT_EVENTS = ("handshake", "ping", "pong", "close", "alert", "key_update", "sockjs_heartbeat", "unreadable")
ORIGIN_SOURCES = ("proxy", "proxy_local", "x_forwarded_for", "forwarded")
PROTOCOLS = ("stomp", "tls", "http", "amqp", "mqtt", "openwire", "core", "other")
CLOSE_KINDS = ("fin", "rst", "open")
STALLS = ("zero_window", "retransmission", "clock_step", "control_frame")
CLOSERS = ("client", "server", "both")

RAW_KINDS = ("frame", "eol", "gap", "junk", "partial")
DELIMITERS = ("nul", "content_length", "content_length_ignored", "content_length_extended", "content_length_shortened")

VERSIONS = ("1.0", "1.1", "1.2")
POSSIBLE_VERSIONS = ("1.0", "1.1", "1.0,1.1", "1.2", "1.0,1.2", "1.1,1.2", "1.0,1.1,1.2")  # by bits 1 << version, less one
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
JOINED_BY = ("identity", "unique", "ordered", "timestamp", "ambiguous", "none")
NOT_JOINED = ("aborted", "refused", "no_consumer", "no_send", "octets_lost", "not_yet", "unknown")
BOUNDED_BY = ("consumer", "prefetch", "broker", "network", "idle", "unknown")
CLOSE_CAUSES = (
    "disconnect", "error", "refused", "heartbeat_client", "heartbeat_server", "idle_cut", "size_limit", "slow_consumer", "tls_alert",
    "websocket_close", "broker_stop", "vanished", "reset", "capture_end", "unknown",
)
RECEIPT_ANSWERS = ("RECEIPT", "ERROR")
RECEIPT_STATUSES = ("answered", "refused", "unanswered", "open")

HEARTBEAT_VERDICTS = ("ok", "late", "violation", "dead", "not_evaluable")
HEARTBEAT_SEVERITIES = ("late", "violation", "dead")
GAP_ENDERS = ("data", "heartbeat", "close", "capture_end")
EXCUSES = ("capture_gap", "zero_window", "retransmission", "control_frame")

LEVELS = ("M", "S", "I")
RUN_STATUSES = ("running", "done", "failed")
SEVERITIES = ("error", "warning")

# reasons for not using a packet, the keys of captures.skipped
SKIPPED = {
    "not_ip": "Does not carry IP: ARP, spanning tree, a management frame of IEEE 802.11, ...",
    "not_tcp": "Carries IP, but no TCP that can be read: UDP, ICMP, an encrypted tunnel, an unsupported tunnel, ...",
    "ip_fragment": "A fragment of an IP packet: the one that completes the packet is used for it; the others are counted here, "
    "and all of a packet that was never complete",
    "malformed": "Headers that are cut off or contradictory",
    "link_type": "Of a link type that does not carry IP, or an unknown one",
    "ip_fragment_overlap": "A fragment that overlaps other fragments; an IPv6 packet of such fragments is discarded "
    "(RFC 8200, 4.5)",
}
