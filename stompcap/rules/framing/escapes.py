"""Escapes: how a line feed, a colon, a backslash and, from 1.2 on, a carriage return are written inside headers."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from stompcap.codes import BOTH, SERVER
from stompcap.rules.context import RuleContext
from stompcap.rules.pending import Pending
from stompcap.rules.record import Chapter, Decision, Judged
from stompcap.rules.text_masks import matched
from stompcap.session.clocks import LAST
from stompcap.stomp.syntax import Syntax

ESCAPES = Chapter("Escapes")
RETENTION = 65_536  # frames of the session: if the receiver has not gone on by then, nothing is said


@ESCAPES.rule(
    "FR-19", versions="1.1 1.2", side="both", level="M", observed="H",
    clause="1.2 Value Encoding; 1.1 STOMP Frames",
    breaks=r"""
        in 1.1
        C: SEND⏎destination:/queue/a⏎path:c\c\temp⏎⏎␀
    """,
    keeps=r"""
        in 1.1
        C: SEND⏎destination:/queue/a⏎path:c\c\\temp⏎⏎␀
    """,
)
def fr_19(ctx: RuleContext) -> Judged:
    r"""Only defined escapes are used.

    1.1 has \n, \c and \\, 1.2 has \r as well; any other, a backslash at the end of a line among them, is an error.
    Half of the libraries keep such an escape as it is, the other half close. CONNECT, STOMP and CONNECTED are not
    escaped and left out. Judged where a header has a backslash; not evaluable where the capture does not tell 1.1 from 1.2.
    """
    undefined = ctx.bits(Syntax.UNDEFINED_ESCAPE)
    return Judged(
        ctx.bits(Syntax.BACKSLASH) & ~ctx.handshake, undefined,
        lambda index: pc.binary_join_element_wise(
            "undefined escape:", ctx.lines(index, lambda n, v: matched(n, r"\\") | matched(v, r"\\")), " "),
        unevaluable=undefined & ctx.ambiguous,
    )


def _goes_on(ctx: RuleContext, pending: Pending) -> Decision:
    """The receiver has spoken after the time allowed, it has closed, or there were too many frames since (RETENTION)."""
    d = ctx.dialogue
    failed, latest = np.zeros(len(pending), bool), np.zeros(len(pending), np.int64)
    speech = ~ctx.of("ERROR", "DISCONNECT") & ctx.clocks.together(d.session, d.ordinal, np.full(len(d), LAST))
    by_client, by_server = (
        ctx.clocks.read_by(pending.receiver, pending.session, **{name: pending.key}) for name in ("client_ns", "server_ns")
    )
    limit = np.where(pending.receiver == SERVER, by_client, by_server)
    receivers, which = np.unique(pending.session * np.int64(2) + pending.receiver, return_inverse=True)
    bounds, at_ns = np.searchsorted(np.sort(which), np.arange(1, len(receivers))), ctx.frames.ts_ns
    for one, mine in zip(receivers.tolist(), np.split(np.argsort(which, kind="stable"), bounds), strict=True):
        session, receiver = divmod(one, 2)
        frames = np.arange(d.starts[session], d.starts[session + 1])
        spoke = frames[speech[frames] & (d.side[frames] == receiver)]
        found = np.append(spoke, -1)[np.searchsorted(np.maximum.accumulate(at_ns[spoke]), limit[mine], side="right")]
        failed[mine] = (found >= 0) & (d.ordinal[found] - pending.other_key[mine] <= RETENTION if len(d) else False)
        latest[mine] = d.ordinal[frames].max(initial=0)
    late = latest - pending.other_key > RETENTION
    closed_by = ctx.sessions.closed_by[pending.session]
    died = ((closed_by == pending.receiver) | (closed_by == BOTH)) & ~late
    comparable = ctx.clocks.together(pending.session, pending.other_key, np.full(len(pending), LAST))
    return Decision(decided=failed | late | ctx.closing[pending.session], failed=failed, unevaluable=(~failed & ~died) | ~comparable)


@ESCAPES.rule(
    "FR-19b", versions="1.1 1.2", side="both", level="M", observed="S", decide=_goes_on,
    clause="1.2 Value Encoding; 1.1 STOMP Frames",
    breaks=r"""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎path:\temp⏎⏎␀
        wait 2s
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:1⏎⏎␀
    """,
    keeps=r"""
        in 1.2
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎path:\temp⏎⏎␀
        S: ERROR⏎message:bad escape⏎⏎␀
        S closes
    """,
)
def fr_19b(ctx: RuleContext) -> Judged:
    """An undefined escape is fatal: its receiver closes the connection.

    Fails where the receiver goes on talking more than `fatal_escape_s` after the frame, with anything but ERROR or
    DISCONNECT; passes where it does not and closes the connection; otherwise the capture cannot tell. The side
    blamed is the receiver, and the frame named is the one it should have died of. RabbitMQ closes without an ERROR.
    """
    d = ctx.dialogue
    return Judged(
        applicable=ctx.bits(Syntax.UNDEFINED_ESCAPE) & ~ctx.handshake,
        failed=ctx.none(),
        unevaluable=ctx.ambiguous,
        blamed=(1 - d.side).astype(np.int64),
        evidence="the receiver goes on after {command} with an undefined escape",
        pending=True,
        key=np.stack([d.last_ns + ctx.limits.ns("fatal_escape_s"), d.ordinal], axis=1),
    )


@ESCAPES.rule(
    "FR-20", versions="1.1 1.2", side="both", level="M/I", observed="H",
    clause="1.2 and 1.1 Augmented BNF (header-value)",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎time:12:30⏎⏎␀
    """,
    keeps=r"""
        in 1.2
        C: SEND⏎destination:/queue/a⏎time:12\c30⏎⏎␀
    """,
)
def fr_20(ctx: RuleContext) -> Judged:
    r"""A colon in a header value is escaped.

    A colon is written \c, except in CONNECT, STOMP and CONNECTED, which are not escaped.

    Common, for webstomp and OpenMQ never escape and stompjs not in 1.1, and harmless to nearly all readers, who split
    a line at its first colon; Artemis drops the others. So the must of the grammar is informational here.
    """
    return Judged(~ctx.handshake, ctx.bits(Syntax.RAW_COLON), "{command} has an unescaped colon in a header value",
                  lenient=~ctx.none())


@ESCAPES.rule(
    "FR-21", versions="1.2", side="both", level="M", observed="H",
    clause="1.2 Value Encoding",
    keeps=r"""
        in 1.2
        C: SEND⏎destination:/queue/a⏎text:two\r\nlines⏎⏎␀
    """,
)
def fr_21(ctx: RuleContext) -> Judged:
    r"""A CR in a header is escaped as \r, an LF as \n.

    Passes where a header says \r or \n. A CR that was not escaped shows as a bare CR (FR-03), an LF as a line
    without colon (FR-15), and one that was written as another escape looks like what that escape means (Apollo
    writes LF as \c): other headers with a backslash are not evaluable.
    """
    d = ctx.dialogue
    escaped = ctx.bits(Syntax.BACKSLASH) & ~ctx.handshake
    has_break = ctx.none()
    index = np.flatnonzero(escaped & (d.version == 2))
    if len(index):
        lines = ctx.lines(index, lambda n, v: matched(n, r"[\r\n]") | matched(v, r"[\r\n]"))
        has_break[index] = np.asarray(pc.binary_length(lines)) > 0
    return Judged(escaped, ctx.none(), unevaluable=~has_break)


@ESCAPES.rule(
    "FR-22", versions="1.1 1.2", side="both", level="I", observed="H",
    clause="1.2 Value Encoding; 1.1 Augmented BNF",
    keeps="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎login:a:b⏎⏎␀
        S: CONNECTED⏎version:1.2⏎⏎␀
    """,
)
def fr_22(ctx: RuleContext) -> Judged:
    r"""CONNECT and CONNECTED are not escaped.

    For the sake of 1.0 peers these frames carry values as they are. The octets cannot tell: a \c may be meant
    literally. Frames with a backslash are not evaluable. go-stomp escapes CONNECT; RabbitMQ and Apollo escape
    CONNECTED. Whether STOMP counts as CONNECT the texts leave open; it is treated alike.
    """
    return Judged(ctx.handshake, ctx.none(), unevaluable=ctx.bits(Syntax.BACKSLASH))


@ESCAPES.rule(
    "FR-23", versions="1.1 1.2", side="both", level="M", observed="H",
    clause="1.2 Value Encoding; 1.1 STOMP Frames",
    keeps=r"""
        in 1.2
        C: SEND⏎destination:/queue/a⏎path:c\c\\temp⏎⏎␀
    """,
)
def fr_23(ctx: RuleContext) -> Judged:
    r"""A backslash is itself escaped.

    A lone backslash shows only as an undefined escape, which FR-19 reports; it may as well be an escape of another
    dialect, so such frames are not evaluable here. Headers whose escapes are all defined pass.
    """
    escaped = ctx.bits(Syntax.BACKSLASH) & ~ctx.handshake
    return Judged(escaped, ctx.none(), unevaluable=ctx.bits(Syntax.UNDEFINED_ESCAPE))
