"""TLS, and PROXY's headers."""

from __future__ import annotations

from dataclasses import replace

from stompcap.rules.context import RuleContext
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.rules.transporting.checked import checked
from stompcap.rules.transporting.ends import left_without
from stompcap.tables import words

BELOW = Chapter("TLS and PROXY")


@BELOW.rule(
    "TR-12", versions=ALL_VERSIONS, side="both", level="S", observed="L", negotiated=False,
    clause="RFC 8446, 6.1; RFC 5246, 7.2.1",
    breaks="""
        in 1.2
        C breaks close_notify
        C closes
        S closes
    """,
    keeps="""
        in 1.2
        C keeps close_notify
        C closes
        S closes
    """,
)
def tr_12(ctx: RuleContext) -> Judged:
    """close_notify comes before the end of a TLS stream.

    Without it the other side cannot tell the end from a connection that somebody cut. Judged where the records of the side were opened: it
    fails if its FIN came without the alert, and passes where one side gave up with a fatal alert. Not evaluable where records are missing,
    the connection was reset, or is open.

    The RFCs say MUST. It is a SHOULD here, for a STOMP frame has an end of its own, and many programs close the socket at once.
    """
    found = checked(ctx, "close_notify")
    failed, unknown = left_without(ctx, found)
    ends = ctx.end_of_stream(found.units.session, found.units.side)
    judged = found.judged(failed, unknown, lambda at: f"the {words.SIDES[found.units.side[at]]} closed without close_notify")
    return replace(judged, units=ends)


@BELOW.rule(
    "TR-13", versions=ALL_VERSIONS, side="client", level="M", observed="L", negotiated=False,
    clause="The PROXY protocol, 2.2.3 (PP2_TYPE_CRC32C)",
    breaks="C breaks checksum the checksum is not that of the header",
    keeps="C keeps checksum",
)
def tr_13(ctx: RuleContext) -> Judged:
    """The CRC32C in a PROXY header is that of the header.

    Of version 2, where the balancer adds one; a receiver must refuse the connection otherwise. It is the balancer's, which opens the
    connection, so the client is blamed.
    """
    return checked(ctx, "checksum").judged()
