"""Bodies: content types, character sets, limits."""

from __future__ import annotations

import numpy as np

from stompcap.codes import CLIENT, PARTIAL, SERVER
from stompcap.rules.context import RuleContext
from stompcap.rules.record import Chapter, Judged
from stompcap.stomp.syntax import Syntax

BODIES = Chapter("Bodies")

WORD = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
MIME = rf'^{WORD}/{WORD}(\s*;\s*{WORD}=({WORD}|"[^"]*"))*\s*;?\s*$'
CHARSET = r"(?i);\s*charset="
UTF8 = r'(?i);\s*charset="?utf-?8"?\s*(;|$)'
TEXT = r"(?i)^\s*text/"
XML = r"(?i)^\s*(application/xml|[^;]+\+xml)\s*(;|$)"


@BODIES.rule(
    "FR-27", versions="1.1 1.2", side="both", level="S", observed="F",
    clause="1.2 and 1.1 Header content-type",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎content-length:5⏎⏎hello␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎content-type:text/plain⏎content-length:5⏎⏎hello␀
    """,
)
def fr_27(ctx: RuleContext) -> Judged:
    """A body comes with a content-type.

    SEND, MESSAGE and ERROR frames with a body should say what it is; without, it counts as a binary blob. Almost
    always missing: read it as a rate.
    """
    return Judged(ctx.with_body, ~ctx.has("content-type"),
                  "{command} has {body_octets} bytes of body and no content-type")


@BODIES.rule(
    "FR-28", versions="1.1 1.2", side="both", level={"1.1": "S", "1.2": "M"}, observed="H",
    clause="1.2 and 1.1 Header content-type",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎content-type:json⏎content-length:2⏎⏎{}␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎content-type:application/json⏎content-length:2⏎⏎{}␀
    """,
)
def fr_28(ctx: RuleContext) -> Judged:
    """Content-type is a MIME type.

    Type, slash, subtype, and parameters behind semicolons, whose values may be quoted.
    """
    typed = ctx.has("content-type")
    return Judged(typed, ~ctx.matches("content-type", MIME, typed), "content-type:{content-type}")


@BODIES.rule(
    "FR-29", versions="1.1 1.2", side="both", level="S", observed="F",
    clause="1.2 and 1.1 Header content-type",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎content-type:text/plain⏎content-length:4⏎⏎caf\\xe9␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎content-type:text/plain;charset=iso-8859-1⏎content-length:4⏎⏎caf\\xe9␀
    """,
)
def fr_29(ctx: RuleContext) -> Judged:
    """Text is UTF-8 unless content-type names its charset.

    A text/ type without charset promises UTF-8, and so does charset=utf-8: fails where the body is none. Text of
    another type, such as XML, should name its charset; JSON has no such parameter and is left out. ActiveMQ once
    encoded characters beyond the basic plane in its own way, which looks like this.
    """
    typed = ctx.with_body & ctx.has("content-type")
    named = ctx.matches("content-type", CHARSET, typed)
    plain = ctx.matches("content-type", TEXT, typed)
    promised = ctx.matches("content-type", UTF8, typed) | (plain & ~named)
    xml = ctx.matches("content-type", XML, typed) & ~plain
    nameless = xml & ~named
    return Judged(plain | xml | promised, (promised & ctx.bits(Syntax.BODY_NON_UTF8)) | nameless,
                  "content-type:{content-type} does not tell the encoding of the body")


@BODIES.rule(
    "FR-30", versions="1.1 1.2", side="server", level="S", observed="S",
    clause="1.2 Size Limits; 1.1 STOMP Frames",
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎⏎much too lo
        S: ERROR⏎message:frame too large⏎⏎␀
        S closes
    """,
)
def fr_30(ctx: RuleContext) -> Judged:
    """A frame over a limit is answered by ERROR, then a close.

    The limits of a server are not on the wire, so a breach cannot be proved. Looked at where a server closes inside
    a client's frame: passes if it said ERROR after that frame began, else not evaluable. RabbitMQ closes silently.
    """
    raw, sessions = ctx.raw, ctx.sessions
    cut = (raw.kind == PARTIAL) & (raw.side == CLIENT) & ctx.view.last & ctx.closing[raw.session]
    shut = (sessions.closed_by == SERVER)[raw.session]
    explained = ctx.first["last_error"].last_ns[raw.session] >= raw.first_ns  # -1 where there is no ERROR
    return Judged(cut & shut, np.zeros(len(raw), bool), unevaluable=~explained, units=ctx.rows)


@BODIES.rule(
    "FR-31", versions="1.1 1.2", side="both", level="S", observed="F",
    clause="1.2 and 1.1 Header content-type",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎content-type:text/plain;charset=iso-8859-1⏎content-length:4⏎⏎caf\\xe9␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎content-type:text/plain;charset=iso-8859-1⏎content-length:4⏎⏎cafe␀
    """,
)
def fr_31(ctx: RuleContext) -> Judged:
    """Text is best sent as UTF-8.

    Advice rather than law. Judged on bodies that name a charset: fails where it is not UTF-8 and the octets are no
    UTF-8 either. Text that only claims to be UTF-8 is FR-29's.
    """
    named = ctx.matches("content-type", CHARSET, ctx.with_body)
    other = named & ~ctx.matches("content-type", UTF8, named)
    return Judged(named, other & ctx.bits(Syntax.BODY_NON_UTF8),
                  "content-type:{content-type}")
