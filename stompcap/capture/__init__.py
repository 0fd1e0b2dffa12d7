"""Capture files to TCP segments, as columns."""

from stompcap.capture.files import Window, is_capture, octets, open_capture
from stompcap.capture.packet_rows import PACKETS, packets
from stompcap.capture.segment_columns import SEGMENTS
from stompcap.capture.segments import read_segments
from stompcap.capture.splits import Split
from stompcap.capture.survey import Known, Survey, changed, examine, parts, survey, unreadable

__all__ = [
    "PACKETS",
    "SEGMENTS",
    "Known",
    "Split",
    "Survey",
    "Window",
    "changed",
    "examine",
    "is_capture",
    "octets",
    "open_capture",
    "packets",
    "parts",
    "read_segments",
    "survey",
    "unreadable",
]
