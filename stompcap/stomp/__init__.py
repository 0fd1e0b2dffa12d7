"""Byte streams to frames, without I/O and without Spark: delimiter, decoder, version, redaction.

`parse` reads a few octets into objects, `serialise` writes them back, `Delimiter` takes octets as they come. `delimit`,
`negotiate`, `redact`, `mask_repeats` and `decode` do the same for many stream directions at once, from one buffer into columns.
"""

from stompcap.stomp.content import content_hashes
from stompcap.stomp.decoder import decode
from stompcap.stomp.delimiter import beginning, delimit
from stompcap.stomp.delimiter_io import Rows, Runs, State
from stompcap.stomp.frames import Frame, decode_column, parse
from stompcap.stomp.hashes import body_hashes
from stompcap.stomp.incremental import Delimiter, Row
from stompcap.stomp.negotiate import Versions, negotiate
from stompcap.stomp.passcodes import Passcodes, passcodes_of
from stompcap.stomp.peek import peek
from stompcap.stomp.redact import mask_repeats, redact
from stompcap.stomp.secret_names import SecretNames, secret_header_names
from stompcap.stomp.syntax import Syntax
from stompcap.stomp.write import serialise, write_frame

__all__ = [
    "Delimiter", "Frame", "Passcodes", "Row", "Rows", "Runs", "SecretNames", "State", "Syntax", "Versions", "beginning", "body_hashes",
    "content_hashes", "decode", "decode_column", "delimit", "mask_repeats", "negotiate", "parse", "passcodes_of", "peek", "redact",
    "secret_header_names", "serialise", "write_frame",
]
