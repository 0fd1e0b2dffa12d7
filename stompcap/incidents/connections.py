"""What is said of connections that do not come about, do not last, or end for a reason."""

from __future__ import annotations

from stompcap.incidents.facts import OFTEN, Facts, Summary, destination, every, seconds
from stompcap.units import counted
from stompcap.visible import visible


def refused(facts: Facts) -> Summary:
    """`reporting: 38 connections refused by RabbitMQ at 10.0.0.1:61613, one every 2 s: "Access refused"`."""
    address = visible(facts.what.partition(" ")[0], 60)
    by = f"{facts.broker} at {address}" if facts.server_product else address
    words = f"{facts.name}: {counted(facts.events, 'connection')} refused by {by}{every(facts)}{facts.quote}"
    return Summary(_often(facts), words, _repeated(facts))


def unanswered(facts: Facts) -> Summary:
    """CONNECT without an answer: the client gives up, or the broker closes."""
    if facts.subject_kind == "broker":
        more = ", …" if (facts.most or 0) > 4 else ""
        closed = f"closed {counted(facts.events, 'connection')} without an answer to CONNECT{every(facts)}"
        who = f" ({visible(facts.text, 80)}{more})" if facts.text else ""
        words = f"{facts.broker} at {facts.name} {closed}{who}"
        return Summary("warning", words, _repeated(facts))
    waited = f", after {seconds(facts.mean)} on average" if facts.mean is not None else ""
    return Summary("warning", f"{facts.name}: {counted(facts.events, 'CONNECT')} without an answer, given up{waited}", _repeated(facts))


def connect_refused(facts: Facts) -> Summary:
    """RST answers SYN."""
    login = f" (login {visible(facts.text, 40)})" if facts.text else ""
    which = f"{counted(facts.events, 'TCP connection')} to {visible(facts.what, 60)}"
    return Summary("warning", f"{facts.name}{login}: {which} refused by a reset{every(facts)}", _repeated(facts))


def reconnect_loop(facts: Facts) -> Summary:
    """`flaky: 11 connections of 6 s, 61 messages left unacknowledged`."""
    lives = f" of {seconds(facts.mean)}" if facts.mean is not None else ""
    where = f" of {destination(facts.destination_name)}" if facts.destination_name else ""
    by = f" by {facts.broker}" if facts.text == "server" else ""
    lost = f", {counted(facts.messages, 'message')}{where} left unacknowledged" if facts.messages else ""
    at = f" at {destination(facts.destination_name)}" if facts.destination_name and not lost else ""
    same = ", each time the same one first" if lost and facts.before == 1 else ""
    words = f"{facts.name}: {counted(facts.events, 'connection')}{lives}{at} broken off{by}{every(facts)}{lost}{same}"
    return Summary("warning", words, (*_repeated(facts), ("lifetime", "s", None, facts.mean)))


def storm(facts: Facts) -> Summary:
    """Many connections in a minute."""
    most = int(facts.most or 0)
    return Summary("warning", f"{facts.name}: {counted(most, 'connection')} within a minute, ten times as many as before or more",
                (("connections", "1/min", None, facts.most),))  # fmt: skip


def errors(facts: Facts) -> Summary:
    """ERRORs that say the same."""
    sent = f" to what it sends to {destination(facts.destination_name)}" if facts.destination_name else ""
    got = f"{counted(facts.events, 'ERROR')} from {facts.broker}{sent}{every(facts)}"
    return Summary(_often(facts), f"{facts.name}: {got}{facts.quote}", _repeated(facts))


def broker_stop(facts: Facts) -> Summary:
    """`RabbitMQ at 10.0.0.1:61613 closed 19 connections within a second; clients are back after 8.3 s`."""
    back = None if facts.end_ns is None else (facts.end_ns - facts.begin_ns) / 1e9
    then = "no client has been answered since" if back is None else f"the next client was answered after {seconds(back)}"
    lost = f"; {counted(facts.messages, 'message')} left unacknowledged" if facts.messages else ""
    numbers = (("connections", "", None, float(facts.events)), ("away", "s", None, back))
    who = f"{facts.broker if facts.server_product else 'the broker'} at {facts.name}"
    return Summary("critical", f"{who} closed {counted(facts.events, 'connection')} within a second and stopped; {then}{lost}", numbers,
                "a maintenance that was planned")  # fmt: skip


def cut_together(facts: Facts) -> Summary:
    """`6 of 12 connections (shop, billing) to RabbitMQ at 10.0.0.1:61613 were cut within a second; the first client was back after 2 s`."""
    how, _, broker = facts.what.partition(" ")
    lost = "fell silent together and were lost" if how == "silent" else "were cut within a second"
    of = f", all from {facts.name}," if facts.subject_kind == "network" else ""
    back = None if facts.end_ns is None else (facts.end_ns - facts.begin_ns) / 1e9
    then = "not all clients are back" if back is None else f"all clients were back after {seconds(back)}"
    left = f"; {counted(facts.messages, 'message')} left unacknowledged" if facts.messages else ""
    numbers = (("connections", "", facts.mean, float(facts.events)), ("away", "s", None, back))
    words = f"{visible(facts.text or '', 120)} to {facts.broker} at {visible(broker, 60)}{of} {lost}; {then}{left}"
    return Summary("critical", words, numbers, "several services that were stopped at once")


def heartbeat_missed(facts: Facts) -> Summary:
    """Who missed, and who cut."""
    after = f" after {facts.mean:.1f} intervals of silence" if facts.mean is not None else ""
    cutter = "its clients" if facts.what == "heartbeat_server" else facts.broker
    times = f", {facts.events} times" if facts.events > 1 else ""
    numbers = (("connections", "", None, float(facts.events)), ("silence", "intervals", 1.0, facts.mean))
    who = f"{facts.broker} at {facts.name}" if facts.what == "heartbeat_server" else facts.name
    return Summary("warning", f"{who} sent no heart-beats; {cutter} closed the connection{after}{times}", numbers)


def vanished(facts: Facts) -> Summary:
    """No FIN, no RST, no answer."""
    who, asks = (f"{facts.broker} at {facts.name}", "its client") if facts.what == "broker" else (facts.name, facts.broker)
    numbers = (("connections", "", None, float(facts.events)), ("unanswered", "s", None, facts.most))
    words = f"{who} vanished without a close: {asks} repeated itself for {seconds(facts.most or 0)} without an answer"
    return Summary("warning", words, numbers, "a capture that lost one direction")


def heartbeat_late(facts: Facts) -> Summary:
    """Late, and nobody cut."""
    who = f"{facts.broker} at {facts.name}" if facts.subject_kind == "broker" else facts.name
    longest = f", the longest silence {facts.most:.1f} intervals" if facts.most is not None else ""
    return Summary("note", f"{who}: {counted(facts.events, 'heart-beat')} too late{longest}; nobody closed the connection",
                (("silence", "intervals", 1.0, facts.most),))  # fmt: skip


def idle_cut(facts: Facts) -> Summary:
    """No heart-beats agreed, and cut for silence."""
    silent = f" after {seconds(facts.mean)} of silence" if facts.mean is not None else " for silence"
    which = counted(facts.events, "connection")
    if facts.what == "broker":
        return Summary("note", f"{facts.name}: {which} without heart-beats closed by {facts.broker} as idle", _repeated(facts))
    return Summary("warning", f"{facts.name}: {which} without heart-beats cut off{silent}, likely by a balancer or firewall between",
                (*_repeated(facts), ("silence", "s", None, facts.mean)),
                "a timer of the client or the broker that closes idle connections")  # fmt: skip


def _often(facts: Facts) -> str:
    return "warning" if facts.events >= OFTEN else "note"


def _repeated(facts: Facts) -> tuple[tuple[str, str, float | None, float | None], ...]:
    """How many, and the seconds between them."""
    return (("times", "", None, float(facts.events)), ("period", "s", None, facts.period_s))


KINDS = {
    one.__name__: one
    for one in (
        refused, unanswered, connect_refused, reconnect_loop, storm, errors, broker_stop, cut_together, vanished, heartbeat_missed,
        heartbeat_late, idle_cut,
    )
}  # fmt: skip
