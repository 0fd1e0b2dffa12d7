"""The layout of the first states, which did not say which they had: what later ones are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SavedLayout = Mapping[str, Any]
"""What a layout says: by kind its parts, and of each what it consists of."""

_NUMBERS = {
    "connection": "first_row first_capture first_packet first_ns last_ns initiator origin_ns origin_seq origin_syn syn_seen synack_seen "
    "close_kind closed_by close_ns letters latest_ns latest_capture steps_back handed_on outer after_idle",
    "side": "seen ref synced start first_data data_end fin_seen fin_at fin_ns ack_seen acked sent zero_since strays history_bits data_seen "
    "hinted rst_ns jumped jump ack_row copies bad_sums",
    "tallies": "octets segments again out_of_order truncated stray synced have examined based base cut edge reach blocks settled_ns",
    "copies": "key ts_ns stream position",
    "delimiter": "phase done search look line syntax length body command lines expected begun footing role place seen lenient",
    "learned": "spoken client protocol transport version version_source possible",
}
_WORDS = {
    "protocol": "stomp tls http other",
    "transport": "tcp tls websocket wss",
    "version_source": "connected assumed_1_0 inferred unknown",
    "possible": "1.0 1.1 1.0,1.1 1.2 1.0,1.2 1.1,1.2 1.0,1.1,1.2",
    "version": "1.0 1.1 1.2",
    "close_kind": "fin rst open",
    "raw_kind": "frame eol gap junk partial",
    "delimited_by": "nul content_length content_length_ignored content_length_extended content_length_shortened",
    "mode": "auto client client-individual",
    "delivery": "auto settled voided unsettled open unknown",
    "transaction": "committed aborted implicitly_aborted open unknown",
    "command": "CONNECT STOMP SEND SUBSCRIBE UNSUBSCRIBE ACK NACK BEGIN COMMIT ABORT DISCONNECT CONNECTED MESSAGE RECEIPT ERROR",
    "history": "s h a d f r t w q i u",
}
FIRST: SavedLayout = {
    "numbers": {part: names.split() for part, names in _NUMBERS.items()}, "words": {of: words.split() for of, words in _WORDS.items()},
    "meanings": [],
}  # fmt: skip
"""The layout of the states that have none with them."""
