"""Consequences: what an ERROR is about, and what the server may do after it. Several rules share them."""

from __future__ import annotations

import numpy as np

from stompcap.codes import CLIENT, SERVER
from stompcap.columns import I64, Bools
from stompcap.rules.context import RuleContext
from stompcap.rules.pending import Pending
from stompcap.rules.record import Decision, Judged
from stompcap.session.clocks import LAST

HEART_BEAT = r"(?i)heart-?\s?beat"


def of_heartbeats(ctx: RuleContext) -> Bools:
    """ERROR frames that complain of missing heart-beats."""
    error = ctx.of("ERROR")
    return ctx.matches("message", HEART_BEAT, error) | ctx.matches("body_preview", HEART_BEAT, error)


def soon_after(ctx: RuleContext, frame: I64) -> Bools:
    """Frames so soon after one of the client (index, -1 for none) that they may be an answer to it."""
    if len(frame) == 0:
        return ctx.none()
    d, clocks = ctx.dialogue, ctx.clocks
    passed = d.last_ns - clocks.read_by(d.side, d.session, client_ns=d.last_ns[frame])
    near = (passed <= ctx.limits.ns("error_cause_s")) | ~clocks.together(d.session, d.ordinal[frame], d.ordinal)
    soon: Bools = (frame >= 0) & near
    return soon


def untimed(ctx: RuleContext, frame: I64) -> Bools:
    """Frames of which the clocks do not tell how soon they came after one of the client."""
    if len(frame) == 0:
        return ctx.none()
    d = ctx.dialogue
    unclear: Bools = (frame >= 0) & ~ctx.clocks.comparable(d.session, d.ordinal[frame], d.ordinal)
    return unclear


def refusing(ctx: RuleContext, commands: tuple[int, ...], faulty: Bools) -> Bools:
    """ERRORs that refuse a frame of these commands: by its receipt-id, or right behind one that is plainly `faulty`."""
    answers, latest, error = ctx.facts.answers, ctx.facts.latest_client, ctx.of("ERROR")
    by_name = ctx.none()
    named = np.flatnonzero(error & (answers >= 0))
    by_name[named] = np.isin(ctx.receipts["command"][answers[named]], commands)
    if len(latest) == 0:
        return by_name
    return by_name | (error & (answers < 0) & faulty[latest] & soon_after(ctx, latest))


def must_end(ctx: RuleContext, errors: Bools, evidence: str) -> Judged:
    """ERROR frames that the server's close must follow in time; `has_ended` decides."""
    limit = ctx.dialogue.last_ns + ctx.limits.ns("error_close_s")
    return Judged(errors, ctx.none(), evidence, pending=True, key=np.stack([limit, ctx.dialogue.ordinal], axis=1))


def has_ended(ctx: RuleContext, pending: Pending) -> Decision:
    """Octets of the server came after the time allowed, or nothing more will come."""
    sessions, ends, session, limit = ctx.sessions, ctx.ends, pending.session, pending.key
    closed_ns = sessions.closed_ns[session]
    by_client = sessions.closed_by[session] == CLIENT
    closed = np.where(by_client, ctx.clocks.read_by(SERVER, session, client_ns=closed_ns), closed_ns)
    in_time = (closed >= 0) & (closed <= limit)
    shut = ends.closed_first(SERVER)[session] & in_time
    left = ends.closed_by_client[session] & in_time
    stays = (ends.open_ns[session, SERVER] > limit) & ~shut & ~left
    spoke: Bools = sessions.spoke_ns[session, SERVER] > limit
    steady = ctx.clocks.comparable(session, pending.other_key, np.full(len(pending), LAST), SERVER)
    return Decision(decided=spoke | ctx.closing[session], failed=stays, unevaluable=(~shut & ~stays) | ~steady)


def must_be_last(ctx: RuleContext, frames: Bools, evidence: str) -> Judged:
    """Frames of the server that none may follow; `was_last` decides."""
    return Judged(frames, ctx.none(), evidence, pending=True, key=np.stack([ctx.number, ctx.facts.gaps_s2c], axis=1))


def was_last(ctx: RuleContext, pending: Pending) -> Decision:
    """Another frame of the server came, or nothing more will come."""
    session = pending.session
    followed: Bools = ctx.sessions.frames[session, SERVER] > pending.key
    lost = (ctx.sessions.gaps[session, SERVER] > pending.other_key) | ctx.ends.cut_off[session]
    return Decision(decided=followed | ctx.closing[session], failed=followed, unevaluable=~followed & lost)
