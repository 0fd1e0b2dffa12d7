"""Commands: which words there are, who may say them, and which comes first."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from stompcap.codes import CLIENT, JUNK, PARTIAL, SERVER
from stompcap.columns import truth
from stompcap.rules.context import RuleContext
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.session.dialogue import NACK, OTHER

COMMANDS = Chapter("Commands")


@COMMANDS.rule(
    "FR-04", versions=ALL_VERSIONS, side="both", level="M/I", observed="F",
    clause="1.2 STOMP Frames, Client Frames; 1.1 Augmented BNF (command); 1.0 Client Commands, Server Frames",
    breaks="""
        in 1.1
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀
        S: message⏎subscription:0⏎destination:/queue/a⏎message-id:1⏎⏎␀
    """,
    keeps="""
        in 1.1
        C: SUBSCRIBE⏎id:0⏎destination:/queue/a⏎⏎␀
        S: MESSAGE⏎subscription:0⏎destination:/queue/a⏎message-id:1⏎⏎␀
    """,
)
def fr_04(ctx: RuleContext) -> Judged:
    """The command is known and in upper case.

    Commands are case sensitive in 1.1 and 1.2 (1.0 has no word on case), and a server has only CONNECTED, MESSAGE,
    RECEIPT and ERROR to say. A client may try frames that the text does not know, so its failures are
    informational. Old CoilMQ servers send message and error in lower case.
    """
    d = ctx.dialogue
    unknown = d.command == OTHER
    cased = ~unknown & truth(pc.not_equal(d.column("command"), d.column("command_raw")))
    return Judged(
        applicable=~ctx.none(),
        failed=unknown | (cased & (d.version != 0)),
        unevaluable=cased & (d.version < 0),
        lenient=d.side == CLIENT,
        evidence="the command is {command_raw}",
    )


@COMMANDS.rule(
    "FR-05", versions="1.0", side="both", level="M", observed="F",
    clause="1.0 Client Commands",
    breaks="""
        in 1.0
        C: NACK⏎message-id:1⏎⏎␀
    """,
    keeps="""
        C: STOMP⏎accept-version:1.0,1.1⏎host:h⏎⏎␀
        S: CONNECTED⏎version:1.0⏎⏎␀
        C: ACK⏎message-id:1⏎⏎␀
    """,
)
def fr_05(ctx: RuleContext) -> Judged:
    """NACK and STOMP are no commands of 1.0.

    NACK and STOMP came with 1.1. A STOMP frame that opens the session is fine even if the server then settles on
    1.0, for the client could not know.
    """
    later = ctx.of("STOMP") & (ctx.facts.connects_before > 0)
    return Judged(~ctx.none(), (ctx.dialogue.command == NACK) | later, "{command} in a 1.0 session")


@COMMANDS.rule(
    "FR-06", versions=ALL_VERSIONS, side="both", level="M", observed="F",
    clause="1.2 and 1.1 Augmented BNF (client-command, server-command); 1.0 Client Commands, Server Frames",
    breaks="""
        in 1.2
        S: SEND⏎destination:/queue/a⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎⏎␀
    """,
)
def fr_06(ctx: RuleContext) -> Judged:
    """Clients send client commands, servers server commands.

    Each command belongs to one side. Where the TCP handshake was not captured, the client was itself found from the
    commands, which proves nothing: not evaluable. Nor is a frame right behind octets that begin none: it may be text of
    a torn one (ActiveMQ quotes unknown commands in its ERROR, NULs included).
    """
    d, streams, wrong = ctx.dialogue, ctx.dialogue.streams, ctx.misplaced
    torn = np.zeros(len(ctx.raw), bool)
    torn[1:] = np.isin(ctx.raw.kind[:-1], (JUNK, PARTIAL)) & ctx.raw.follows[1:]
    seen = truth(pc.or_kleene(streams.column("syn_seen"), streams.column("synack_seen")).combine_chunks())
    return Judged(d.command != OTHER, wrong, "{command} from the wrong side",
                  unevaluable=wrong & (~seen[d.session] | d.of_rows(torn)))


@COMMANDS.rule(
    "FR-14", versions=ALL_VERSIONS, side="both", level="M", observed="S",
    clause="1.2, 1.1 and 1.0 Connecting",
    breaks="""
        C: SEND⏎destination:/queue/a⏎⏎hello␀
    """,
    keeps="""
        C: CONNECT⏎accept-version:1.2⏎host:h⏎⏎␀
        S: CONNECTED⏎version:1.2⏎⏎␀
    """,
)
def fr_14(ctx: RuleContext) -> Judged:
    """A client begins with CONNECT or STOMP, a server with CONNECTED or ERROR.

    The first frame of each direction opens the session. Not evaluable where the beginning of the direction was not
    captured.

    RabbitMQ can be set to do without CONNECT (implicit_connect). That is the client's fault alone: what a server says to
    a client that has sent no CONNECT is not evaluable.
    """
    right = np.where(ctx.dialogue.side == CLIENT, ctx.of("CONNECT", "STOMP"), ctx.of("CONNECTED", "ERROR"))
    unasked = (ctx.dialogue.side == SERVER) & (ctx.facts.connects_before == 0)
    return Judged(ctx.facts.previous < 0, ~right, "the first frame is {command}", unevaluable=~right & (ctx.missed | unasked))
