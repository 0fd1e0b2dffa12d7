"""Lengths: content-length, what it promises, and bodies where none may be."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from stompcap.codes import PARTIAL
from stompcap.columns import truth
from stompcap.rules.context import RuleContext
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.session.dialogue import OTHER
from stompcap.stomp.syntax import Syntax

LENGTHS = Chapter("Lengths")


@LENGTHS.rule(
    "FR-07", versions=ALL_VERSIONS, side="both", level="M", observed="F",
    clause="1.2 and 1.1 Header content-length; 1.0 SEND, MESSAGE",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎content-type:text/plain⏎content-length:17⏎⏎a length in signs, not in octets␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎content-type:text/plain⏎content-length:5⏎⏎hello␀
    """,
)
def fr_07(ctx: RuleContext) -> tuple[Judged, Judged]:
    """Content-length octets of body, then a NUL.

    The octet behind content-length octets of body is the NUL. Where it is not, the frame's end is guessed and
    `delimited_by` says how: the length is ignored (a command without body whose NUL follows the blank line),
    extended to the next NUL in front of a frame or the end (lengths counted in characters look so), or shortened to
    a NUL that a known command follows.
    """
    mended = truth(pc.starts_with(ctx.dialogue.column("delimited_by"), "content_length_"))
    cut = (ctx.raw.kind == PARTIAL) & ctx.view.bits(Syntax.LENGTH_MISSED)
    return (
        Judged(ctx.sized & ~ctx.bits(Syntax.LENGTH_INVALID), mended | ctx.bits(Syntax.LENGTH_MISSED),
               "content-length:{content-length} of {command}, but the body has {body_octets} bytes ({delimited_by})"),
        Judged(cut, cut, "no NUL behind content-length bytes of body", units=ctx.rows),
    )


@LENGTHS.rule(
    "FR-08", versions=ALL_VERSIONS, side="both", level="M", observed="H",
    clause="1.2 and 1.1 Header content-length; 1.0 SEND, MESSAGE",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎content-type:text/plain⏎content-length:-1⏎⏎hello␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎content-type:text/plain⏎content-length:5⏎⏎hello␀
    """,
)
def fr_08(ctx: RuleContext) -> Judged:
    """Content-length is a non-negative decimal number.

    The texts call it a count of octets and leave its grammar to common sense. Of -1 some brokers make an error,
    others ignore it; of words likewise; very large numbers overflow.
    """
    return Judged(ctx.sized, ctx.bits(Syntax.LENGTH_INVALID), "content-length:{content-length}")


@LENGTHS.rule(
    "FR-09", versions="1.1 1.2", side="both", level="M", observed="F",
    clause="1.2 and 1.1 Header content-length",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎⏎one␀two␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎content-length:7⏎⏎one␀two␀
    """,
)
def fr_09(ctx: RuleContext) -> Judged:
    """A body with a NUL needs a content-length.

    Without the header the first NUL ends the frame, so such a body shows only as octets directly behind it that
    begin no frame. Extra NULs alone are FR-11's.
    """
    view = ctx.view
    rest = view.rows.follows & view.stray & ~view.bits(Syntax.STRAY_NUL | Syntax.AFTER_GAP)
    followed = ctx.dialogue.of_rows(np.append(rest, False)[1:])
    return Judged(ctx.with_body, ~ctx.sized & followed,
                  "{command} without content-length; bytes that begin no frame follow its NUL")


@LENGTHS.rule(
    "FR-10", versions="1.1 1.2", side="both", level="M", observed="F",
    clause="1.2 Body; 1.1 STOMP Frames",
    breaks="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎hello␀
    """,
    keeps="""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎content-length:0⏎⏎␀
    """,
)
def fr_10(ctx: RuleContext) -> Judged:
    """Only SEND, MESSAGE and ERROR have a body.

    A content-length of 0 is fine on any frame. In 1.0 the body of SUBSCRIBE is ignored and that of RECEIPT empty,
    so the rule begins with 1.1.
    """
    d = ctx.dialogue
    bodiless = (d.command != OTHER) & ~ctx.misplaced & ~ctx.of("SEND", "MESSAGE", "ERROR")
    return Judged(bodiless, d.body_octets > 0, "{command} has a body of {body_octets} bytes")


@LENGTHS.rule(
    "FR-26", versions=ALL_VERSIONS, side="both", level="S", observed="F",
    clause="1.2 and 1.1 Header content-length; 1.0 SEND, MESSAGE",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎content-type:text/plain⏎⏎hello␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎content-type:text/plain⏎content-length:5⏎⏎hello␀
    """,
)
def fr_26(ctx: RuleContext) -> Judged:
    """A body comes with a content-length.

    SEND, MESSAGE and ERROR frames with a body should say how long it is. ActiveMQ and Artemis make a bytes message
    of a SEND that has the header and a text message of one that has not, so their users omit it on purpose: read it
    as a rate.
    """
    return Judged(ctx.with_body, ~ctx.sized,
                  "{command} has {body_octets} bytes of body and no content-length")
