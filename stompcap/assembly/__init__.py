"""Assembly: the machines put together in the order of the data, for whole flows or whole streams at a time."""

from stompcap.assembly.analyser import SessionAnalyser
from stompcap.assembly.assembly import Assembly
from stompcap.assembly.parts import Part, Sessions
from stompcap.assembly.redecode import redecode
from stompcap.assembly.resume.segment_rows import segments_of

__all__ = ["Assembly", "Part", "SessionAnalyser", "Sessions", "redecode", "segments_of"]
