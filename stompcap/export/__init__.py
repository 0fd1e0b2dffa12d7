"""The packets of one stream, found in the captures that the lake has read, and copied to a capture file."""

from stompcap.export.find import find
from stompcap.export.inner import write_inner
from stompcap.export.writing import write

__all__ = ["find", "write", "write_inner"]
