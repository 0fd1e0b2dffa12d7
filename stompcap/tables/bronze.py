"""Bronze: what was on the wire."""

import pyarrow as pa

from stompcap.tables import words
from stompcap.tables.schema import COUNTS, Column, Table, big, flag, integer, moment, text

STREAM_ID = text("stream_id", "One TCP connection incarnation; joins every table", nullable=False)
DIRECTION = text("direction", "c2s: client to server, s2c: server to client", *words.DIRECTIONS, nullable=False)
RUN_ID = text("run_id", "The run that wrote the row")
BATCH_ID = text("batch_id", "Digest of the ids of the captures it was extracted with; identifies new rows", nullable=False)

CAPTURES = Table(
    "captures",
    "bronze",
    "One row per distinct capture file, by content",
    (
        text("capture_id", "SHA-256 of the file's octets, hexadecimal", nullable=False),
        text("path", "Where the file was when it was first read", nullable=False),
        text("source", "The capture point, as given to the run", nullable=False),
        text("format", "File format", *words.CAPTURE_FORMATS),
        text("compression", "Compression known by its magic; null if none"),
        big("size_octets", "Size of the file", nullable=False),
        big("used_octets", "Octets from the file's beginning to the end of its last complete packet; all of a compressed file"),
        text("used_sha256", "SHA-256 of these octets, hexadecimal: a longer file that begins with them continues this one"),
        text("continues", "capture_id of the capture that this file continues, whose packets are not read again; null if none"),
        Column("link_types", pa.list_(pa.int32()), "Link types (LINKTYPE_ numbers) of its interfaces"),
        integer("snaplen", "Largest snapshot length of its interfaces; 0 if unlimited"),
        big("packets", "Packets in the file, without those of the capture it continues; the same holds for the columns below"),
        big("tcp_segments", "Packets used: TCP segments over IP"),
        Column("skipped", COUNTS, "Packets left out, by reason; with tcp_segments they add up to packets"),
        big("first_ns", "Earliest packet time, nanoseconds since the epoch"),
        big("last_ns", "Latest packet time, nanoseconds since the epoch"),
        moment("first_ts", "first_ns in microseconds, UTC"),
        flag("has_secrets", "Whether the file has secrets of TLS connections with its packets (Decryption Secrets Blocks of pcapng)"),
        text("status", "How much of the file could be read; unreadable files are tried again", *words.CAPTURE_STATUSES, nullable=False),
        text("damage", "What is damaged, at which file offset (of a compressed file: decompressed offset), or why the file cannot be read; "
             "null if undamaged"),
        Column("other_points", COUNTS, "By capture_id of other captures of the source, how many TCP segments both have at different times: "
               "they were captured at two points, and each needs a source of its own"),
        BATCH_ID,
        RUN_ID,
    ),
    key=("capture_id",),
    statistics=("capture_id", "source", "first_ns", "last_ns"),
    ascending=(("first_ns", "last_ns"), ("used_octets", "size_octets"), ("tcp_segments", "packets")),
)


def _per_direction() -> tuple[Column, ...]:
    """The counters of each direction of a stream."""
    counters = (
        ("octets", "Length of the byte stream, gaps included (STOMP octets inside WebSocket or TLS)"),
        ("segments", "Captured TCP segments that carried octets"),
        ("retransmitted_octets", "Octets that had been captured before"),
        ("overlap_conflict_octets", "Retransmitted octets that differ from those kept"),
        ("duplicate_segments", "Copies of a packet that the capture made (mirror port, all interfaces); in no other counter"),
        ("bad_checksum_segments", "Segments with a wrong TCP checksum, used nonetheless: a network card may fill it in later"),
        ("out_of_order_segments", "Segments that arrived behind a later one"),
        ("stray_segments", "Segments left out for impossible sequence numbers: more than 1 GiB away, or behind a gap of more than 64 MiB "
         "that acknowledgements contradict"),
        ("stray_octets", "The octets that they carried, in no stream and in no other counter"),
        ("gap_octets", "Octets missing from the capture, truncated ones included"),
        ("truncated_octets", "The part of gap_octets cut by the snapshot length"),
        ("outer_octets", "Octets of the TCP stream itself"),
        ("inner_gap_octets", "Octets missing or unreadable of what layers between TCP and STOMP carry, as far as their number is known; "
         "null where TCP carries STOMP itself"),
    )
    return tuple(big(f"{name}_{way}", f"{comment}; {way}") for way in words.DIRECTIONS for name, comment in counters)


ENDPOINTS = (
    text("client_ip", "Address of the client"),
    integer("client_port", "Port of the client", most=65535),
    text("server_ip", "Address of the server"),
    integer("server_port", "Port of the server", most=65535),
)

ORIGIN = (
    text("origin_ip", "Address of who opened the connection, as a PROXY header names it, or else X-Forwarded-For or Forwarded of the "
         "upgrade request claims; null if none does"),
    integer("origin_port", "Port of who opened it", most=65535),
    text("origin_source", "What names the origin: a PROXY header, one that says that the balancer opened the connection itself, or a "
         "header of HTTP, which anyone can write", *words.ORIGIN_SOURCES),
)  # fmt: skip

BOUNDS = (
    big("clock_difference_min_us", "Least that the clock of s2c can be ahead of that of c2s, by what segments acknowledge, since the "
        "connection began or a clock stepped; null if unknown. Where 0 is outside, durations between both directions are null", least=None),
    big("clock_difference_max_us", "Most that it can be ahead; null if unknown; below the least where the clocks cannot be compared",
        least=None),
)

STREAMS = Table(
    "streams",
    "bronze",
    "One row per TCP connection",
    (
        STREAM_ID,
        text("source", "The capture point", nullable=False),
        *ENDPOINTS,
        *ORIGIN,
        text("community_id", "Community ID 1 of the connection, seed 0"),
        text("encapsulation", "Layers around the inner IP header of its first captured packet, outermost first: vlan/vxlan; null if none"),
        text("vlan", "VLAN ids of that packet, at most the innermost two: 100.7; null if none"),
        text("transport", "What carries STOMP", *words.TRANSPORTS, nullable=False),
        text("protocol", "Application protocol; of connections that show no STOMP no octets are kept", *words.PROTOCOLS, nullable=False),
        big("first_ns", "Time of its first captured packet"),
        big("last_ns", "Time of its last captured packet"),
        moment("first_ts", "first_ns in microseconds, UTC"),
        moment("last_ts", "last_ns in microseconds, UTC"),
        flag("syn_seen", "The client's SYN was captured"),
        flag("synack_seen", "The server's SYN-ACK was captured"),
        big("rtt_client_us", "From the SYN-ACK to its acknowledgement: a round trip from the capture point to who opened the connection. "
            "Null where either was not captured, the SYN-ACK came again before, or the clocks of the directions differ"),
        big("rtt_server_us", "From the SYN to the SYN-ACK: a round trip from the capture point to who accepted it. Null likewise"),
        text("history", "History in Zeek's letters, with u for urgent octets; upper case is the client's"),
        text("close_kind", "By what it was closed: the first FIN or RST", *words.CLOSE_KINDS, nullable=False),
        text("closed_by", "Side of that first FIN or RST; null while open, or where an earlier one may have been lost", *words.CLOSERS),
        text("asked_by", "Side that sent the first Close of WebSocket or close_notify of TLS, if before that: it ended the connection, "
             "whoever closed TCP behind it; null where there is none", *words.SIDES),
        big("fin_ns_c2s", "Time of the client's first FIN"),
        big("fin_ns_s2c", "Time of the server's first FIN"),
        big("close_order_c2s", "The last wire_order before the client's first FIN or RST"),
        big("close_order_s2c", "The last wire_order before the server's first FIN or RST"),
        text("rst_by", "Side of the first RST, behind a FIN too; null where there is none", *words.SIDES),
        big("rst_ns", "Time of the first RST"),
        flag("final", "No later capture can change the rows of the stream: its connection ended, or was silent for the idle timeout"),
        big("acks_against_time", "Segments that stand behind some of the other direction with a later time, as they acknowledge these"),
        big("clock_steps_back", "Packets with an earlier time than the packet before them; packets are not ordered by time"),
        *BOUNDS,
        *_per_direction(),
        BATCH_ID,
    ),
    key=("stream_id",),
    statistics=("stream_id", "batch_id", "source", "client_ip", "server_ip", "server_port", "protocol", "first_ns", "last_ns", "first_ts",
                "last_ts"),
    ascending=(
        ("first_ns", "last_ns"),
        ("first_ts", "last_ts"),
        *((f"truncated_octets_{way}", f"gap_octets_{way}", f"outer_octets_{way}") for way in words.DIRECTIONS),
    ),
)

WIRE_ORDER = (
    "Where it stands in wire order: from 1 along the connection, over both directions. A segment stands behind the octets that it "
    "acknowledges; where two crossed, time decides, then the place in the captures"
)
LINEAGE = (
    text("first_capture_id", "Capture of the packet that brought the first octet"),
    big("first_packet", "Its number in that capture, from 1 as Wireshark counts"),
    text("last_capture_id", "Capture of the packet that completed it"),
    big("last_packet", "Its number in that capture"),
)

RAW_FRAMES = Table(
    "raw_frames",
    "bronze",
    "Every octet of every STOMP stream direction, each in exactly one row",
    (
        STREAM_ID,
        DIRECTION,
        big("stream_offset", "Octets from the start of the direction's byte stream", nullable=False),
        big("length_octets", "Length of the row's octets", nullable=False),
        text("kind", "What the octets are", *words.RAW_KINDS, nullable=False),
        flag("redacted", "A secret in raw was overwritten with asterisks", nullable=False),
        text("delimited_by", "What ended the frame (rule FR-07); null for other kinds", *words.DELIMITERS),
        big("first_ns", "Capture time of the packet that brought the first octet; null for a gap"),
        big("last_ns", "Latest arrival among its octets; null for a gap"),
        big("acked_ns", "When the other side acknowledged them first, as far as its packets were captured; null if it did not. Inside TLS "
            "or WebSocket, all of the record or message"),
        moment("first_ts", "first_ns in microseconds, UTC"),
        *LINEAGE,
        big("first_wire_order", "Where its first octet stands in wire order, as in segments; of a gap the octet behind it"),
        big("wire_order", "Where its last octet stands in wire order, as in segments; of a gap the octet behind it, null if there is none"),
        big("syntax", "Bit set of the delimiter's observations (stompcap.stomp.syntax)", nullable=False),
        BATCH_ID,
        Column("raw", pa.binary(), "The octets; null for a gap"),
    ),
    key=("stream_id", "direction", "stream_offset"),
    statistics=("stream_id", "batch_id", "direction", "stream_offset", "kind", "first_ns", "last_ns", "first_ts"),
)

SEGMENTS = Table(
    "segments",
    "bronze",
    "One row per captured TCP segment that brought octets not seen before",
    (
        STREAM_ID,
        DIRECTION,
        big("ts_ns", "Capture time"),
        big("stream_offset", "Offset of its first new octet", nullable=False),
        big("new_octets", "How many octets it brought", nullable=False),
        text("capture_id", "Its capture", nullable=False),
        big("packet", "Its number in that capture", nullable=False),
        big("wire_order", WIRE_ORDER),
        BATCH_ID,
    ),
    key=("stream_id", "direction", "stream_offset"),
    statistics=("stream_id", "batch_id", "direction", "ts_ns", "stream_offset"),
)

STALLS = Table(
    "stalls",
    "bronze",
    "What excuses a missing heart-beat: TCP kept a side from sending or made it retransmit, or a layer below STOMP gave a sign of life; "
    "and steps of clocks",
    (
        STREAM_ID,
        DIRECTION,
        text("kind", "The receiver's window was closed, octets were retransmitted, the clock of the direction stepped, or a ping or pong "
             "of WebSocket or a heart-beat of SockJS came", *words.STALLS, nullable=False),
        big("begin_ns", "When it began"),
        big("end_ns", "When it ended"),
        Column("place", pa.int64(), "Of the first segment behind a step of a clock: where it stands in wire order; else 0",
               nullable=False, least=0, before=0),
        BATCH_ID,
        *BOUNDS,
    ),
    key=("stream_id", "direction", "kind", "begin_ns", "place"),
    statistics=("stream_id", "batch_id", "direction", "begin_ns"),
)

LAYER = integer("layer", "Which of the stream's layers it is: 1 is the outermost", nullable=False)


def _units() -> tuple[Column, ...]:
    """The counters of each direction of a layer."""
    counters = (
        ("units", "Units of the layer that were read: TLS records, WebSocket frames, SockJS messages, HTTP heads, PROXY headers"),
        ("octets", "Octets that the layer gave to what it carries, those missing from the capture included"),
        ("lost_units", "Units that could not be read, or only in part: missing from the capture, without a key, or unreadable"),
    )
    return tuple(big(f"{name}_{way}", f"{comment}; {way}. Null where they were not counted")
                 for way in words.DIRECTIONS for name, comment in counters)


TRANSPORTS = Table(
    "transports",
    "bronze",
    "One row per layer between TCP and STOMP of a stream; none for STOMP in plain TCP",
    (
        STREAM_ID,
        LAYER,
        text("kind", "What the layer is", *words.TRANSPORT_LAYERS, nullable=False),
        text("status", "How much of what it carries was read", *words.LAYER_STATUSES, nullable=False),
        text("reason", "Why not all of it was read; null if it was"),
        text("tls_version", "TLS: the version that both agreed on"),
        text("cipher_suite", "TLS: the cipher suite, as IANA names it"),
        text("server_name", "TLS: the server's name that the client asks for (SNI)"),
        text("alpn", "TLS: the application protocol that the server chose, as far as it is in clear"),
        flag("resumed", "TLS: the session was resumed; null if unknown"),
        text("http_path", "HTTP: the path of the upgrade request, without its query and path parameters"),
        text("http_host", "HTTP: the host that it names"),
        integer("http_status", "HTTP: the status code of the answer", most=999),
        text("user_agent", "HTTP: what the client says that it is"),
        text("subprotocols_asked", "WebSocket: the sub-protocols of STOMP that the client asks for; others are masked"),
        text("subprotocol", "WebSocket: the sub-protocol that the server chose"),
        text("extensions", "WebSocket: the extensions that the server accepted, with their parameters"),
        integer("close_code", "WebSocket, SockJS: the code of the first Close", most=65535),
        text("close_reason", "TLS: the first fatal alert. What a Close of WebSocket or SockJS gives as its reason is not kept"),
        text("closed_by", "Who sent the first Close", *words.SIDES),
        text("checks", "What was checked, for the rules TR: a JSON array of [what, direction, kept or broken or unknown, octets that the "
             "layer gave before, time, what was seen]; null if nothing was"),
        *_units(),
        BATCH_ID,
    ),
    key=("stream_id", "layer"),
    statistics=("stream_id", "batch_id", "kind", "status"),
)

TRANSPORT_EVENTS = Table(
    "transport_events",
    "bronze",
    "What a layer between TCP and STOMP said beside its payload: handshakes, pings, closes, alerts, stretches that could not be read",
    (
        STREAM_ID,
        LAYER,
        DIRECTION,
        text("kind", "What it is", *words.TRANSPORT_EVENTS, nullable=False),
        big("unit_offset", "Where its unit begins, in the octets that the layer below gives of the direction", nullable=False),
        big("ts_ns", "Time of the packet by which it could be read"),
        moment("ts", "ts_ns in microseconds, UTC"),
        text("capture_id", "Capture of that packet"),
        big("packet", "Its number in that capture"),
        big("octets", "Octets of its payload; of an unreadable stretch its length"),
        text("detail", "Code and reason of a close, description of an alert, why a stretch is unreadable, digest of the payload of a "
             "ping or pong"),
        BATCH_ID,
    ),
    key=("stream_id", "layer", "direction", "unit_offset", "kind"),
    statistics=("stream_id", "batch_id", "kind", "ts_ns"),
)

TABLES = (CAPTURES, STREAMS, RAW_FRAMES, SEGMENTS, STALLS, TRANSPORTS, TRANSPORT_EVENTS)
