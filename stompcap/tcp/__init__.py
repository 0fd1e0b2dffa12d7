"""TCP: segments to byte streams, as columns; `reassemble` gives any protocol's streams, connection by connection."""

from stompcap.tcp.connections import ByteStream, Connection, reassemble
from stompcap.tcp.flows import WIRE_ORDER, as_they_crossed
from stompcap.tcp.history import history_for
from stompcap.tcp.machine import Reassembler, Step
from stompcap.tcp.octets import count_conflicts, gather
from stompcap.tcp.reassembly import reassemble_columns
from stompcap.tcp.results import Extents, Reassembly, Streams

__all__ = [
    "WIRE_ORDER",
    "ByteStream",
    "Connection",
    "Extents",
    "Reassembler",
    "Reassembly",
    "Step",
    "Streams",
    "as_they_crossed",
    "count_conflicts",
    "gather",
    "history_for",
    "reassemble",
    "reassemble_columns",
]
