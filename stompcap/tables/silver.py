"""Silver: what it meant."""

import pyarrow as pa

from stompcap.tables import words
from stompcap.tables.bronze import BATCH_ID, DIRECTION, ENDPOINTS, LINEAGE, ORIGIN, STREAM_ID
from stompcap.tables.schema import HEADER_MAP, HEADERS, Column, Table, big, flag, moment, real, text

VERSION = text("version", "The session's protocol version; null if unknown", *words.VERSIONS)
VERSION_SOURCE = text("version_source", "How the version is known", *words.VERSION_SOURCES, nullable=False)
POSSIBLE_VERSIONS = text("possible_versions", "Versions that fit what was captured; several where the evidence is weak",
                         *words.POSSIBLE_VERSIONS)  # fmt: skip

DESTINATION_NAME = text("destination_name", "One name of the destination, however it is spelled: queue/x or topic/x, else as sent")
BODY_HASH = big("body_hash", "Hash of the body, as in frames")
CONTENT_HASH = big("content_hash", "Hash of body and headers, as in frames")

FRAMES = Table(
    "frames",
    "silver",
    "One row per STOMP frame",
    (
        STREAM_ID,
        DIRECTION,
        big("stream_offset", "Octets from the start of the direction's byte stream", nullable=False),
        big("first_ns", "Capture time of the packet that brought the first octet"),
        big("last_ns", "Latest arrival among its octets"),
        big("acked_ns", "When TCP of the other side acknowledged them first, as in raw_frames"),
        moment("first_ts", "first_ns in microseconds, UTC"),
        big("length_octets", "Length from the first octet of the command to the NUL, both included", nullable=False),
        text("command", "The command in upper case"),
        text("command_raw", "The command as on the wire"),
        text("destination", "Effective destination header"),
        text("id", "Effective id header"),
        text("subscription", "Effective subscription header"),
        text("message_id", "Effective message-id header"),
        text("ack", "Effective ack header"),
        text("transaction", "Effective transaction header"),
        text("receipt", "Effective receipt header"),
        text("receipt_id", "Effective receipt-id header"),
        text("content_type", "Effective content-type header"),
        big("content_length", "content-length as declared; null where absent or not a number of 63 bits"),
        big("body_octets", "Octets of the body", nullable=False),
        text("body_preview", "The body's first octets as text; null for an empty body"),
        big("body_hash", "Hash of the whole body, by the lake's key: equal for equal bodies of this lake; null where a secret was masked "
            "in it"),
        big("content_hash", "Of SEND and MESSAGE, hash of the body and of the headers that brokers pass on as they are: equal for a SEND "
            "and its MESSAGEs; null where body_hash is"),
        VERSION,
        VERSION_SOURCE,
        POSSIBLE_VERSIONS,
        text("eol", "Line ends of command and headers", *words.EOLS),
        text("delimited_by", "What ended the frame (rule FR-07)", *words.DELIMITERS, nullable=False),
        big("syntax", "Bit set of the decoder's observations (stompcap.stomp.syntax)", nullable=False),
        Column("decode_errors", pa.list_(pa.string()), "Rules that decoding the frame broke"),
        *LINEAGE,
        BATCH_ID,
        Column("headers", HEADERS, "Header lines as on the wire, unescaped: order, repeats and padding kept"),
        Column("header", HEADER_MAP, "Effective values: the first entry of a name wins"),
    ),
    key=("stream_id", "direction", "stream_offset"),
    statistics=("stream_id", "batch_id", "direction", "stream_offset", "first_ns", "last_ns", "first_ts", "command",
                "destination", "message_id", "version"),
    ascending=(("body_octets", "length_octets"),),
)

SESSIONS = Table(
    "sessions",
    "silver",
    "One row per stream that speaks STOMP",
    (
        STREAM_ID,
        *ENDPOINTS,
        *ORIGIN,
        text("transport", "What carries STOMP", *words.TRANSPORTS, nullable=False),
        big("opened_ns", "Time of the stream's first captured packet"),
        big("closed_ns", "Time of the FIN or RST that ended it; null while open"),
        big("last_ns", "Time of the stream's last captured packet"),
        moment("opened_ts", "opened_ns in microseconds, UTC"),
        moment("closed_ts", "closed_ns in microseconds, UTC"),
        moment("last_ts", "last_ns in microseconds, UTC"),
        text("connect_command", "CONNECT or STOMP; null if not captured", "CONNECT", "STOMP"),
        text("accept_version", "The client's accept-version header"),
        VERSION,
        VERSION_SOURCE,
        POSSIBLE_VERSIONS,
        text("host", "The client's host header"),
        text("login", "The client's login header"),
        text("session", "The server's session header"),
        text("server", "The server's server header"),
        text("server_product", "Best guess of the broker; null if none"),
        text("server_version", "The broker's version, as it states it; null if it does not"),
        text("client_product", "Best guess of the client library, by the order and choice of its headers; null where they fit none "
             "or several, as with stompest in 1.0. Where its user-agent names one, that"),
        text("client_id", "The client's client-id header: who it is to the broker beyond one connection, as for durable subscriptions"),
        text("user_agent", "CONNECT's user-agent header; that of a WebSocket's upgrade is in transports"),
        big("client_can_send_ms", "First number of the client's heart-beat header"),
        big("client_wants_ms", "Second number of the client's heart-beat header"),
        big("server_can_send_ms", "First number of the server's heart-beat header"),
        big("server_wants_ms", "Second number of the server's heart-beat header"),
        big("heartbeat_c2s_ms", "Negotiated interval client to server; 0 = none, null if unknown"),
        big("heartbeat_s2c_ms", "Negotiated interval server to client; 0 = none, null if unknown"),
        big("connect_latency_us", "First octet of CONNECT to last octet of CONNECTED; null where the clocks of the directions differ or "
            "stepped"),
        text("outcome", "What became of CONNECT", *words.OUTCOMES, nullable=False),
        text("error_message", "The first ERROR's message header"),
        text("error_detail", "The beginning of its body, as frames.body_preview"),
        text("end_kind", "How the session ended", *words.END_KINDS, nullable=False),
        text("ended_by", "The side that ended it: the client if by DISCONNECT, else as streams.asked_by, or where that is null as "
             "streams.closed_by; null while open", *words.CLOSERS),
        text("close_cause", "Why the connection ended, as far as it shows by itself: error, an ERROR and a close; heartbeat_client, "
             "heartbeat_server, that side missed beats and the other closed; idle_cut, closed after 30, 50, 60, 90, 350 or 600 s of "
             "silence without beats; size_limit, slow_consumer, an ERROR says so; vanished, retransmissions without an answer to the end; "
             "reset, a RST without any of these; capture_end, not closed in the capture; unknown, also where missing bytes may hide "
             "another cause. tls_alert, websocket_close and broker_stop are in view session_ends only", *words.CLOSE_CAUSES),
        text("close_evidence", "What shows close_cause: stream offsets, seconds, what was seen"),
        big("frames_c2s", "Frames the client sent", nullable=False),
        big("frames_s2c", "Frames the server sent", nullable=False),
        flag("complete_start", "The handshake of the connection was captured", nullable=False),
        flag("complete_end", "The end of the connection was captured", nullable=False),
        big("gap_octets", "Octets missing from the capture, both directions", nullable=False),
        flag("cleartext_credentials", "A secret, such as a passcode, crossed the network unencrypted", nullable=False),
        big("given_up", "Subscriptions, deliveries, transactions and receipts given up as unknown, because too many were open at once"),
        big("unmeasured", "Durations that are null as there are no times, the clocks of the directions differ, or one stepped between: "
            "latencies of CONNECT, ACK, COMMIT and receipts, and durations of transactions"),
    ),
    key=("stream_id",),
    statistics=("stream_id", "client_ip", "server_ip", "server_port", "opened_ns", "closed_ns", "opened_ts", "last_ts",
                "version", "server_product", "outcome"),
    ascending=(("opened_ns", "closed_ns"), ("opened_ts", "closed_ts"), ("opened_ns", "last_ns")),
)

SUBSCRIPTIONS = Table(
    "subscriptions",
    "silver",
    "One row per SUBSCRIBE",
    (
        STREAM_ID,
        big("subscribe_offset", "Stream offset of the SUBSCRIBE, c2s", nullable=False),
        text("subscription", "Its id, or the destination where a 1.0 SUBSCRIBE has none"),
        text("destination", "Its destination"),
        DESTINATION_NAME,
        text("ack_mode", "auto, client or client-individual; another value as sent"),
        big("prefetch", "prefetch-count, activemq.prefetchSize or consumer-window-size, as sent: -1 has a meaning", least=None),
        big("subscribed_ns", "First octet of the SUBSCRIBE"),
        big("unsubscribed_ns", "First octet of the UNSUBSCRIBE"),
        moment("subscribed_ts", "subscribed_ns in microseconds, UTC"),
        big("delivered", "MESSAGEs delivered to it", nullable=False),
        big("acked", "Deliveries settled by ACK", nullable=False),
        big("nacked", "Deliveries settled by NACK", nullable=False),
        big("unsettled", "Deliveries that ask for an ACK and are not settled: of status unsettled, open or voided", nullable=False),
        big("max_in_flight", "Most deliveries unsettled at once", nullable=False),
        real("mean_in_flight", "Deliveries unsettled, on an average of its time: from subscribed_ns to unsubscribed_ns, else to the end of "
             "the session or its capture. Null where the times of MESSAGEs and ACKs cannot be compared, and in other modes than client "
             "and client-individual; and so the next three"),
        big("idle_us", "How long no delivery was unsettled"),
        big("full_us", "How long as many or more were unsettled as the broker allows: prefetch-count or activemq.prefetchSize of the "
            "SUBSCRIBE. Null where neither is above 0: a default of the broker does not show"),
        big("limited_since_ns", "Since when it was at that limit without a break, up to its end or the capture's; null if it was not"),
        text("status", "What became of it", *words.SUBSCRIPTION_STATUSES, nullable=False),
    ),
    key=("stream_id", "subscribe_offset"),
    statistics=("stream_id", "destination", "subscribed_ns", "subscribed_ts"),
    ascending=(("acked", "delivered"), ("nacked", "delivered"), ("unsettled", "max_in_flight", "delivered")),
)

DELIVERIES = Table(
    "deliveries",
    "silver",
    "One row per MESSAGE",
    (
        STREAM_ID,
        big("stream_offset", "Stream offset of the MESSAGE, s2c", nullable=False),
        big("first_ns", "First octet of the MESSAGE"),
        big("delivered_ns", "Last octet of the MESSAGE"),
        moment("delivered_ts", "delivered_ns in microseconds, UTC"),
        text("message_id", "Its message-id"),
        text("producer_session", "The producer's session, where the message-id begins with it, as ActiveMQ's does: sessions.session"),
        big("producer_number", "Which SEND of that session it is, as the message-id says: sends.number", least=1),
        text("ack_id", "Its ack header"),
        text("subscription", "The subscription it was delivered to; where a SUBSCRIBE may be missing, the one that it names, if any"),
        text("destination", "Its destination"),
        DESTINATION_NAME,
        text("moved_from", "The destination that the broker moved it from, as in destination_name, as headers of ActiveMQ, Artemis and "
             "RabbitMQ say: a dead letter, one that expired, one that waited for another try, a copy of Artemis' divert; null if none"),
        text("ack_mode", "Ack mode of the subscription; null if unknown"),
        flag("redelivered", "The broker marked it as delivered before"),
        big("body_octets", "Octets of the body", nullable=False),
        BODY_HASH,
        CONTENT_HASH,
        big("broker_timestamp_us", "Its timestamp header, which the broker sets where the sender does not: milliseconds of ActiveMQ and "
            "Artemis, seconds of RabbitMQ; null where there is none"),
        text("status", "What became of it", *words.DELIVERY_STATUSES, nullable=False),
        text("settlement", "How the client settled it; null if it did not, or if unknown", *words.SETTLEMENTS),
        text("settled_by", "direct: the ACK or NACK names it; cumulative: a later one settles it", *words.SETTLED_BY),
        big("settled_ns", "First octet of the settling frame"),
        big("settle_offset", "Stream offset of the settling frame, c2s"),
        text("transaction", "Transaction of the settling frame"),
        text("transaction_outcome", "What became of that transaction", *words.TRANSACTION_OUTCOMES),
        big("ack_latency_us", "settled_ns - delivered_ns; null where the status is unknown, or the clocks of the directions differ or "
            "stepped"),
        big("service_us", "settled_ns less the later of delivered_ns and the settlement before: how long the client took, without the time "
            "that the MESSAGE waited in it for its turn. The settlement before is the latest earlier ACK or NACK that settled a delivery "
            "of the same subscription, directly or along, in a transaction or not; all that one cumulative ACK settles have the same one "
            "before, and share the time since. Null where ack_latency_us is or the subscription is unknown"),
        big("network_us", "Of ack_latency_us the part up to the first TCP acknowledgement of the MESSAGE: the way to the client's kernel "
            "and back, as seen from the capture point, retransmissions and delayed acknowledgements included. Null where ack_latency_us "
            "is, where no acknowledgement was captured, and where it came with the ACK itself, so that only the sum is known"),
        big("consumer_us", "The rest: from there to the first octet of the ACK. Null where network_us is"),
        big("commit_latency_us", "First octet of the COMMIT - delivered_ns; null as ack_latency_us where clocks differ or stepped"),
        flag("octets_missing", "Octets of either side are missing between the MESSAGE and what settled it (or ended its transaction), or "
             "an ACK came between that may have settled it. Its latency is an upper bound then. Null where settled_ns is"),
    ),
    key=("stream_id", "stream_offset"),
    statistics=("stream_id", "stream_offset", "delivered_ns", "delivered_ts", "destination", "message_id", "ack_latency_us"),
    ascending=(("service_us", "ack_latency_us"), ("network_us", "ack_latency_us"), ("consumer_us", "ack_latency_us")),
)

TRANSACTIONS = Table(
    "transactions",
    "silver",
    "One row per BEGIN",
    (
        STREAM_ID,
        big("begin_offset", "Stream offset of the BEGIN, c2s", nullable=False),
        text("transaction", "Its name"),
        big("begun_ns", "First octet of the BEGIN"),
        big("ended_ns", "First octet of COMMIT or ABORT, or the close"),
        moment("begun_ts", "begun_ns in microseconds, UTC"),
        text("outcome", "How the client ended it", *words.TRANSACTION_OUTCOMES, nullable=False),
        big("sends", "SENDs in it", nullable=False),
        big("acks", "ACKs in it", nullable=False),
        big("nacks", "NACKs in it", nullable=False),
        big("body_octets", "Octets of the bodies sent in it", nullable=False),
        big("duration_us", "ended_ns - begun_ns; null where the clock stepped between"),
    ),
    key=("stream_id", "begin_offset"),
    statistics=("stream_id", "begun_ns", "begun_ts"),
)

RECEIPTS = Table(
    "receipts",
    "silver",
    "One row per receipt that a client's frame requested",
    (
        STREAM_ID,
        big("request_offset", "Stream offset of the requesting frame, c2s", nullable=False),
        text("command", "Its command"),
        text("receipt", "The receipt id it requested", nullable=False),
        big("requested_ns", "First octet of the requesting frame"),
        big("answered_ns", "Last octet of the answer"),
        moment("requested_ts", "requested_ns in microseconds, UTC"),
        text("answer", "The answering command", *words.RECEIPT_ANSWERS),
        big("latency_us", "answered_ns - requested_ns; null where the clocks of the directions differ or stepped"),
        text("status", "What became of it", *words.RECEIPT_STATUSES, nullable=False),
    ),
    key=("stream_id", "request_offset"),
    statistics=("stream_id", "requested_ns", "requested_ts", "latency_us"),
)

SENDS = Table(
    "sends",
    "silver",
    "One row per SEND",
    (
        STREAM_ID,
        big("stream_offset", "Stream offset of the SEND, c2s", nullable=False),
        big("first_ns", "First octet of the SEND"),
        big("sent_ns", "Last octet of the SEND"),
        moment("sent_ts", "sent_ns in microseconds, UTC"),
        text("destination", "Its destination"),
        DESTINATION_NAME,
        big("number", "Which SEND of its session it is, from 1, counted as ActiveMQ does: those with a destination, aborted ones among "
            "them. Null where bytes of the client are missing before it, and from a SEND on that the broker may not have counted", least=1),
        text("transaction", "The transaction that it names; null if none"),
        text("transaction_outcome", "What became of that transaction", *words.TRANSACTION_OUTCOMES),
        big("effective_ns", "From when on the broker may deliver it: sent_ns, in a transaction the last octet of the COMMIT; null where "
            "the transaction was not committed, as far as known"),
        text("receipt", "The receipt id that it requests; null if none"),
        text("receipt_status", "What became of that request; null without one", *words.RECEIPT_STATUSES),
        big("receipt_us", "Last octet of the answer - first_ns; null where the clocks of the directions differ or stepped"),
        big("length_octets", "Length from the first octet of the command to the NUL, both included", nullable=False),
        big("body_octets", "Octets of the body", nullable=False),
        BODY_HASH,
        CONTENT_HASH,
        flag("own_id", "It has a header that hardly a second SEND has alike: a correlation-id, or an id or a time that its sender gave it",
             nullable=False),
    ),
    key=("stream_id", "stream_offset"),
    statistics=("stream_id", "stream_offset", "sent_ns", "sent_ts", "destination", "destination_name", "receipt_us"),
    ascending=(("body_octets", "length_octets"),),
)

TABLES = (FRAMES, SESSIONS, SUBSCRIPTIONS, DELIVERIES, TRANSACTIONS, RECEIPTS, SENDS)
