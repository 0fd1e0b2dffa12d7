"""WebSocket: the handshake, frames, and how it is closed."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from stompcap.columns import coded
from stompcap.rules.context import RuleContext
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.rules.transporting.checked import checked
from stompcap.rules.transporting.ends import left_without
from stompcap.tables import words

WEBSOCKET = Chapter("WebSocket")
OF_SUBPROTOCOL = {"v10.stomp": "1.0", "v11.stomp": "1.1", "v12.stomp": "1.2"}


@WEBSOCKET.rule(
    "TR-01", versions=ALL_VERSIONS, side="server", level="M", observed="L", negotiated=False,
    clause="RFC 6455, 4.2.2 and 1.3",
    breaks="S breaks accept Sec-WebSocket-Accept does not answer the key",
    keeps="S keeps accept",
)
def tr_01(ctx: RuleContext) -> Judged:
    """Sec-WebSocket-Accept answers the client's key.

    It is the base64 of the SHA-1 of Sec-WebSocket-Key and a fixed GUID: a server that does not know WebSocket cannot give it. Judged where
    both heads were captured.
    """
    return checked(ctx, "accept").judged()


@WEBSOCKET.rule(
    "TR-02", versions=ALL_VERSIONS, side="server", level="M", observed="L", negotiated=False,
    clause="RFC 6455, 4.2.2 and 4.1",
    breaks="S breaks subprotocol stomp of none",
    keeps="S keeps subprotocol",
)
def tr_02(ctx: RuleContext) -> Judged:
    """The sub-protocol chosen is one that the client asked for.

    A client must fail the connection otherwise. Judged where the server chose one; not evaluable where the request was not captured or the
    name is none of STOMP's, for such names may be tokens and are masked.

    ActiveMQ Classic answers `stomp` though none was asked for.
    """
    return checked(ctx, "subprotocol").judged()


@WEBSOCKET.rule(
    "TR-03", versions=ALL_VERSIONS, side="server", level="I", observed="L", negotiated=False,
    clause="none; IANA, WebSocket Subprotocol Name Registry",
    breaks="""
        in 1.1
        S keeps version v12.stomp
    """,
    keeps="""
        in 1.2
        S keeps version v12.stomp
    """,
)
def tr_03(ctx: RuleContext) -> Judged:
    """The sub-protocol names the version in CONNECTED.

    `v10.stomp`, `v11.stomp` and `v12.stomp` stand for STOMP 1.0, 1.1 and 1.2. No text says that CONNECTED has to agree; a client that goes
    by the name reads frames wrongly where it does not. Judged where a CONNECTED was captured; not evaluable where its version is not sure.
    """
    found = checked(ctx, "version")
    session = found.units.session
    there = ctx.first["connected"].there & ctx.first["connected"].trusted
    said = coded(pa.array([OF_SUBPROTOCOL.get(one) for one in found.seen], pa.string()), words.VERSIONS)
    version, possible = ctx.sessions.version[session], ctx.possible[session]
    single = (possible & (possible - 1)) == 0
    differs = (said >= 0) & (said != version)
    names = (*words.VERSIONS, "unknown")
    unsure = ~there[session] | (version < 0) | ~single
    judged = found.judged(differs, unsure, lambda at: f"{found.seen[at]}, and CONNECTED has {names[version[at]]}")
    return replace(judged, applicable=said >= 0)


@WEBSOCKET.rule(
    "TR-04", versions=ALL_VERSIONS, side="both", level="M", observed="L", negotiated=False,
    clause="RFC 6455, 5.1 and 5.3",
    breaks="C breaks mask wrong mask",
    keeps="""
        C keeps mask
        S keeps mask
    """,
)
def tr_04(ctx: RuleContext) -> Judged:
    """The client's frames are masked, the server's are not.

    Who receives another kind must close the connection. Not evaluable where the direction's first frames were not captured, or heads of
    frames are missing.
    """
    return checked(ctx, "mask").judged()


@WEBSOCKET.rule(
    "TR-05", versions=ALL_VERSIONS, side="both", level="M", observed="L", negotiated=False,
    clause="RFC 6455, 5.2; RFC 7692, 6",
    breaks="S breaks reserved RSV1 without reason",
    keeps="S keeps reserved",
)
def tr_05(ctx: RuleContext) -> Judged:
    """Reserved bits are zero and opcodes are known.

    RSV1 belongs to the first frame of a compressed message, if permessage-deflate was agreed on; RSV2, RSV3, opcodes 3 to 7 and from 11 on
    mean nothing, nor does a length above 2^63. What follows such a head cannot be read.
    """
    return checked(ctx, "reserved").judged()


@WEBSOCKET.rule(
    "TR-06", versions=ALL_VERSIONS, side="both", level="M", observed="L", negotiated=False,
    clause="RFC 6455, 5.2",
    breaks="C breaks length length not in the shortest form",
    keeps="C keeps length",
)
def tr_06(ctx: RuleContext) -> Judged:
    """Lengths of frames have the shortest form.

    Up to 125 in seven bits, up to 65,535 in 16, others in 64.
    """
    return checked(ctx, "length").judged()


@WEBSOCKET.rule(
    "TR-07", versions=ALL_VERSIONS, side="both", level="M", observed="L", negotiated=False,
    clause="RFC 6455, 5.5",
    breaks="S breaks control control frame too large",
    keeps="S keeps control",
)
def tr_07(ctx: RuleContext) -> Judged:
    """Control frames have at most 125 octets and are not fragmented.

    Ping, pong and Close may lie between the fragments of a message. Judged for a side that sent one.
    """
    return checked(ctx, "control").judged()


@WEBSOCKET.rule(
    "TR-08", versions=ALL_VERSIONS, side="both", level="M", observed="L", negotiated=False,
    clause="RFC 6455, 5.4",
    breaks="C breaks fragments message not continued",
    keeps="C keeps fragments",
)
def tr_08(ctx: RuleContext) -> Judged:
    """The fragments of one message are not mixed with those of another.

    A message that was begun is continued by frames of opcode 0 up to the one with FIN; opcode 0 continues nothing else.
    """
    return checked(ctx, "fragments").judged()


@WEBSOCKET.rule(
    "TR-09", versions=ALL_VERSIONS, side="both", level="M", observed="L", negotiated=False,
    clause="RFC 6455, 5.5.1",
    breaks="S breaks after_close frame behind Close",
    keeps="S keeps after_close",
)
def tr_09(ctx: RuleContext) -> Judged:
    """No message follows a Close.

    Judged for a side that sent a Close.
    """
    return checked(ctx, "after_close").judged()


@WEBSOCKET.rule(
    "TR-10", versions=ALL_VERSIONS, side="both", level="M", observed="L", negotiated=False,
    clause="RFC 6455, 5.5.1, 7.4.1 and 7.4.2",
    breaks="C breaks close_code 1006",
    keeps="C keeps close_code 1000",
)
def tr_10(ctx: RuleContext) -> Judged:
    """The code of a Close is one that may be sent.

    Codes below 1000 and above 4999 mean nothing; 1004, 1005, 1006 and 1015 say what happened where no Close was seen, and are never sent. A
    payload of one octet has no code. Judged at the first Close of each side that has a payload.

    4000 to 4999 are private: Spring closes slow readers with 4500.
    """
    found = checked(ctx, "close_code")
    return found.judged(seen=lambda at: f"a Close with {found.seen[at]}")


@WEBSOCKET.rule(
    "TR-11", versions=ALL_VERSIONS, side="both", level="I", observed="L", negotiated=False,
    clause="RFC 6455, 5.5.1 and 7.1.1",
    breaks="""
        in 1.2
        C breaks close_answer
        C closes
        S closes
    """,
    keeps="""
        in 1.2
        C keeps close_answer
        C closes
        S closes
    """,
)
def tr_11(ctx: RuleContext) -> Judged:
    """A Close is answered by a Close.

    The text says MUST. Judged where one side sent the first Close: the other fails if it ends its stream without one, and all that it sent
    was captured. Not evaluable where the connection was reset, or is open.

    Both may have ended at the same time, and a Close on its way is not seen by who ends meanwhile: INFO. Artemis answers with RST.
    """
    found = checked(ctx, "close_answer")
    failed, unknown = left_without(ctx, found)
    who = words.SIDES
    return found.judged(failed, unknown, lambda at: f"the {who[found.units.side[at]]} ended without a Close; "
                        f"the {who[1 - found.units.side[at]]} had sent one")


@WEBSOCKET.rule(
    "TR-14", versions=ALL_VERSIONS, side="both", level="M", observed="L", negotiated=False,
    clause="RFC 6455, 5.6 and 8.1",
    breaks="S breaks utf8 a text message that is no UTF-8",
    keeps="S keeps utf8",
)
def tr_14(ctx: RuleContext) -> Judged:
    """Text messages are UTF-8.

    Who receives another one must fail the connection; Chromium does. Judged for a side that sent text messages, compressed ones too; not
    evaluable where octets of messages are missing.

    RabbitMQ sends every MESSAGE as text unless it is set to binary, and ActiveMQ always does: a body that is no text breaks it.
    """
    return checked(ctx, "utf8").judged()
