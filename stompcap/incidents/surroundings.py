"""What is said of the network, of rules that were broken, and of what captures lack."""

from __future__ import annotations

from stompcap.incidents.facts import OFTEN, Facts, Summary, seconds
from stompcap.units import count, counted, share, size
from stompcap.visible import visible

LIMITING = 0.01
"""From this share of the connections of a source on, what a capture lacks limits what can be said."""


LONG_CLOSED_S = 30
"""A window that was closed for so many seconds keeps from a consumer what is meant for it, or from a broker what is sent."""


WRONG_LENGTH = "FR-07"
"""The rule about content-length: where it is broken again and again, messages are cut, or lost."""


def retransmissions(facts: Facts) -> Summary:
    """Sent again and again."""
    login = f" (login {visible(facts.text, 40)})" if facts.text else ""
    where = "of all clients, far more than before" if facts.what == "all" else "far more than others"
    return Summary("warning", f"{facts.name}{login}: {count(facts.total)} retransmissions, up to {count(facts.most)} a minute, {where}",
                (("retransmissions", "1/min", None, facts.most),), "packets that the capture has twice")  # fmt: skip


def window_closed(facts: Facts) -> Summary:
    """TCP's window was closed: the receiver does not read."""
    times = f" {counted(facts.events, 'time')}," if facts.events > 1 else ""
    who = f"{facts.broker} at {facts.name}" if facts.subject_kind == "broker" else facts.name
    level = "critical" if (facts.total or 0) >= LONG_CLOSED_S else "warning"
    return Summary(level, f"{who} did not read what was sent: its TCP window was closed{times} for {seconds(facts.total or 0)}",
                (("closed", "s", 0.0, facts.total),))  # fmt: skip


def long_way(facts: Facts) -> Summary:
    """A long round trip."""
    return Summary("note", f"{facts.name}: round trips of {seconds(facts.mean or 0)}, more than ten times those of others",
                (("round trip", "s", None, facts.mean),), "a capture point near the other clients")  # fmt: skip


def protocol(facts: Facts) -> Summary:
    """A MUST that is broken."""
    rule = visible((facts.text or facts.what).strip(), 90)
    product = visible(facts.what.partition(" ")[2], 40)
    client = f"{facts.name} ({product})" if product else facts.name
    who = f"{facts.broker} at {facts.name}" if facts.subject_kind == "broker" else client
    lost = facts.what.startswith(f"{WRONG_LENGTH} ") and facts.events >= OFTEN
    numbers = (("findings", "", None, float(facts.events)),)
    return Summary("warning" if lost else "note", f"{who} broke {counted(facts.events, 'time')} MUST {rule}", numbers)


def capture_loss(facts: Facts) -> Summary:
    """Bytes that were not captured."""
    what = f"{size(facts.total)} of {counted(facts.events, 'connection')}{_of_all(facts)} were not captured"
    return _capture(facts, f"{what}: what happened there is likely at best", "packets that the capture dropped")


def capture_cut(facts: Facts) -> Summary:
    """Packets cut by the snapshot length."""
    what = f"packets are cut: {size(facts.total)} of {counted(facts.events, 'connection')}{_of_all(facts)} are missing"
    return _capture(facts, f"{what}; capture whole packets (tcpdump -s 0)", None)


def capture_one_way(facts: Facts) -> Summary:
    """A direction is missing."""
    return _capture(facts, f"of {counted(facts.events, 'connection')}{_of_all(facts)} one direction alone was captured", None)


def capture_clocks(facts: Facts) -> Summary:
    """Clocks that differ."""
    what = f"clocks of captures differ or stepped in {counted(facts.events, 'connection')}{_of_all(facts)}"
    return _capture(facts, f"{what}: durations between both directions are unknown there", None)


def capture_damaged(facts: Facts) -> Summary:
    """A file that is damaged."""
    return Summary("note", f"{facts.name}: {counted(facts.events, 'capture')} damaged: {visible(facts.text or '', 80)}")


def capture_tls(facts: Facts) -> Summary:
    """TLS without a key."""
    return Summary("note", f"{facts.name}: {counted(facts.events, 'TLS connection')} without a key: what they carry is unknown (--keylog)")


def _of_all(facts: Facts) -> str:
    return "" if facts.of_all is None else f" ({share(facts.of_all, 1)} of all)"


def _capture(facts: Facts, words: str, would_change: str | None) -> Summary:
    limits = facts.of_all is not None and facts.of_all >= LIMITING
    numbers = (("connections", "", None, float(facts.events)), ("share", "", None, facts.of_all))
    return Summary("warning" if limits else "note", f"capture {facts.name}: {words}", numbers, would_change)


KINDS = {
    one.__name__: one
    for one in (
        retransmissions, window_closed, long_way, protocol, capture_loss, capture_cut, capture_one_way, capture_clocks, capture_damaged,
        capture_tls,
    )
}  # fmt: skip
