"""Streams: what a stream of frames is made of, from the first octet to the last.

These rules look at raw rows: whole frames, the EOLs between them, junk, and the head of a frame that was cut short.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import EOL, FRAME, GAP, JUNK, PARTIAL
from stompcap.columns import Bools
from stompcap.rules.context import RuleContext
from stompcap.rules.pending import Pending
from stompcap.rules.record import ALL_VERSIONS, Chapter, Decision, Judged
from stompcap.stomp.syntax import Syntax

FRAMING = Chapter("Framing")


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
def fr_01(ctx: RuleContext) -> Judged:
    """A frame is whole: command, headers, blank line, body, NUL.

    A stream must not end inside a frame, and a NUL among the headers ends one too early. It fails where the sender
    closed its direction in order (FIN) with a frame unfinished. A reset, the end of the capture, a snapshot length
    or a lost packet may have taken the rest: not evaluable. The DISCONNECT example of the 1.1 and 1.2 texts lacks
    its blank line, so a literal copy fails.
    """
    raw, view = ctx.raw, ctx.view
    headless = view.headless & ~_behind_wrong_length(ctx)
    torn = headless & view.bits(Syntax.AFTER_GAP)
    cut = (raw.kind == PARTIAL) & ~view.stray
    missed = view.bits(Syntax.LENGTH_MISSED)  # FR-07 has them
    ended = cut & view.last & ctx.sessions.fin[raw.session, raw.side] & ~missed
    return Judged(
        applicable=(raw.kind == FRAME) | (cut & ~missed) | headless,
        failed=ended | headless,
        unevaluable=(cut & ~ended & ~headless) | torn,
        units=ctx.rows,
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
def fr_02(ctx: RuleContext) -> Judged:
    """Lines end in LF, not CRLF.

    Until 1.2 a line ends in a lone line feed; a CR before it would be part of the header's value. Brokers strip it
    anyway. CONNECT, STOMP and CONNECTED are sent before a version is agreed, so they are never failed.
    """
    return Judged(~ctx.handshake, ctx.bits(Syntax.CRLF_LINE), "{command} has lines that end in CRLF")


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
def fr_03(ctx: RuleContext) -> tuple[Judged, Judged]:
    r"""A CR stands only before an LF.

    In 1.2 a CR in command or headers is the first half of a line end or else forbidden; a value that needs one
    writes it \r. In 1.1 values a bare CR is legal, and in bodies everywhere.
    """
    junk = (ctx.raw.kind == JUNK) & ctx.view.bits(Syntax.BARE_CR)
    return (
        Judged(~ctx.none(), ctx.bits(Syntax.BARE_CR), "{command} has a CR in command or headers that no LF follows"),
        Judged(junk, junk, "a CR that no LF follows", units=ctx.rows),
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
def fr_11(ctx: RuleContext) -> Judged:
    """Between a NUL and the next command there are only EOLs.

    Octets between frames that are no line ends belong to nothing. Nothing but NULs is the milder case, and the
    commonest: RabbitMQ, stompjs, stomp-php and ActiveMQ's NIO transport skip them, so these failures are informational.

    What follows a gap, or a capture that starts mid-stream, may be the tail of a frame: not evaluable. What a wrong
    content-length leaves over is FR-07's.
    """
    raw, view = ctx.raw, ctx.view
    junk, missed = view.stray, _behind_wrong_length(ctx)
    lost = view.bits(Syntax.AFTER_GAP)
    lost[1:] |= (raw.kind[:-1] == GAP) & view.rows.follows[1:]
    nuls = view.bits(Syntax.STRAY_NUL)
    return Judged(
        applicable=(raw.kind == FRAME) | (junk & ~missed),
        failed=junk,
        unevaluable=junk & lost,
        units=ctx.rows,
        lenient=nuls,
        evidence=lambda index: _choice(nuls[index], "NULs between frames", "bytes that belong to no frame"),
    )


def _behind_wrong_length(ctx: RuleContext) -> Bools:
    """Raw rows directly behind a frame whose content-length did not lead to its NUL."""
    raw, view = ctx.raw, ctx.view
    missed = np.zeros(len(raw), bool)
    missed[1:] = (raw.kind[:-1] == FRAME) & view.bits(Syntax.LENGTH_MISSED)[:-1] & view.rows.follows[1:]
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
def fr_12(ctx: RuleContext) -> Judged:
    """EOLs between frames are LF, not CRLF.

    Only 1.2 lets a CR stand before the LF of an EOL. People who type into telnet break it most. What follows
    CONNECT, STOMP or CONNECTED directly was sent before a version was agreed and is left out.
    """
    raw, view = ctx.raw, ctx.view
    before = np.full(len(raw), -1, np.int64)
    before[1:] = np.where(view.rows.follows[1:], view.frame[:-1], -1)
    greeting = (before >= 0) & ctx.handshake[before] if len(ctx.dialogue) else before >= 0
    eol = (raw.kind == EOL) & ~greeting & ~view.bits(Syntax.BEFORE_FIRST)
    return Judged(eol, view.bits(Syntax.EOL_CR), "a CRLF between frames", units=ctx.rows)


def _speaks(ctx: RuleContext, pending: Pending) -> Decision:
    """A frame of the direction has come, or none will."""
    speaks = ctx.sessions.frames[pending.session, pending.sent] > 0
    return Decision(decided=speaks | ctx.closing[pending.session], applicable=speaks)


@FRAMING.rule(
    "FR-13", versions=ALL_VERSIONS, side="both", level="I", observed="F", decide=_speaks,
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
def fr_13(ctx: RuleContext) -> Judged:
    """Nothing comes before the first frame.

    The grammar has EOLs behind a frame, none before the first. Parsers are asked to accept them all the same, so
    this is only for information. Judged once a direction, where its beginning was captured and a frame follows.
    """
    raw, view = ctx.raw, ctx.view
    return Judged(
        applicable=~view.rows.follows & (raw.kind != GAP),
        failed=(raw.kind == EOL) & view.bits(Syntax.BEFORE_FIRST),
        unevaluable=view.bits(Syntax.AFTER_GAP),
        units=ctx.rows,
        evidence="EOLs before the first frame",
        pending=True,
    )
