"""Header lines: their form, their characters, their repetition."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.columns import I64, Bools, truth
from stompcap.rules.context import RuleContext
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.rules.text_masks import matched
from stompcap.stomp.syntax import Syntax

HEADERS = Chapter("Headers")


def _line(ctx: RuleContext, words: str, wanted: Callable[[pa.Array, pa.Array], Bools]) -> Callable[[I64], pa.Array]:
    """Evidence that quotes the first header line that `wanted` chooses."""
    return lambda index: pc.binary_join_element_wise(words, ctx.lines(index, wanted), " ")


@HEADERS.rule(
    "FR-15", versions=ALL_VERSIONS, side="both", level="M", observed="H",
    clause="1.2 and 1.1 Augmented BNF (header); 1.0 Protocol",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎priority=4⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎priority:4⏎⏎␀
    """,
)
def fr_15(ctx: RuleContext) -> Judged:
    """A header line is a name, a colon and a value.

    The name has at least one octet and a colon follows it. ActiveMQ's own tests send a line without colon; readers
    differ in whether they drop the line, keep it with an empty value or close the connection.
    """
    return Judged(
        ~ctx.none(), ctx.bits(Syntax.NO_COLON | Syntax.EMPTY_NAME),
        _line(ctx, "no header:", lambda names, values: truth(values.is_null()) | truth(pc.equal(names, ""))),
    )


@HEADERS.rule(
    "FR-16", versions="1.0", side="both", level="M/I", observed="H",
    clause="1.0 Protocol",
    breaks="""
        in 1.0
        C: SEND⏎destination:/queue/a⏎type:⏎⏎␀
    """,
    keeps="""
        in 1.0
        C: SEND⏎destination:/queue/a⏎type:text⏎⏎␀
    """,
)
def fr_16(ctx: RuleContext) -> Judged:
    """A 1.0 header value is not empty.

    Grammars written for 1.0 ask for at least one character.

    Nobody ever enforced it and 1.1 dropped it, so the must of the grammar is informational here. Where an empty value
    names nothing that a command needs, the rule about that header tells (SN-01, SB-01, ...).
    """
    return Judged(~ctx.none(), ctx.bits(Syntax.EMPTY_VALUE),
                  _line(ctx, "empty value:", lambda names, values: truth(pc.equal(pc.utf8_trim(values, " \r"), ""))),
                  lenient=~ctx.none())


@HEADERS.rule(
    "FR-17", versions="1.0", side="both", level="M/I", observed="H",
    clause="1.0 Protocol",
    breaks="""
        in 1.0
        C: SEND⏎destination:/queue/caf\\xe9⏎⏎␀
    """,
    keeps="""
        in 1.0
        C: SEND⏎destination:/queue/cafe⏎⏎␀
    """,
)
def fr_17(ctx: RuleContext) -> Judged:
    """1.0 headers are US-ASCII.

    An octet above 127 in command or headers fails.

    UTF-8 is common there in the wild, peers pass it on unharmed and 1.1 made it the rule: where the octets are valid
    UTF-8 the failure is informational. What is neither, such as Latin-1, reads differently at every peer.
    """
    foreign = r"[^\x00-\x7f]|\\x"
    return Judged(~ctx.none(), ctx.bits(Syntax.NON_ASCII),
                  _line(ctx, "not US-ASCII:", lambda n, v: matched(n, foreign) | matched(v, foreign)),
                  lenient=~ctx.bits(Syntax.NON_UTF8))


@HEADERS.rule(
    "FR-18", versions="1.1 1.2", side="both", level="M", observed="H",
    clause="1.2 Value Encoding; 1.1 STOMP Frames",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/caf\\xe9⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/café⏎⏎␀
    """,
)
def fr_18(ctx: RuleContext) -> Judged:
    """Command and headers are UTF-8.

    Octets that are no UTF-8 stay visible in the tables as backslash escapes and whole in raw_frames. RabbitMQ
    accepts any.
    """
    return Judged(~ctx.none(), ctx.bits(Syntax.NON_UTF8), "command or headers of {command} are not UTF-8")


@HEADERS.rule(
    "FR-24", versions="1.1 1.2", side="both", level="M", observed="H",
    clause="1.2 Value Encoding; 1.1 STOMP Frames",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎content-type:text/plain⏎content-length: 5⏎⏎hello␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎content-type:text/plain⏎content-length:5⏎note: padded⏎⏎hello␀
    """,
)
def fr_24(ctx: RuleContext) -> Judged:
    """Headers are not padded with spaces.

    1.0 peers trimmed values, 1.1 forbids to pad or trim. A user's own header may well begin with a space, so only
    headers of the protocol are judged, such as content-length, heart-beat, id, ack, receipt, transaction and
    version.
    """
    return Judged(~ctx.none(), ctx.bits(Syntax.PADDED),
                  _line(ctx, "padded:", lambda n, v: matched(n, r"^ | $") | matched(v, r"^ | $")))


@HEADERS.rule(
    "FR-25", versions=ALL_VERSIONS, side="both", level="S/I", observed="H",
    clause="1.2 and 1.1 Repeated Header Entries",
    breaks="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎destination:/queue/b⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎destination:/queue/a⏎colour:red⏎⏎␀
    """,
)
def fr_25(ctx: RuleContext) -> Judged:
    """A header is there once; of repeated ones the first counts.

    Repetition is legal, for intermediaries put newer values in front, so it is informational. It is raised where a
    header of the protocol is repeated with another value: two readers may then see two different frames.
    """
    return Judged(~ctx.none(), ctx.bits(Syntax.REPEATED), lambda index: _repeated(ctx, index),
                  lenient=~ctx.bits(Syntax.CONFLICTING))


def _repeated(ctx: RuleContext, index: I64) -> pa.Array:
    """Evidence that names the first repeated header."""
    headers = ctx.dialogue.some("headers", index)
    names = pc.struct_field(pc.list_flatten(headers), "name")
    codes = np.asarray(pc.fill_null(names.dictionary_encode().indices, -1)).astype(np.int64)
    keys = np.asarray(pc.list_parent_indices(headers)).astype(np.int64) * (codes.max(initial=0) + 2) + codes
    again = np.ones(len(keys), bool)
    again[np.unique(keys, return_index=True)[1]] = False
    return pc.binary_join_element_wise("repeated:", ctx.lines(index, lambda n, v: again), " ")
