"""Errors: what ERROR must tell, and that the connection ends with it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stompcap.places import END
from stompcap.rules.case import Case
from stompcap.rules.columns import truth
from stompcap.rules.record import ALL_VERSIONS, Chapter, Judged
from stompcap.session.dialogue import CLIENT, I64, SERVER, Bools

ERRORS = Chapter("Errors")
HEART_BEAT = r"(?i)heart-?\s?beat"
PLAIN = ("message", "content-length", "content-type", "version", "server", "session", "heart-beat")


def of_heartbeats(case: Case) -> Bools:
    """ERROR frames that complain of missing heart-beats."""
    error = case.of("ERROR")
    return case.matches("message", HEART_BEAT, error) | case.matches("body_preview", HEART_BEAT, error)


def soon_after(case: Case, frame: I64) -> Bools:
    """Frames so soon after one of the client (index, -1 for none) that they may be an answer to it."""
    soon: Bools = (frame >= 0) & (case.d.last_ns - case.d.last_ns[frame] <= case.limits.ns("error_cause_s"))
    return soon


def refusing(case: Case, frames: Bools, faulty: Bools) -> Bools:
    """ERRORs that refuse one of `frames`: by its receipt-id, or right behind one that is plainly `faulty`."""
    named, latest = case.n.answers, case.d.latest(CLIENT)
    by_place = faulty[latest] & soon_after(case, latest)
    refuses: Bools = case.of("ERROR") & (((named >= 0) & frames[named]) | ((named < 0) & by_place))
    return refuses


def must_end(case: Case, errors: Bools, evidence: str) -> Judged:
    """ERROR frames that the server's close must follow in time, proved by what was heard of it later."""
    d, s = case.d, case.s
    limit = d.last_ns + case.limits.ns("error_close_s")
    closed_ns = np.where(case.ends.closed_first(SERVER), s.closed_ns, -1)[d.session]
    shut = (closed_ns >= 0) & (closed_ns <= limit)
    left = case.ends.closed_by_client[d.session] & (s.closed_ns[d.session] <= limit)
    stays = (case.ends.open_ns[d.session, SERVER] > limit) & ~shut & ~left
    return Judged(errors, stays, evidence, unevaluable=~shut & ~stays, told=case.ends.heard_after(SERVER, limit, errors))


@ERRORS.rule(
    "ER-01", versions=ALL_VERSIONS, side="server", level="S", observed="F",
    clause="1.2 and 1.1 ERROR; 1.0 ERROR",
    breaks="""
        in 1.2
        C: SEND⏎⏎␀
        S: ERROR⏎⏎␀
        S closes
    """,
    keeps="""
        in 1.2
        C: SEND⏎⏎␀
        S: ERROR⏎message:no destination⏎⏎␀
        S closes
    """,
)
def er_01(case: Case) -> Judged:
    """ERROR has message.

    A short description of what went wrong; the body may say more. An empty value counts as missing.
    """
    error = case.of("ERROR")
    return Judged(error, case.lacks("message", error), "ERROR without message")


@ERRORS.rule(
    "ER-02", versions="1.1 1.2", side="server", level="M", observed="T",
    settles="when clear",
    clause="1.2 ERROR; 1.1 SEND, SUBSCRIBE",
    breaks="""
        in 1.2
        C: SEND⏎⏎␀
        S: ERROR⏎message:no destination⏎⏎␀
        wait 5s
        S: ⏎
    """,
    keeps="""
        in 1.2
        C: SEND⏎⏎␀
        S: ERROR⏎message:no destination⏎⏎␀
        S closes
    """,
)
def er_02(case: Case) -> Judged:
    """The server closes the connection just after ERROR.

    In 1.2 after every ERROR, in 1.1 after one that refuses a SEND or SUBSCRIBE (known by its receipt-id); 1.0 has no
    such rule. Passes where the server's FIN or RST comes within `error_close_s` (1 s), fails where the server was
    heard, by octets or a FIN, after that. Where the client closed first, or the capture ends, it is not evaluable.

    RabbitMQ closes for few errors only, ActiveMQ for fatal ones, Artemis for errors of version and parsing.
    """
    asked = case.of("SEND", "SUBSCRIBE")
    errors = case.of("ERROR") & ((case.d.version != 1) | refusing(case, asked, case.none()))
    return must_end(case, errors, "the connection stays open after ERROR {message}")


@ERRORS.rule(
    "ER-03", versions="1.2", side="server", level="M", observed="S",
    settles="when clear",
    clause="1.2 ERROR",
    breaks="""
        in 1.2
        C: SEND⏎⏎␀
        S: ERROR⏎message:no destination⏎⏎␀
        C: SEND⏎destination:/queue/a⏎receipt:1⏎⏎␀
        S: RECEIPT⏎receipt-id:1⏎⏎␀
    """,
    keeps="""
        in 1.2
        C: SEND⏎⏎␀
        S: ERROR⏎message:no destination⏎⏎␀
        S closes
    """,
)
def er_03(case: Case) -> Judged:
    """ERROR is the server's last frame.

    Each ERROR that another frame of the server follows fails, whatever that frame is. Not evaluable where none was
    captured and octets behind it may be missing.

    RabbitMQ, ActiveMQ and Artemis keep many connections open after an ERROR and go on serving them.
    """
    followed = case.ends.following >= 0
    return Judged(case.of("ERROR"), followed, "frames follow ERROR {message}",
                  unevaluable=~followed & case.n.missing_later_s2c, told=case.place(case.ends.following))


@ERRORS.rule(
    "ER-04", versions="1.1 1.2", side="server", level="S", observed="S",
    settles="when clear",
    clause="1.2 and 1.1 ERROR",
    breaks="""
        in 1.2
        C: SEND⏎receipt:1⏎⏎␀
        S: ERROR⏎message:no destination⏎⏎␀
        S closes
    """,
    keeps="""
        in 1.2
        C: SEND⏎receipt:1⏎⏎␀
        S: ERROR⏎message:no destination⏎receipt-id:1⏎⏎␀
        S closes
    """,
)
def er_04(case: Case) -> Judged:
    """An ERROR over a frame with a receipt has its receipt-id.

    Passes where the receipt-id names a receipt asked for. Fails where the header is missing, the client's latest frame
    asked for a receipt not longer than `error_cause_s` (1 s) before, and nothing answered it within 65,536 frames. Errors
    about heart-beats concern no frame. Not evaluable where octets are missing that could tell better.

    RabbitMQ never sends the header; ActiveMQ and Artemis do.
    """
    d, n = case.d, case.n
    latest = d.latest(CLIENT)
    until = np.minimum(n.gap_later_s2c, case.lapse)
    unanswered = (latest >= 0) & (n.receipt_row[latest] >= 0) & (case.place(n.answered_by[latest]) >= until)
    error = case.of("ERROR")
    told = case.has("receipt-id", error)
    silent = ~told & unanswered & soon_after(case, latest) & ~of_heartbeats(case)
    lost = n.missed_c2s | n.missed_s2c | np.where(case.lapse < END, case.unseen(), case.s.gaps_s2c[d.session])
    return Judged(error & (told | silent), silent, "ERROR {message} without the receipt-id of the frame before it",
                  unevaluable=silent & lost, told=np.where(silent, np.maximum(until, case.clear), -1))


@ERRORS.rule(
    "ER-05", versions="1.1 1.2", side="server", level="S", observed="F",
    clause="1.2 and 1.1 ERROR, Headers content-length and content-type",
    breaks="""
        in 1.2
        C: SEND⏎⏎␀
        S: ERROR⏎message:no destination⏎⏎SEND needs one␀
        S closes
    """,
    keeps="""
        in 1.2
        C: SEND⏎⏎␀
        S: ERROR⏎message:no destination⏎content-type:text/plain⏎content-length:14⏎⏎SEND needs one␀
        S closes
    """,
)
def er_05(case: Case) -> Judged:
    """An ERROR with a body has content-length and content-type.

    Without them the client cannot tell where it ends nor what it is.

    ActiveMQ sends a Java stack trace without content-length.
    """
    error = case.of("ERROR") & (case.d.body_octets > 0)
    sized, typed = case.sized, case.has("content-type")

    def say(index: I64) -> pa.Array:
        lacking = pc.if_else(pa.array(sized[index]), "content-type",
                             pc.if_else(pa.array(typed[index]), "content-length", "content-length and content-type"))
        return pc.binary_join_element_wise("ERROR has a body and no", lacking, " ")

    return Judged(error, ~sized | ~typed, say)


@ERRORS.rule(
    "ER-06", versions="1.1 1.2", side="server", level="S", observed="S",
    clause="1.2 and 1.1 ERROR",
    breaks="""
        in 1.2
        C: SEND⏎⏎␀
        S: ERROR⏎message:bad frame⏎content-type:text/plain⏎content-length:4⏎⏎oops␀
        S closes
    """,
    keeps="""
        in 1.2
        C: SEND⏎transaction:t⏎⏎␀
        S: ERROR⏎message:bad frame⏎transaction:t⏎⏎␀
        S closes
    """,
)
def er_06(case: Case) -> Judged:
    """An ERROR over a frame has headers that identify it.

    Advice of the text: a receipt-id, or any other header that helps to find the frame. Judged on an ERROR within
    `error_cause_s` (1 s) of a frame of the client, CONNECT apart; any header beside message, content-length,
    content-type, version, server, session and heart-beat passes. Other ERRORs are not evaluable, for nothing says that a
    frame caused them.

    Errors about heart-beats concern no frame.
    """
    d = case.d
    error = case.of("ERROR") & ~of_heartbeats(case)
    latest = d.latest(CLIENT)
    index = np.flatnonzero(error)
    helpful = case.none()
    if len(index):
        headers = d.some("headers", index)
        names = pc.struct_field(pc.list_flatten(headers), "name")
        other = ~truth(pc.is_in(names, value_set=pa.array(PLAIN)))
        helpful[index[np.unique(np.asarray(pc.list_parent_indices(headers))[other])]] = True
    opening = case.of("CONNECT", "STOMP")[latest] & (latest >= 0)
    unclear = ~helpful & ~soon_after(case, latest)
    return Judged(error & ~opening, ~helpful, "ERROR {message} does not identify its frame", unevaluable=unclear)
