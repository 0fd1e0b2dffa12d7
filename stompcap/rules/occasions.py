r"""What exercises each rule: the traffic without which it is not judged, in words, and where the engine's opportunities are too many.

The engine counts an opportunity wherever a rule could have been broken. Some rules hold of every frame for want of the content that
they are about: no colon is unescaped where no value has one. For a verdict on an implementation such an opportunity has tried nothing, so
these rules have a narrower condition here. A failure always counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from stompcap.columns import Bools
from stompcap.rules.context import RuleContext
from stompcap.rules.text_masks import matched
from stompcap.stomp.syntax import Syntax


@dataclass(frozen=True)
class Occasion:
    """What exercises a rule: in words, and as a mask of frames that narrows its opportunities; None where these are right."""

    words: str
    tried: Callable[[RuleContext], Bools] | None = None


def _later(ctx: RuleContext, some: Bools) -> Bools:
    """These frames without the first of each session."""
    later, index = ctx.none(), np.flatnonzero(some)
    _, first = np.unique(ctx.dialogue.session[index], return_index=True)
    later[np.delete(index, first)] = True
    return later


def _colons(ctx: RuleContext) -> Bools:
    r"""Frames with a header value that has a colon, written as it is or as \c; the values here are unescaped."""
    found, index = ctx.bits(Syntax.RAW_COLON).copy(), np.flatnonzero(ctx.bits(Syntax.BACKSLASH))
    if len(index):
        found[index] |= np.asarray(pc.binary_length(ctx.lines(index, lambda _, values: matched(values, ":")))) > 0
    return found


def _of(command: str) -> Callable[[RuleContext], Bools]:
    """All frames of a command but the first of each session."""
    return lambda ctx: _later(ctx, ctx.of(command))


def _lists(ctx: RuleContext) -> Bools:
    """CONNECT frames that offer more than one version."""
    return ctx.matches("accept-version", ",", ctx.of("CONNECT", "STOMP"))


def _chooses(ctx: RuleContext) -> Bools:
    """CONNECTED frames of sessions whose client offered more than one version."""
    several = np.zeros(len(ctx.dialogue.streams), bool)
    several[ctx.dialogue.session[_lists(ctx)]] = True
    return several[ctx.dialogue.session]


FRAME, EOL = Occasion("a frame"), Occasion("an EOL between frames")
BODY = Occasion("a SEND, MESSAGE or ERROR with a body")
WEBSOCKET, UPGRADE = Occasion("a frame of WebSocket"), Occasion("a handshake of WebSocket")
BEATS = "agreed heart-beats in a session that lasts longer than their interval"

OCCASIONS: dict[str, Occasion] = {
    "FR-01": FRAME,
    "FR-02": Occasion("a frame other than CONNECT and CONNECTED in 1.0 or 1.1"),
    "FR-03": Occasion("a frame in 1.2"),
    "FR-04": FRAME,
    "FR-05": Occasion("a frame in 1.0"),
    "FR-06": FRAME,
    "FR-07": Occasion("a frame with content-length"),
    "FR-08": Occasion("a frame with content-length"),
    "FR-09": Occasion("a body with a NUL in it", lambda ctx: ctx.bits(Syntax.BODY_NUL)),
    "FR-10": Occasion("a frame other than SEND, MESSAGE and ERROR"),
    "FR-11": FRAME,
    "FR-12": Occasion("an EOL between frames in 1.0 or 1.1"),
    "FR-13": Occasion("the beginning of a connection"),
    "FR-14": Occasion("the beginning of a connection"),
    "FR-15": FRAME,
    "FR-16": Occasion("a frame in 1.0"),
    "FR-17": Occasion("a frame in 1.0"),
    "FR-18": Occasion("a header with characters beyond US-ASCII", lambda ctx: ctx.bits(Syntax.NON_ASCII)),
    "FR-19": Occasion("a backslash in a header"),
    "FR-19b": Occasion("an undefined escape sent to that side"),
    "FR-20": Occasion("a colon in a header value", _colons),
    "FR-21": Occasion("a line feed or carriage return in a header value"),
    "FR-22": Occasion("a colon or backslash in a value of CONNECT or CONNECTED",
                      lambda ctx: ctx.bits(Syntax.RAW_COLON | Syntax.BACKSLASH)),
    "FR-23": Occasion("a backslash in a header"),
    "FR-24": FRAME,
    "FR-25": FRAME,
    "FR-26": BODY,
    "FR-27": BODY,
    "FR-28": Occasion("a frame with content-type"),
    "FR-29": Occasion("a body whose content-type is text or XML"),
    "FR-30": Occasion("a frame over a limit of the server"),
    "FR-31": Occasion("a body whose content-type names a charset"),
    "CN-01": Occasion("a CONNECT of a session in 1.1 or 1.2"),
    "CN-02": Occasion("a CONNECT that offers 1.1 or 1.2"),
    "CN-03": Occasion("a CONNECT that offers several versions", _lists),
    "CN-04": Occasion("a CONNECT with accept-version"),
    "CN-05": Occasion("a CONNECT or STOMP frame with accept-version"),
    "CN-06": Occasion("a CONNECT"),
    "CN-07": Occasion("a frame behind CONNECT"),
    "CN-08": Occasion("a CONNECT"),
    "CN-09": Occasion("a CONNECTED in 1.1 or 1.2"),
    "CN-09b": Occasion("a CONNECTED with version"),
    "CN-10": Occasion("a CONNECTED after an offer of several versions", _chooses),
    "CN-11": Occasion("a CONNECT that offers only versions that the server does not have"),
    "CN-12": Occasion("a CONNECT that the server refuses"),
    "CN-13": Occasion("a STOMP frame"),
    "CN-14": Occasion("a CONNECTED with server"),
    "CN-15": Occasion("a CONNECTED in 1.0"),
    "CN-16": Occasion("a CONNECTED with session, on more than one connection"),
    "CN-17": Occasion("a heart-beat header in 1.1 or 1.2"),
    "CN-18": Occasion("a CONNECT or CONNECTED in 1.0"),
    "CN-19": Occasion("a CONNECT"),
    "CN-20": Occasion("a CONNECT"),
    "CN-21": Occasion("a refused CONNECT with host"),
    "HB-01": Occasion(BEATS),
    "HB-02": Occasion(BEATS),
    "HB-03": Occasion("a side that offers no heart-beats to one that does"),
    "HB-04": Occasion("a heart-beat in 1.1"),
    "HB-05": Occasion("a connection closed by the side that waits for heart-beats"),
    "HB-06": Occasion("agreed heart-beats that stay out for intervals"),
    "HB-07": EOL,
    "HB-08": Occasion("a connection without heart-beats that ends after silence"),
    "HB-09": Occasion("a heart-beat header that announces an interval"),
    "SN-01": Occasion("a SEND"),
    "SN-02": Occasion("a SEND in a transaction"),
    "SN-03": Occasion("a SEND with headers of the user"),
    "SN-04": Occasion("a MESSAGE in 1.2"),
    "SN-05": Occasion("a SEND that the server cannot process"),
    "SN-06": Occasion("a SEND"),
    "SB-01": Occasion("a SUBSCRIBE"),
    "SB-02": Occasion("a SUBSCRIBE in 1.1 or 1.2"),
    "SB-03": Occasion("a second SUBSCRIBE of a connection in 1.2", _of("SUBSCRIBE")),
    "SB-04": Occasion("a SUBSCRIBE with ack"),
    "SB-05": Occasion("a SUBSCRIBE that the server cannot process"),
    "SB-06": Occasion("an UNSUBSCRIBE in 1.1 or 1.2"),
    "SB-07": Occasion("an UNSUBSCRIBE with id in 1.1 or 1.2"),
    "SB-08": Occasion("an UNSUBSCRIBE that is known to be processed"),
    "SB-09": Occasion("a second SUBSCRIBE of a connection", _of("SUBSCRIBE")),
    "MS-01": Occasion("a MESSAGE"),
    "MS-02": Occasion("a MESSAGE"),
    "MS-03": Occasion("a second MESSAGE of a connection in 1.2", _of("MESSAGE")),
    "MS-04": Occasion("a MESSAGE in 1.1 or 1.2"),
    "MS-05": Occasion("a MESSAGE in 1.2 of a subscription in mode client or client-individual"),
    "MS-06": Occasion("a MESSAGE"),
    "MS-07": Occasion("a MESSAGE in 1.2 of a subscription in mode auto"),
    "MS-08": Occasion("a second MESSAGE with ack of a connection in 1.2", _of("MESSAGE")),
    "MS-09": Occasion("a MESSAGE"),
    "AK-01": Occasion("an ACK in 1.0"),
    "AK-02": Occasion("an ACK or NACK in 1.1"),
    "AK-03": Occasion("an ACK or NACK in 1.2"),
    "AK-04": Occasion("an ACK or NACK that names a MESSAGE"),
    "AK-05": Occasion("an ACK or NACK in 1.1 that names a MESSAGE and a subscription"),
    "AK-06": Occasion("an ACK or NACK that names a MESSAGE"),
    "AK-07": Occasion("a second ACK or NACK of a connection", lambda ctx: _later(ctx, ctx.of("ACK", "NACK"))),
    "AK-08": Occasion("an ACK or NACK in 1.0"),
    "AK-09": Occasion("a MESSAGE of a subscription in mode client or client-individual"),
    "AK-10": Occasion("an ACK or NACK that names a MESSAGE"),
    "AK-11": Occasion("an ACK or NACK in 1.2"),
    "AK-12": Occasion("an ACK in mode client-individual, and a broker that shows what it settled"),
    "AK-13": Occasion("a MESSAGE that is delivered again"),
    "AK-14": Occasion("a NACK in mode client in 1.1"),
    "TX-01": Occasion("a BEGIN"),
    "TX-02": Occasion("a COMMIT or ABORT"),
    "TX-03": Occasion("a second BEGIN of a connection in 1.2", _of("BEGIN")),
    "TX-04": Occasion("a COMMIT or ABORT with transaction"),
    "TX-05": Occasion("an ACK or NACK in a transaction"),
    "TX-06": Occasion("a frame in a transaction"),
    "TX-07": Occasion("a transaction"),
    "TX-08": Occasion("a transaction that is ended"),
    "RC-01": Occasion("a RECEIPT"),
    "RC-02": Occasion("a RECEIPT with receipt-id"),
    "RC-03": Occasion("a frame other than DISCONNECT that asks for a receipt"),
    "RC-04": Occasion("a RECEIPT that answers a request"),
    "RC-05": Occasion("receipts asked for by several frames"),
    "RC-06": Occasion("an ERROR that answers a frame with receipt"),
    "RC-07": Occasion("a second frame of a connection that asks for a receipt", lambda ctx: _later(ctx, ctx.has("receipt"))),
    "ER-01": Occasion("an ERROR"),
    "ER-02": Occasion("an ERROR in 1.1 or 1.2"),
    "ER-03": Occasion("an ERROR in 1.2"),
    "ER-04": Occasion("an ERROR over a frame with receipt"),
    "ER-05": Occasion("an ERROR with a body"),
    "ER-06": Occasion("an ERROR over a frame"),
    "DS-01": Occasion("a DISCONNECT, captured to the end of the connection"),
    "DS-02": Occasion("a DISCONNECT"),
    "DS-03": Occasion("a DISCONNECT with receipt, captured to the end of the connection"),
    "DS-04": Occasion("a connection that the client closes"),
    "DS-05": Occasion("a DISCONNECT with receipt, captured to the end of the connection"),
    "DS-06": Occasion("a DISCONNECT that is answered by RECEIPT"),
    "DS-07": Occasion("a connection that ends"),
    "TR-01": UPGRADE,
    "TR-02": Occasion("a handshake of WebSocket with a sub-protocol"),
    "TR-03": Occasion("a handshake of WebSocket with a sub-protocol of STOMP"),
    "TR-04": WEBSOCKET,
    "TR-05": WEBSOCKET,
    "TR-06": WEBSOCKET,
    "TR-07": Occasion("a control frame of WebSocket"),
    "TR-08": Occasion("a fragmented message of WebSocket"),
    "TR-09": Occasion("a Close of WebSocket"),
    "TR-10": Occasion("a Close of WebSocket with a code"),
    "TR-11": Occasion("a Close of WebSocket"),
    "TR-12": Occasion("a connection in TLS, captured to its end"),
    "TR-13": Occasion("a PROXY header with a CRC32C"),
    "TR-14": Occasion("a text message of WebSocket"),
}
"""By rule id."""
UNTOLD = Occasion("what its text says")


def occasion(rule_id: str) -> Occasion:
    """That of a rule; of one that is not listed, the engine's opportunities."""
    return OCCASIONS.get(rule_id, UNTOLD)
