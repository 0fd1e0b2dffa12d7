"""TCP: segments to byte streams, as columns; any protocol's streams, one by one, with `reassemble`."""

from stompcap.tcp.connections import WIRE_ORDER, ByteStream, Connection, reassemble
from stompcap.tcp.octets import count_conflicts, gather
from stompcap.tcp.reassembly import Extents, Reassembly, history_for, reassemble_columns

__all__ = [
    "WIRE_ORDER",
    "ByteStream",
    "Connection",
    "Extents",
    "Reassembly",
    "count_conflicts",
    "gather",
    "history_for",
    "reassemble",
    "reassemble_columns",
]
