"""Framing: what a stream of frames is made of, from the first octet to the last.

These rules look at raw rows: whole frames, the EOLs between them, junk, and the head of a frame that was cut short.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.rules.case import Case
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.session.dialogue import EOL, FRAME, GAP, JUNK, PARTIAL, Bools
from stompcap.stomp.syntax import Syntax

FRAMING = Chapter("Framing")


def _sent_fin(case: Case) -> Bools:
    """Raw rows whose sender ended the stream in order."""
    raw = case.d.rows
    ended: Bools = case.ends.fin[raw.session, raw.side]
    return ended


def _last_of_direction(case: Case) -> Bools:
    """Raw rows behind which their direction has none."""
    return np.append(~case.row_follows, True)[1:]


@FRAMING.rule(
    "FR-01", versions=ALL_VERSIONS, side="both", level="M", observed="F",
    clause="1.2 STOMP Frames and Augmented BNF; 1.1 the same; 1.0 Protocol",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎⏎hello
        C closes
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎⏎hello␀
        C closes
    """,
)
def fr_01(case: Case) -> Judged:
    """A frame is whole: command, headers, blank line, body, NUL.

    A stream must not end inside a frame, and a NUL among the headers ends one too early. It fails where the sender
    closed its direction in order (FIN) with a frame unfinished. A reset, the end of the capture, a snapshot length
    or a lost packet may have taken the rest: not evaluable. The DISCONNECT example of the 1.1 and 1.2 texts lacks
    its blank line, so a literal copy fails.
    """
    kind, headless = case.d.rows.kind, case.headless & ~_behind_wrong_length(case)
    torn = headless & ((case.d.rows.syntax & Syntax.AFTER_GAP) != 0)
    cut = (kind == PARTIAL) & ~case.stray
    missed = (case.d.rows.syntax & Syntax.LENGTH_MISSED) != 0  # told by FR-07
    ended = cut & _last_of_direction(case) & _sent_fin(case) & ~missed
    return Judged(
        applicable=(kind == FRAME) | (cut & ~missed) | headless,
        failed=ended | headless,
        unevaluable=(cut & ~ended & ~headless) | torn,
        units=case.rows,
        evidence=lambda index: _choice(headless[index], "a NUL before the blank line that ends the headers",
                                       "the sender closed the connection inside this frame"),
    )


def _choice(mask: Bools, yes: str, no: str) -> pa.Array:
    return pc.if_else(pa.array(mask), yes, no)


@FRAMING.rule(
    "FR-02", versions="1.0 1.1", side="both", level="M", observed="F",
    clause="1.1 STOMP Frames, Augmented BNF (NL); 1.0 Protocol",
    breaks="""
        in 1.1
        C: SEND␍⏎destination:/queue/a␍⏎␍⏎␀
    """,
    keeps="""
        in 1.1
        C: SEND⏎destination:/queue/a⏎⏎␀
    """,
)
def fr_02(case: Case) -> Judged:
    """Lines end in LF, not CRLF.

    Until 1.2 a line ends in a lone line feed; a CR before it would be part of the header's value. Brokers strip it
    anyway. CONNECT, STOMP and CONNECTED are sent before a version is agreed, so they are never failed.
    """
    return Judged(~case.handshake, case.bits(Syntax.CRLF_LINE), "{command} has lines that end in CRLF")


@FRAMING.rule(
    "FR-03", versions="1.2", side="both", level="M", observed="F",
    clause="1.2 Augmented BNF (EOL, header)",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎colour:bl␍ue⏎⏎␀
    """,
    keeps=r"""
        in 1.2
        C: SEND␍⏎destination:/queue/a␍⏎colour:bl\rue␍⏎␍⏎␀
    """,
)
def fr_03(case: Case) -> tuple[Judged, Judged]:
    r"""A CR stands only before an LF.

    In 1.2 a CR in command or headers is the first half of a line end or else forbidden; a value that needs one
    writes it \r. In 1.1 values a bare CR is legal, and in bodies everywhere.
    """
    bare = (case.d.rows.syntax & Syntax.BARE_CR) != 0
    junk = (case.d.rows.kind == JUNK) & bare
    return (
        Judged(~case.none(), case.bits(Syntax.BARE_CR), "{command} has a CR in command or headers that no LF follows"),
        Judged(junk, junk, "a CR that no LF follows", units=case.rows),
    )


@FRAMING.rule(
    "FR-11", versions=ALL_VERSIONS, side="both", level="M/I", observed="F",
    clause="1.2 and 1.1 Augmented BNF (frame); 1.0 Protocol",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎⏎hello␀...
        C: SEND⏎destination:/queue/a⏎⏎hello␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎⏎hello␀⏎
        C: SEND⏎destination:/queue/a⏎⏎hello␀
    """,
)
def fr_11(case: Case) -> Judged:
    """Between a NUL and the next command there are only EOLs.

    Octets between frames that are no line ends belong to nothing. Nothing but NULs is the milder case, and the
    commonest: RabbitMQ, stompjs, stomp-php and ActiveMQ's NIO transport skip them, so these failures are informational.

    What follows a gap, or a capture that starts mid-stream, may be the tail of a frame: not evaluable. What a wrong
    content-length leaves over is FR-07's.
    """
    raw = case.d.rows
    junk, missed = case.stray, _behind_wrong_length(case)
    lost = np.zeros(len(raw), bool)
    lost[1:] = (raw.kind[:-1] == GAP) & case.row_follows[1:]
    lost |= (raw.syntax & Syntax.AFTER_GAP) != 0
    nuls = (raw.syntax & Syntax.STRAY_NUL) != 0
    return Judged(
        applicable=(raw.kind == FRAME) | (junk & ~missed),
        failed=junk,
        unevaluable=junk & lost,
        units=case.rows,
        lenient=nuls,
        evidence=lambda index: _choice(nuls[index], "NULs between frames", "octets that belong to no frame"),
    )


def _behind_wrong_length(case: Case) -> Bools:
    """Raw rows directly behind a frame whose content-length did not lead to its NUL."""
    raw = case.d.rows
    missed = np.zeros(len(raw), bool)
    missed[1:] = (raw.kind[:-1] == FRAME) & ((raw.syntax[:-1] & Syntax.LENGTH_MISSED) != 0) & case.row_follows[1:]
    return missed


@FRAMING.rule(
    "FR-12", versions="1.0 1.1", side="both", level="M", observed="F",
    clause="1.1 Augmented BNF (frame); 1.0 Protocol",
    breaks="""
        in 1.1
        C: SEND⏎destination:/queue/a⏎⏎hello␀␍⏎
    """,
    keeps="""
        in 1.1
        C: SEND⏎destination:/queue/a⏎⏎hello␀⏎
    """,
)
def fr_12(case: Case) -> Judged:
    """EOLs between frames are LF, not CRLF.

    Only 1.2 lets a CR stand before the LF of an EOL. People who type into telnet break it most. What follows
    CONNECT, STOMP or CONNECTED directly was sent before a version was agreed and is left out.
    """
    raw = case.d.rows
    behind = np.full(len(raw), -1, np.int64)
    behind[1:] = np.where(case.row_follows[1:], case.frame_of_row[:-1], -1)
    greeting = (behind >= 0) & case.handshake[behind] if len(case.d) else np.zeros(len(raw), bool)
    eol = (raw.kind == EOL) & ~greeting & ((raw.syntax & Syntax.BEFORE_FIRST) == 0)
    return Judged(eol, (raw.syntax & Syntax.EOL_CR) != 0, "a CRLF between frames", units=case.rows)


@FRAMING.rule(
    "FR-13", versions=ALL_VERSIONS, side="both", level="I", observed="F",
    settles="at close",
    clause="1.2 and 1.1 Augmented BNF (frame-stream)",
    breaks="""
        C: ⏎
        C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀
        S: CONNECTED⏎version:1.2⏎⏎␀
    """,
    keeps="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀
        S: CONNECTED⏎version:1.2⏎⏎␀
    """,
)
def fr_13(case: Case) -> Judged:
    """Nothing comes before the first frame.

    The grammar has EOLs behind a frame, none before the first. Parsers are asked to accept them all the same, so
    this is only for information. Judged once a direction, where its beginning was captured and a frame follows.
    """
    raw = case.d.rows
    first = ~case.row_follows & (raw.kind != GAP)
    speaking = np.zeros((case.d.sessions, 2), bool)
    speaking[case.d.session, case.d.side] = True
    lost = (raw.syntax & Syntax.AFTER_GAP) != 0
    return Judged(
        applicable=first & speaking[raw.session, raw.side],
        failed=(raw.kind == EOL) & ((raw.syntax & Syntax.BEFORE_FIRST) != 0),
        unevaluable=first & lost,
        units=case.rows,
        evidence="EOLs before the first frame",
    )
