"""Escapes: how a line feed, a colon, a backslash and, from 1.2 on, a carriage return are written inside headers."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from stompcap.places import END
from stompcap.rules.case import Case
from stompcap.rules.columns import matched
from stompcap.rules.record import Chapter, Judged
from stompcap.session.dialogue import I64
from stompcap.session.horizon import first_above, rising
from stompcap.stomp.syntax import Syntax

ESCAPES = Chapter("Escapes")


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
def fr_19(case: Case) -> Judged:
    r"""Only defined escapes are used.

    1.1 has \n, \c and \\, 1.2 has \r as well; any other, a backslash at the end of a line among them, is an error.
    Half of the libraries keep such an escape as it is, the other half close. CONNECT, STOMP and CONNECTED are not
    escaped and left out. Judged where a header has a backslash; not evaluable where the capture does not tell 1.1 from 1.2.
    """
    undefined = case.bits(Syntax.UNDEFINED_ESCAPE)
    return Judged(
        case.bits(Syntax.BACKSLASH) & ~case.handshake, undefined,
        lambda index: pc.binary_join_element_wise(
            "undefined escape:", case.lines(index, lambda n, v: matched(n, r"\\") | matched(v, r"\\")), " "),
        unevaluable=undefined & case.ambiguous,
    )


@ESCAPES.rule(
    "FR-19b", versions="1.1 1.2", side="both", level="M", observed="S",
    settles="when clear",
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
def fr_19b(case: Case) -> Judged:
    """An undefined escape is fatal: its receiver closes the connection.

    Fails where the receiver goes on talking more than `fatal_escape_s` after the frame, with anything but ERROR or
    DISCONNECT; passes where it does not and closes the connection; otherwise the capture cannot tell. The side
    blamed is the receiver, the place named is the frame it should have died of. RabbitMQ closes without an ERROR.
    """
    d, s = case.d, case.s
    receiver = 1 - d.side
    undefined = case.bits(Syntax.UNDEFINED_ESCAPE) & ~case.handshake
    told = _speech_after(case, np.flatnonzero(undefined), d.last_ns + case.limits.ns("fatal_escape_s"))
    went_on = told < END
    closed_by = s.closed_by[d.session]
    died = (closed_by == receiver) | (closed_by == 2)
    return Judged(
        applicable=undefined,
        failed=went_on,
        unevaluable=(~went_on & ~died) | case.ambiguous,
        told=told,
        blamed=receiver.astype(np.int8),
        evidence="the receiver goes on after {command} with an undefined escape",
    )


def _speech_after(case: Case, at: I64, limit_ns: I64) -> I64:
    """Of the frames at those indices, the place at which the receiver first says more after a time; END where it does not."""
    d = case.d
    found = np.full(len(d), END)
    if len(at):
        sender = d.session * np.int64(2) + d.side
        speech = np.flatnonzero(~case.of("ERROR", "DISCONNECT"))
        speech = speech[np.argsort(sender[speech], kind="stable")]
        spoken = rising(sender[speech], d.at_ns[speech])
        found[at] = first_above(sender[at] ^ 1, limit_ns[at], sender[speech], spoken, d.position[speech])
    return found


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
def fr_20(case: Case) -> Judged:
    r"""A colon in a header value is escaped.

    A colon is written \c, except in CONNECT, STOMP and CONNECTED, which are not escaped.

    Common, for webstomp and OpenMQ never escape and stompjs not in 1.1, and harmless to nearly all readers, who split
    a line at its first colon; Artemis drops the others. So the must of the grammar is informational here.
    """
    return Judged(~case.handshake, case.bits(Syntax.RAW_COLON), "{command} has an unescaped colon in a header value",
                  lenient=~case.none())


@ESCAPES.rule(
    "FR-21", versions="1.2", side="both", level="M", observed="H",
    clause="1.2 Value Encoding",
    keeps=r"""
        in 1.2
        C: SEND⏎destination:/queue/a⏎text:two\r\nlines⏎⏎␀
    """,
)
def fr_21(case: Case) -> Judged:
    r"""A CR in a header is escaped as \r, an LF as \n.

    Passes where a header says \r or \n. A CR that was not escaped shows as a bare CR (FR-03), an LF as a line
    without colon (FR-15), and one that was written as another escape looks like what that escape means (Apollo
    writes LF as \c): other headers with a backslash are not evaluable.
    """
    d = case.d
    escaped = case.bits(Syntax.BACKSLASH) & ~case.handshake
    shown = case.none()
    index = np.flatnonzero(escaped & (d.version == 2))
    if len(index):
        lines = case.lines(index, lambda n, v: matched(n, r"[\r\n]") | matched(v, r"[\r\n]"))
        shown[index] = np.asarray(pc.binary_length(lines)) > 0
    return Judged(escaped, case.none(), unevaluable=~shown)


@ESCAPES.rule(
    "FR-22", versions="1.1 1.2", side="both", level="I", observed="H",
    clause="1.2 Value Encoding; 1.1 Augmented BNF",
    keeps="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎login:a:b⏎⏎␀
        S: CONNECTED⏎version:1.2⏎⏎␀
    """,
)
def fr_22(case: Case) -> Judged:
    r"""CONNECT and CONNECTED are not escaped.

    For the sake of 1.0 peers these frames carry values as they are. The octets cannot tell: a \c may be meant
    literally. Frames with a backslash are not evaluable. go-stomp escapes CONNECT; RabbitMQ and Apollo escape
    CONNECTED. Whether STOMP counts as CONNECT the texts leave open; it is treated alike.
    """
    return Judged(case.handshake, case.none(), unevaluable=case.bits(Syntax.BACKSLASH))


@ESCAPES.rule(
    "FR-23", versions="1.1 1.2", side="both", level="M", observed="H",
    clause="1.2 Value Encoding; 1.1 STOMP Frames",
    keeps=r"""
        in 1.2
        C: SEND⏎destination:/queue/a⏎path:c\c\\temp⏎⏎␀
    """,
)
def fr_23(case: Case) -> Judged:
    r"""A backslash is itself escaped.

    A lone backslash shows only as an undefined escape, which FR-19 reports; it may as well be an escape of another
    dialect, so such frames are not evaluable here. Headers whose escapes are all defined pass.
    """
    escaped = case.bits(Syntax.BACKSLASH) & ~case.handshake
    return Judged(escaped, case.none(), unevaluable=case.bits(Syntax.UNDEFINED_ESCAPE))
