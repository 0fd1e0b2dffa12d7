"""Why each session ended: one of words.CLOSE_CAUSES, and what shows it.

The causes stand in one table (`_fitting`), each with what must have been captured for it; the first that fits is the word. Octets that are
missing behind the last frame of a side may hide a DISCONNECT or an ERROR: they leave no cause that either would change. That a whole broker
stopped, and what a layer below STOMP said at its close, shows only beside other tables: view `session_ends`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.codes import CLIENT, CLOSE_OPEN, CLOSE_RST, OUTCOME_CONNECTED, OUTCOME_REFUSED, SERVER, TRANSPORT_TLS
from stompcap.columns import I64, Bools, worded
from stompcap.session import counters
from stompcap.session.clocks import LAST, Clocks
from stompcap.session.dialogue import Dialogue
from stompcap.session.facts import SessionFacts
from stompcap.session.firsts import LATEST, OfSessions
from stompcap.session.layout import Records
from stompcap.tables import words

SECOND_NS = 1_000_000_000
CUT_OFFS_S = (30, 50, 60, 90, 350, 600)
"""Seconds of silence after which balancers, proxies and brokers cut off as shipped: nginx, ELB and Artemis 60 s, NLB 350 s, ..."""

ROUND = 0.02  # a cut-off is recognised within this part of it
ERROR_CLOSES_NS = 10 * SECOND_NS  # RabbitMQ ends a refused login after its login_timeout, 10 s; no broker takes longer to act on an ERROR
PROMPTER = 3  # a server that closes this many times sooner behind DISCONNECT than behind its ERROR closes for the DISCONNECT
SAYS = {
    # ActiveMQ and Apollo: "The maximum data length was exceeded", also of headers, command and frame; RabbitMQ: max_message_size
    "size_limit": r"(?i)\bmaximum [a-z ]*was exceeded|\bmessage size \d+ is larger than\b|\bframe size\b.*\b(exceed|larger)",
    # RabbitMQ's consumer_timeout; ActiveMQ's AbortSlowConsumerStrategy
    "slow_consumer": r"(?i)\bdelivery acknowledgement on channel \d+ timed out|\bslow consumer",
    # Artemis: AMQ229014 "Did not receive data from ... within the 60000ms connection TTL"; ActiveMQ's InactivityMonitor
    "idle_cut": r"(?i)\bconnection TTL\b|\binactiv|\bwas idle\b|\bidle for\b",
}
"""What brokers' ERRORs say, in message or body, where a cause is a limit of theirs."""

TEXT = 80  # characters of an ERROR that evidence quotes


@dataclass(frozen=True)
class Ends:
    """What the causes are told by; one entry per session, of shape (sessions, 2) where it is per side; durations in nanoseconds.

    hidden      per side: octets are missing behind its last frame, or all of it is
    silent      from the last sign of life of either side to the close; negative where it cannot be measured, or one spoke behind the close
    cut         per side: how long it had been silent against what was agreed when the other closed for that; 0 where it was not so
    repeating   per side: how long it had been repeating, unanswered, what it sent last, up to the last packet; 0 where it was not so
    said        the ERROR behind which the server sent no frame, if it came within ERROR_CLOSES_NS of the close
    answered    from that ERROR to the close
    left        from DISCONNECT to the close; -1 where it cannot be measured
    late        DISCONNECT came behind the server's close, so that it ended nothing
    steady      no clock stepped from the first frame on, so that silences could be measured
    """

    hidden: Bools
    silent: I64
    cut: I64
    repeating: I64
    said: Bools
    answered: I64
    left: I64
    late: Bools
    steady: Bools


def survey_ends(
    dialogue: Dialogue, first: Mapping[str, OfSessions], facts: SessionFacts, counted: Records, beats: Records, clocks: Clocks
) -> Ends:
    """What is known of the ends of sessions; `beats` are the records of heart-beats."""
    d, count = dialogue, dialogue.sessions
    offset, ordinal = np.full((count, 2), -1, np.int64), np.full((count, 2), -1, np.int64)
    np.maximum.at(offset, (d.session, d.side), d.offset)
    np.maximum.at(ordinal, (d.session, d.side), d.ordinal)
    lost, spoke = counters.both(counted, "lost_at"), facts.spoke_ns
    blind = (spoke < 0) & (lost < 0) & ~facts.start & (spoke[:, ::-1] >= 0)
    known = clocks.comparable(np.arange(count), np.maximum(facts.frames.sum(axis=1) - 1, 0), np.full(count, LAST))
    closed, error = facts.closed_ns, first[LATEST]
    heard = np.maximum(spoke.max(axis=1), counted["sign_ns"])
    silent = np.where(known & (closed >= 0) & (heard > 0), closed - heard, -1)
    steady = clocks.comparable(np.arange(count), np.zeros(count, np.int64), np.full(count, LAST))
    leaving = first["disconnect"]
    left = np.where(known & leaving.there & (closed >= leaving.last_ns), closed - leaving.last_ns, -1)
    since = clocks.comparable(np.arange(count), np.where(leaving.there, leaving.ordinal, 0), np.full(count, LAST))
    late = since & leaving.there & (facts.closed_by == SERVER) & (closed < leaving.first_ns)
    answered = np.where(error.there & (closed >= 0), np.maximum(closed - error.last_ns, 0), -1)
    said = (answered >= 0) & (answered <= ERROR_CLOSES_NS) & (error.offset == offset[:, SERVER])
    said &= (facts.closed_by == SERVER) | (error.ordinal > ordinal[:, CLIENT])
    cut = np.zeros((count, 2), np.int64)
    cut[beats["session"], beats["side"]] = beats["cut_ns"]
    third, latest = counters.both(counted, "again3_ns"), counters.both(counted, "again1_ns")
    repeating = (third > spoke.max(axis=1)[:, None]) & (latest >= facts.last_ns[:, None])
    return Ends((lost > offset) | blind, silent, cut, np.where(repeating, latest - spoke, 0), said, answered, left, late, steady)


def _idle(seconds_ns: I64) -> Bools:
    """Silences as long as one of CUT_OFFS_S."""
    limits = np.array(CUT_OFFS_S) * SECOND_NS
    found: Bools = (np.abs(seconds_ns[:, None] - limits) <= ROUND * limits).any(axis=1)
    return found


def _says(error: OfSessions, what: str) -> Bools:
    texts = error.header("message"), error.column("body_preview")
    found = [pc.match_substring_regex(text, SAYS[what]).fill_null(False) for text in texts]
    return np.asarray(pc.or_(*found))


def _fitting(first: Mapping[str, OfSessions], facts: SessionFacts, ends: Ends, outcome: I64, agreed: I64) -> list[tuple[str, Bools]]:
    """The causes in the order in which they are asked, and the sessions that each fits."""
    error, left, opened = first[LATEST], first["disconnect"], facts.close_kind == CLOSE_OPEN
    complained = ends.said & left.there & (error.ordinal < left.ordinal) & (facts.closed_by == SERVER)
    complained &= (ends.left < 0) | (ends.left * PROMPTER >= ends.answered)
    refused = (outcome == OUTCOME_REFUSED) & ~ends.hidden[:, SERVER] & ~opened  # by the ERROR, whether or not the client takes leave then
    quiet = (outcome == OUTCOME_CONNECTED) & first["connected"].there & (agreed <= 0).all(axis=1)
    size, slow, idle = (ends.said & _says(error, what) for what in ("size_limit", "slow_consumer", "idle_cut"))
    return [
        ("disconnect", left.there & ~refused & ~complained & ~ends.late),
        ("vanished", opened & (ends.repeating > 0).any(axis=1)),
        ("capture_end", opened),
        ("refused", refused),
        ("unknown", ends.hidden.any(axis=1)),
        ("unknown", (ends.cut > 0).all(axis=1) | (size & slow)),
        ("heartbeat_client", ends.cut[:, CLIENT] > 0),
        ("heartbeat_server", ends.cut[:, SERVER] > 0),
        ("size_limit", size),
        ("slow_consumer", slow),
        # a silence that nobody could measure may be why it was closed
        ("unknown", ~ends.steady & (agreed > 0).any(axis=1)),
        ("idle_cut", idle & quiet),
        ("error", ends.said),
        ("idle_cut", quiet & _idle(ends.silent)),
        ("reset", facts.close_kind == CLOSE_RST),
    ]


def causes(first: Mapping[str, OfSessions], facts: SessionFacts, ends: Ends, outcome: I64, agreed: I64) -> I64:
    """Per session the index of its cause in words.CLOSE_CAUSES; `agreed` are the heart-beats' intervals, in milliseconds, by side."""
    table = _fitting(first, facts, ends, outcome, agreed)
    number = {word: index for index, word in enumerate(words.CLOSE_CAUSES)}
    found: I64 = np.select([fits for _, fits in table], [number[word] for word, _ in table], number["unknown"]).astype(np.int64)
    return found


def _seconds(ns: I64) -> pa.Array:
    """Seconds to the millisecond, null below 0."""
    return pc.round(pa.array(ns / SECOND_NS, mask=ns < 0), 3).cast(pa.string())


def _joined(*parts: pa.Array | str) -> pa.Array:
    """Texts one behind the other, null where one is."""
    return pc.binary_join_element_wise(*(pa.scalar(part) if isinstance(part, str) else part for part in parts), "")


def _closes(facts: SessionFacts) -> pa.Array:
    """`FIN of the client`."""
    by = pc.coalesce(worded(facts.closed_by, ("the client", "the server", "both sides")), pa.scalar("a side that is not known"))
    kind = pa.array(["FIN of ", "RST of ", "no FIN or RST captured"]).take(pa.array(facts.close_kind))
    return pc.if_else(pa.array(facts.close_kind == CLOSE_OPEN), kind, _joined(kind, by))


def _asks(facts: SessionFacts) -> pa.Array:
    """The same behind `Close of the client; `, where a Close of WebSocket asked for it, or close_notify of TLS."""
    what = worded((facts.transport == TRANSPORT_TLS).astype(np.int64), ("Close of ", "close_notify of "))
    asked = _joined(what, worded(facts.asked_by, ("the client", "the server")), "; ", _closes(facts))
    return pc.coalesce(asked, _closes(facts))


def _quoted(error: OfSessions) -> pa.Array:
    """`ERROR at s2c 120: Bad command`."""
    at = _joined("ERROR at s2c ", pa.array(error.offset).cast(pa.string()))
    return pc.coalesce(_joined(at, ": ", pc.utf8_slice_codeunits(error.header("message"), 0, TEXT)), at)


def _missed(ends: Ends, agreed: I64, side: int, closes: pa.Array) -> pa.Array:
    """`client silent for 30.2 s, 3.0 intervals of 10 s; RST of the server`."""
    interval = np.maximum(agreed[:, side], 1)
    intervals = pc.round(pa.array(ends.cut[:, side] / (interval * 1e6)), 1).cast(pa.string())
    parts = (" silent for ", _seconds(ends.cut[:, side]), " s, ", intervals, " intervals of ", _seconds(interval * 10**6), " s; ", closes)
    return _joined(words.SIDES[side], *parts)


def evidence(cause: I64, first: Mapping[str, OfSessions], facts: SessionFacts, ends: Ends, agreed: I64) -> pa.Array:
    """What shows each cause: stream offsets, durations, what an ERROR said."""
    closes, asks, left = _closes(facts), _asks(facts), first["disconnect"]
    said = _joined(_quoted(first[LATEST]), "; ", closes, " ", _seconds(ends.answered), " s later")
    gone = _joined("DISCONNECT at c2s ", pa.array(left.offset).cast(pa.string()), "; ", closes)
    quiet = pc.coalesce(_joined(closes, " ", _seconds(ends.silent), " s after the last octets"), closes)
    lost = [pa.array(np.where(ends.hidden[:, side], f"; octets of the {words.SIDES[side]} are missing behind its last frame", ""))
            for side in (CLIENT, SERVER)]  # fmt: skip
    plain = _joined(quiet, *lost)
    again = ends.repeating[:, SERVER] > ends.repeating[:, CLIENT]
    sides = worded(again.astype(np.int64), words.SIDES)
    other = worded(1 - again.astype(np.int64), words.SIDES)
    repeated = _joined("no FIN or RST; for ", _seconds(ends.repeating.max(axis=1)), " s the ", sides, " repeats what it sent last, ",
                       "no octets of the ", other)  # fmt: skip
    texts = {
        "disconnect": pc.coalesce(_joined(gone, " ", _seconds(ends.left), " s later"), gone),
        "vanished": repeated, "error": said, "refused": pc.coalesce(said, _joined(_quoted(first[LATEST]), "; ", closes)),
        "size_limit": said, "slow_consumer": said,
        "heartbeat_client": _missed(ends, agreed, CLIENT, asks), "heartbeat_server": _missed(ends, agreed, SERVER, asks),
        "idle_cut": _joined("no heart-beats agreed; ", pc.if_else(pa.array(ends.said), said, quiet)),
    }  # fmt: skip
    chosen = [texts.get(word, plain) for word in words.CLOSE_CAUSES]
    return pc.coalesce(pc.choose(pa.array(cause), *chosen), plain)
