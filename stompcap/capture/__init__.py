"""Captures: files to TCP segments, as columns."""

from stompcap.capture.columns import SEGMENTS
from stompcap.capture.files import is_capture, octets
from stompcap.capture.packet_rows import PACKETS, packets
from stompcap.capture.segments import read_segments
from stompcap.capture.survey import survey

__all__ = ["PACKETS", "SEGMENTS", "is_capture", "octets", "packets", "read_segments", "survey"]
