"""What delimiter and decoder observe in a raw frame's octets, as bits of one integer.

Facts, not verdicts: whether a fact breaks a rule depends on version, command and direction, and is decided in `stompcap.rules`.
"""

from enum import IntFlag


class Syntax(IntFlag):
    """One bit per fact; the table columns `raw_frames.syntax` and `frames.syntax` hold their sum."""

    # by the delimiter, on rows of any kind
    LF_LINE = 1 << 0  # a line of command or headers ends in a lone LF
    CRLF_LINE = 1 << 1  # a line of command or headers ends in CRLF
    BARE_CR = 1 << 2  # a CR in command or headers that is not part of such a CRLF
    LENGTH_INVALID = 1 << 3  # the effective content-length is no non-negative decimal
    LENGTH_MISSED = 1 << 4  # the octet behind content-length octets of body is no NUL
    NUL_IN_HEAD = 1 << 5  # a NUL among command and headers
    STRAY_NUL = 1 << 6  # junk that consists of NULs only
    EOL_CR = 1 << 7  # an EOL run that has a CR
    BEFORE_FIRST = 1 << 8  # before the first frame of a direction whose beginning was captured
    AFTER_GAP = 1 << 9  # begins directly behind a gap, or where a capture starts mid-stream
    TORN = 1 << 10  # junk that may begin within a secret, the beginning of its line missing
    BLANK_PADDED = 1 << 11  # the blank line behind the head has blanks: a blank line for peers of 1.0 only, and read so for them
    TOO_LARGE = 1 << 12  # cut off at a limit (`rows.FRAME_LIMIT`, `rows.HEAD_LIMIT`): the octets of the next row belong to it too
    TOKEN_LOGIN = 1 << 13  # the login of a CONNECT is a JSON Web Token (redacted unless asked for)
    LENGTH_UNKNOWN = 1 << 14  # a gap that hides an unknown number of octets: its length is that of the gap in what carries the stream
    # by the decoder, on frames
    NO_COLON = 1 << 16  # a header line without a colon
    EMPTY_NAME = 1 << 17
    EMPTY_VALUE = 1 << 18
    NON_ASCII = 1 << 19  # an octet above 127 in command or headers
    NON_UTF8 = 1 << 20  # command or headers are not valid UTF-8
    BACKSLASH = 1 << 21  # a backslash in a header line
    UNDEFINED_ESCAPE = 1 << 22  # an escape that the version does not define, or a trailing backslash
    RAW_COLON = 1 << 23  # an unescaped colon in a header value
    PADDED = 1 << 24  # a protocol header's name or value has leading or trailing spaces
    REPEATED = 1 << 25  # a header name occurs twice
    CONFLICTING = 1 << 26  # a protocol header is repeated with another value
    BODY_NUL = 1 << 27  # the body has a NUL
    BODY_NON_UTF8 = 1 << 28  # the body is not valid UTF-8
    # by the delimiter, on rows of any kind
    PASSCODE = 1 << 29  # a secret: a header line of such a name, or named in an ERROR, or in junk (redacted unless asked for)
