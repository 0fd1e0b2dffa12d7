"""What is said of consumers, producers, destinations and the time that messages take."""

from __future__ import annotations

from stompcap.incidents.facts import Facts, Number, Summary, destination, seconds
from stompcap.units import count, counted, share
from stompcap.visible import visible

REFUSED, REFUSED_SHARE = 5, 0.2
"""So many messages that a consumer refuses, and that share of all, should be looked at; fewer are worth a note."""

FAR = 0.5
"""From this share of its time for a message on, a consumer waits for round trips: it should have more messages in flight."""


def consumer_slow(facts: Facts) -> Summary:
    """`billing takes 400 ms a message, 20 ms before; backlog of queue/invoices grew by 130, messages up to 21 s late`."""
    took = f"{facts.name} takes {seconds(facts.mean or 0)} a message, {seconds(facts.before or 0)} before"
    return Summary("critical", f"{took}{_suffered(facts)}", (("service", "s", facts.before, facts.mean), *_waiting(facts)))


def instance_slow(facts: Facts) -> Summary:
    """`billing at 10.0.0.7, one of 3, takes 400 ms a message, 20 ms the fastest of the others`."""
    took = f"{facts.name} at {visible(facts.text or '', 80)}, takes {seconds(facts.mean or 0)} a message"
    return Summary("critical", f"{took}, the fastest of the others {seconds(facts.before or 0)}{_suffered(facts)}",
                (("service", "s", facts.before, facts.mean), *_waiting(facts)))  # fmt: skip


def consumer_stalled(facts: Facts) -> Summary:
    """Messages in flight, and none settled; `text` is how that ended, `skipping` behind it where others were settled before."""
    how = (facts.text or "").split()
    usual = f", {seconds(facts.before)} a message before" if facts.before is not None else ""
    left = _left(how, facts.broker)
    since = f"{', and' if left else ';'} nobody consumes there since" if facts.end_ns is None and how[:1] != ["capture_end"] else ""
    waiting = f", {count(round(facts.backlog))} waiting" if facts.backlog is not None and facts.backlog > 0 else ""
    times = f" {facts.events} times, the longest" if facts.events > 1 else ""
    nothing = f"{facts.name} settled nothing{times} for {seconds(facts.most or 0)}"
    said = f"{nothing} with {counted(facts.messages, 'message')} in flight{_at(facts)}"
    if how[-1:] == ["skipping"]:
        first = f"{facts.name} settles some messages{_at(facts)} and never others: {count(facts.messages)} are in flight"
        said = f"{first}, and none was settled{times} for {seconds(facts.most or 0)}"
    numbers = (("stalled", "s", facts.before, facts.most), *_waiting(facts))
    words = f"{said}{usual}{left}{since}{waiting}"
    if how[:1] == ["silence"]:
        return Summary("warning", f"{words}; nothing else was captured in that time", numbers,
                    "a clock that leapt, or a machine that slept, where the capture was taken")  # fmt: skip
    return Summary("critical", words, numbers)


def _left(how: list[str], broker: str) -> str:
    """How a consumer that settled nothing went away, if it did."""
    match how:
        case ["close", "beats", *_]:
            return f"; then {broker} closed its connection, as it sent no heart-beats"
        case ["close", "server", *_]:
            return f"; then {broker} closed its connection"
        case ["close", "client", *_]:
            return "; then it closed its connection"
        case ["close", *_]:
            return "; then its connection ended"
        case ["disconnect", *_]:
            return "; then it disconnected"
    return ""


def consumer_gone(facts: Facts) -> Summary:
    """Cut for want of heart-beats."""
    times = f" {facts.events} times" if facts.events > 1 else ""
    back = "" if times or facts.end_ns is None or facts.end_ns <= facts.begin_ns else f"; a consumer was back after {_between(facts)}"
    who = f"{facts.name} sent no heart-beats, and {facts.broker} closed its connection{times}: a consumer{_at(facts, ' of ')} less"
    return Summary("critical", f"{who}{back}")


def uncommitted(facts: Facts) -> Summary:
    """A transaction that stays open, or is lost with its connection."""
    held = counted(facts.messages, "message")
    if facts.end_ns is None:
        since = f"open for {seconds(facts.most or 0)}"
        words = f"{facts.name} has a transaction{_at(facts, ' to ')} {since}: {held} that count for nothing until COMMIT"
    else:
        lost = "a transaction" if facts.events == 1 else f"{facts.events} transactions"
        words = f"{facts.name} lost {lost}{_at(facts, ' to ')} that it never committed: {held}, open for up to {seconds(facts.most or 0)}"
    return Summary("warning", words, (("messages", "", None, float(facts.messages)), ("open", "s", None, facts.most)))


def rolled_back(facts: Facts) -> Summary:
    """ABORT again and again."""
    words = f"{facts.name} rolled back {counted(int(facts.total or 0), 'transaction')} of {counted(facts.messages, 'message')}"
    return Summary("warning", words, (("aborted", "", None, facts.total),))


def left_unacknowledged(facts: Facts) -> Summary:
    """Sessions that end with messages in flight."""
    left = f"{facts.name} left {counted(facts.messages, 'message')}{_at(facts)} unacknowledged"
    return Summary("warning", f"{left} at the end of {counted(facts.events, 'connection')}", (("left", "", None, float(facts.messages)),))


def nacked(facts: Facts) -> Summary:
    """NACKs whose messages do not come back; a few are worth a note."""
    words = f"{facts.name} refused (NACK) {counted(facts.messages, 'message')}{_at(facts)}, {share(facts.mean, 1)} of all"
    gone = f"{facts.broker} delivered none of them again: they are dropped, or in a dead-letter queue"
    level = "warning" if facts.messages >= REFUSED and (facts.mean or 0) >= REFUSED_SHARE else "note"
    return Summary(level, f"{words}; {gone}", (("refused", "share", None, facts.mean),))


def redelivery_loop(facts: Facts) -> Summary:
    """Much of what a consumer gets was delivered before."""
    again = f"{facts.name} got {counted(facts.messages, 'message')}{_at(facts)} again, {share(facts.mean, 1)} of all"
    return Summary("warning", again, (("redelivered", "share", None, facts.mean),))


def poison_message(facts: Facts) -> Summary:
    """The same content again and again."""
    again = f"{facts.name} got the same message{_at(facts)} again and again: {counted(facts.messages, 'redelivery', 'redeliveries')}"
    return Summary("warning", f"{again} of {counted(int(facts.before or 1), 'content')}", (("redelivered", "share", None, facts.mean),))


def producer_faster(facts: Facts) -> Summary:
    """More is sent, and consumers work as ever."""
    sent = f"{facts.name} sends {_rate(facts.mean)} messages a minute{_at(facts, ' to ')}, {_rate(facts.before)} before"
    return Summary("critical", f"{sent}; its consumers work as ever{_suffered(facts, named=False)}",
                (("SENDs", "1/min", facts.before, facts.mean), *_waiting(facts)))  # fmt: skip


def broker_slow(facts: Facts) -> Summary:
    """Messages wait though consumers are idle."""
    waits = f"messages wait {seconds(facts.mean or 0)} in {facts.broker} at {facts.name}, {seconds(facts.before or 0)} before"
    return Summary("critical", f"{waits}, though consumers are idle", (("residence", "s", facts.before, facts.mean),),
                "consumers that speak another protocol and take turns with these")  # fmt: skip


def broker_still(facts: Facts) -> Summary:
    """Nothing is delivered or confirmed for seconds, to the end or until all is at once."""
    waited = f"{counted(facts.messages, 'SEND')} of several connections"
    if facts.end_ns is None:
        words = f"stands still: it has delivered and confirmed nothing for {seconds(facts.most or 0)}, {waited} in that time"
    else:
        words = f"stood still: {waited} were delivered or confirmed up to {seconds(facts.most or 0)} late"
    usual = f"; {seconds(facts.before)} before" if facts.before is not None else ""
    return Summary("critical", f"{facts.broker} at {facts.name} {words}{usual}",
                (("still", "s", facts.before, facts.most),), "a network between capture point and broker that was down")  # fmt: skip


def backlog(facts: Facts) -> Summary:
    """More is sent than consumed, and nobody changed."""
    grew = f"the backlog of {facts.name} grew by {count(round(facts.backlog or 0))}"
    late = f", messages came up to {seconds(facts.late_s)} late" if facts.late_s is not None and facts.late_s >= 1 else ""
    who = f"{visible(facts.text, 60)} is" if facts.text else "its consumers are"
    far = ", most of it for the way there and back" if (facts.before or 0) >= FAR else ""
    busy = f"; {who} busy for {share(min(facts.mean or 0, 1), 1)} of the time{far}"
    return Summary("critical", f"{grew}{late}{busy}", (("busy", "share", None, facts.mean), *_waiting(facts)))


def late_messages(facts: Facts) -> Summary:
    """Late, and nobody can be named."""
    waits = f"messages of {facts.name} wait {seconds(facts.mean or 0)}, {seconds(facts.before or 0)} before"
    return Summary("warning", f"{waits}; its consumers are busy, but no slower{_suffered(facts, named=False, late=False)}",
                (("residence", "s", facts.before, facts.mean), *_waiting(facts)))  # fmt: skip


def slow_confirms(facts: Facts) -> Summary:
    """RECEIPTs come late."""
    late = f"{facts.broker} confirms SENDs to {facts.name} after {seconds(facts.mean or 0)}, {seconds(facts.before or 0)} before"
    return Summary("warning", f"{late} (95th percentile)", (("receipt", "s", facts.before, facts.mean),))


def no_consumer(facts: Facts) -> Summary:
    """A queue that nobody reads; or `text` is subscribed, and gets nothing."""
    nobody = f"none delivered, though {visible(facts.text, 60)} is subscribed" if facts.text else "no consumer captured"
    return Summary("warning", f"{facts.name}: {counted(facts.messages, 'message')} sent, {nobody}",
                (("messages", "", None, float(facts.messages)),),
                "a consumer that speaks another protocol, was not captured or is forgotten")  # fmt: skip


def consumers_left(facts: Facts) -> Summary:
    """A queue whose consumers are gone."""
    sent = f"{counted(facts.messages, 'message')} sent, none delivered"
    if facts.what.endswith(" held"):
        who = f", though {visible(facts.text, 60)} is subscribed" if facts.text else ""
        words = f"{facts.name} is delivered to nobody any more: {sent}{who}"
    else:
        last = f"; the last to be delivered to was {visible(facts.text, 60)}" if facts.text else ""
        words = f"{facts.name} has no consumer any more: {sent}{last}"
    return Summary("critical", words, (("messages", "", None, float(facts.messages)),),
                "a consumer that speaks another protocol, or was not captured")  # fmt: skip


def _rate(number: float | None) -> str:
    return count(round(number or 0))


def _between(facts: Facts) -> str:
    return seconds(((facts.end_ns or facts.begin_ns) - facts.begin_ns) / 1e9)


def _at(facts: Facts, word: str = " of ") -> str:
    return f"{word}{destination(facts.destination_name)}" if facts.destination_name else ""


def _suffered(facts: Facts, *, named: bool = True, late: bool = True) -> str:
    """What it did to the destination, where that is known."""
    parts = []
    if facts.backlog is not None and facts.backlog > 0:
        name = _at(facts) if named else ""
        parts.append(f"the backlog{name} grew by {count(round(facts.backlog))}")
    if late and facts.late_s is not None and facts.late_s >= 1:
        parts.append(f"messages came up to {seconds(facts.late_s)} late")
    return f"; {', '.join(parts)}" if parts else ""


def _waiting(facts: Facts) -> tuple[Number, ...]:
    backlog, late = ("backlog", "", 0.0, facts.backlog), ("late", "s", None, facts.late_s)
    return (*((backlog,) if facts.backlog is not None else ()), *((late,) if facts.late_s is not None else ()))


KINDS = {
    one.__name__: one
    for one in (
        consumer_slow, instance_slow, consumer_stalled, consumer_gone, uncommitted, rolled_back, nacked, left_unacknowledged,
        redelivery_loop, poison_message, producer_faster, backlog, broker_slow, broker_still, late_messages, slow_confirms, no_consumer,
        consumers_left,
    )
}  # fmt: skip
"""What is known of an incident, and what is said of it."""
