"""The packets of streams, found in the captures that the lake has read, and copied to a capture file; as they are, or for others to see."""

from stompcap.export.comments import Note, annotate, place
from stompcap.export.find import find
from stompcap.export.inner import write_inner
from stompcap.export.merging import merge
from stompcap.export.names import Names
from stompcap.export.segments import write_anonymised
from stompcap.export.writing import write

__all__ = ["Names", "Note", "annotate", "find", "merge", "place", "write", "write_anonymised", "write_inner"]
