"""docs/incidents.md: what an incident is, and a row for each kind, with the thresholds that the SQL has."""

# ruff: noqa: E501  a row of the table is a line

from __future__ import annotations

import sys

from pipelines.incidents import connection_events as connections
from pipelines.incidents import consumer_events as consumers
from pipelines.incidents import consumer_minutes as minutes
from pipelines.incidents import cut_events as cuts
from pipelines.incidents import destination_events as destinations
from pipelines.incidents import end_events as ends
from pipelines.incidents import leaps
from pipelines.incidents import rule_events as rules
from pipelines.incidents import silent_brokers as silent
from pipelines.incidents import stalled_consumers as stalled
from pipelines.incidents import transaction_events as transactions
from pipelines.incidents import unread_events as unread
from pipelines.incidents import wire_events as wire
from pipelines.incidents import young_minutes as young
from pipelines.incidents.islands import SAMPLES
from pipelines.incidents.kinds import DAY, KINDS, MINUTE
from stompcap.incidents import surroundings

_HEAD = """# Incidents

What happened, to whom, since when, by how much, and where the packets are. Each incident is one row of table
[`incidents`](tables.md#incidents) and one sentence, the same in `run`, `show`, `watch`, the report and SQL:

```
critical  06:25:22 to 06:41:03  billing takes 400 ms a message, 20 ms before; the backlog of /queue/orders grew by 536, messages came up to 30 s late
warning   since 06:00:02        reporting: 38 connections refused by RabbitMQ at 10.0.0.1:61613, one every 2 s: "Access refused for user 'reporting'"
```

```sql
SELECT begin_ts, level, sentence, streams[1] AS look FROM incidents WHERE kind = 'consumer_slow' ORDER BY begin_ns
```

- **The subject** is the login, because behind NAT and in Kubernetes many clients share an address. A client without one, or whose login is
  masked, is named by its `client-id`, `user-agent` or address, the first that it has. Brokers are named by address and port.
- **Level**: *critical* hurts messages now, *warning* should be looked at, *note* is worth knowing. The order is level, then
  where nothing goes on at all (a consumer that is gone before one that is slow), how many messages are hurt, time; a capture that lacks much
  comes first, because it limits what the rest can say.
- **Confidence** is *proven* where nothing else explains what the tables show, and *likely* otherwise; `would_change` then says what would change it.
- **`numbers`** are those of the sentence: what, unit, before, during.
- **`streams`, `frames`, `packets`** are samples, at most {samples}: `stompcap show STREAM_ID`, `stompcap export --incident ID`.
- **`end_ns`** is null where it was still so at the capture's end.

Nothing is said that the tables do not hold. Consumers that speak another protocol, or that the capture point does not see, are not known.
Of incidents that say the same, with other names and numbers, `run`, `show` and the report show three and count the others; the table has all.
One cause is said once: a queue that waits for a slow or stalled consumer is part of that consumer's sentence.

A clock that leaps forward, or a machine that sleeps while it captures, is no silence: what was measured across it is unknown. It shows where
nothing was captured for {leaps.LEAST_S} s or more although {leaps.PARTIES} logins or brokers owed heart-beats, or had sent {leaps.TIMES} messages or
more in as long a time before without a wish for a RECEIPT, and all went on behind it as if it had not been. Of one alone, or of clients that
only wait for answers, it cannot be told from a silence.

## Kinds

Each threshold is compared with what is near in time: a minute with the day before it at most, a refusal with those of the ten minutes around
it. What happens again after a longer quiet time than the table's last column says is another incident.

| kind | evidence and threshold | level | what would change it | quiet |
| --- | --- | --- | --- | --- |"""

_TAIL = """
## Over many runs

Many runs give the incidents of one run, in whatever order captures come: a run makes incidents again from a day before its captures on, and
from before each incident that lasts until then (each kind by its own: what lasts as long as a lake has no other made again); all
of them where connections were forgotten, computed again or repaired. An incident keeps its `incident_id`, a digest of kind, subject, source and first minute, while it lasts. A late
capture or `--reprocess` corrects it; it then has another id if it began in another minute. `stompcap forget` leaves no sentence, sample or
subject of the connections that it deletes: what is left is what the remaining connections show. A lake of an older version gets the table
with its next run.

`stompcap watch` says each incident once when it begins and once when it ends ([watch.md](watch.md))."""


def page() -> str:
    """The page, in Markdown."""
    told = _of_traffic() | _of_connections() | _of_surroundings()
    gaps = {kind.name: kind.gap_s for kind in KINDS}
    rows = [f"| `{name}` | {' | '.join(says)} | {_quiet(gaps[name])} |" for name, says in told.items()]
    return "\n".join([_HEAD.format(samples=SAMPLES, leaps=leaps), *rows, _TAIL])


def _of_traffic() -> dict[str, tuple[str, str, str]]:
    """Of each kind: evidence with threshold, level, what would change it."""
    past = f"the best minute of the day before (of {minutes.LEAST_MINUTES} or more)"
    return {
        "consumer_slow": (
            f"The median time that a consumer takes for a message of a destination (its own time, without the network and without those before it) is in a minute {minutes.SLOWER} times that of {past}, {minutes.THAN_USUAL} times the usual one, and {_ms(minutes.SLOWER_US)} more, in {minutes.NEAR_MINUTES} minutes or {minutes.AT_ONCE} times as long in one; "
            f"minutes of fewer than {minutes.LEAST_MESSAGES} messages, or near one with {minutes.MANY_CONNECTIONS} connections of {minutes.SHORT_S} s at most, say nothing. With fewer than {young.YOUNG} minutes before it, the same of ten seconds with {young.LEAST_OF_SLOT} messages against those of ten minutes before (of {young.LEAST_SLOTS} or more), in {young.SLOW_SLOTS} of them, or {young.SLOW_AT_ONCE} of {minutes.AT_ONCE} times the best", "critical", ""),
        "instance_slow": (
            f"The same of one connection of a login that has several at a destination, against the best of the others in the same minute: {minutes.SLOWER} times, {_ms(minutes.SLOWER_US)} more, in {minutes.NEAR_MINUTES} minutes. It is named by its address, with the port where several share it", "critical", ""),
        "consumer_stalled": (
            f"A consumer with messages in flight, which had settled some before, settled none for {stalled.STALLED_TIMES} times as long as it usually takes for one (view [`consumer_stalls`](tables.md)); it did not unsubscribe. Where {stalled.SKIPPED} messages in flight, and {_percent(stalled.SKIPPED_SHARE)} of them, came before others that it settled, it began with the first of them", f"critical; warning where nothing at all was captured for {_percent(stalled.WHOLE)} of it, as a clock may have leapt", ""),
        "consumer_gone": ("The broker closed a consumer's connection because its heart-beats did not come; nothing was in flight, else it is stalled. It ends when the destination is subscribed to again", "critical", ""),
        "no_consumer": (
            f"{unread.UNREAD} messages were sent to a queue within {unread.UNREAD_MINUTES} minutes, and the lake has neither a SUBSCRIBE to it nor a MESSAGE of it; or a SUBSCRIBE, and still no MESSAGE (a selector may fit none of them), while the broker does not stand still; SENDs of sessions that got an ERROR do not count", "warning",
            "a consumer that speaks another protocol, was not captured or is forgotten"),
        "consumers_left": (
            f"{unread.UNREAD} messages were sent to a queue within {unread.UNREAD_MINUTES} minutes of which none delivers anything, though of the minutes with SENDs of the day before at most {_percent(unread.SELDOM)} were so; no consumer is stalled, gone for want of heart-beats or has its window closed, and the broker does not stand still. It began with the last MESSAGE; whether one is subscribed still is said", "critical",
            "a consumer that speaks another protocol, or was not captured"),
        "producer_faster": (
            f"{destinations.MORE} times as many SENDs a minute as in the least five minutes of the day before, and a backlog that grows by {destinations.GROWTH} and {_percent(destinations.GROWTH_SHARE)} of the SENDs, in {destinations.GROWTH_MINUTES} minutes; no consumer is slow or stalled. Who sends most is named. Before there are five minutes, the same of ten seconds of {young.MORE_AT_ONCE} SENDs against those of ten minutes before (of {young.LEAST_SLOTS} or more), in {young.SLOW_SLOTS} of them", "critical", ""),
        "backlog": (
            f"The backlog of a queue grows by {destinations.GROWTH} and {_percent(destinations.GROWTH_SHARE)} of the SENDs a minute, in {destinations.GROWTH_MINUTES} minutes, while messages are consumed; no consumer is known to be slower than before, stalled, or given again what it gave back, and no producer faster: they were always too slow, or there is no past to tell. How busy the busiest consumer is is said", "critical", ""),
        "late_messages": (
            f"Half of a minute's messages were {_ms(destinations.LATE_US)} in the broker, and {destinations.LATER} times as long as in {past}; the consumers are busy, and neither one of them nor a producer is the reason", "warning", ""),
        "broker_slow": (
            f"The same from {_ms(destinations.SLOW_BROKER_US)} on, in {destinations.SLOW_NEAR} minutes of {destinations.SLOW_MESSAGES} messages, while the consumers are busy for less than {_percent(destinations.IDLE)} of their time; one minute before is enough", "critical",
            "consumers that speak another protocol and take turns with these"),
        "broker_still": (
            f"SENDs of two connections are confirmed within a second, {_ms(silent.STILL_US)} late and {silent.STILL_TIMES} times as late as in the best minute of the day before; or nothing is delivered or confirmed for {silent.SILENT_S} s and {silent.SILENT_TIMES} times as long as between two answers of the minute before, while {silent.OWED} SENDs of two connections ask for a RECEIPT or go to consumers that have nothing in flight; not near a broker's stop", "critical",
            "a network between capture point and broker that was down"),
        "slow_confirms": (
            f"The 95th percentile of the time to the RECEIPT of a SEND is {destinations.CONFIRMED_TIMES} times the best of the day before and {_ms(destinations.CONFIRMED_US)} more, in {destinations.CONFIRMED_MINUTES} minutes; the broker is not slow with what it delivers", "warning", ""),
        "uncommitted": (
            f"A transaction with SENDs or ACKs that was neither committed nor aborted for {transactions.OPEN_S} s, or that ended with its connection and {transactions.OPEN_MESSAGES} of them", "warning", ""),
        "rolled_back": (
            f"{minutes.AGAIN} transactions and {_percent(minutes.AGAIN_SHARE)} of a client's in a minute were aborted, and its broker delivered nothing again", "warning", ""),
        "nacked": (
            f"{minutes.AGAIN} messages and {_percent(minutes.AGAIN_SHARE)} of what a consumer got in a minute were refused by NACK, and none was delivered to it again: brokers drop them or put them into a dead-letter queue. Or fewer, if none was delivered again to anybody, though the consumer got others after them", f"note; warning of {minutes.AGAIN} and {_percent(minutes.AGAIN_SHARE)}", ""),
        "left_unacknowledged": (
            f"Sessions of a client, each of {consumers.LIVED_S} s or more, ended in {consumers.LEFT_SESSIONS} minutes within {_quiet(consumers.LEFT_WITHIN_S)} with {consumers.LEFT} messages in flight together; shorter ones are a loop, and those of one minute a deployment", "warning", ""),
        "redelivery_loop": (
            f"{minutes.AGAIN} messages and {_percent(minutes.AGAIN_SHARE)} of what a consumer got in a minute had been delivered before; not within {consumers.NEAR} minutes of a broker's stop", "warning", ""),
        "poison_message": (f"The same, of at most {consumers.FEW_CONTENTS} contents", "warning", ""),
    }  # fmt: skip


def _of_connections() -> dict[str, tuple[str, str, str]]:
    few = f"warning from {connections.EQUAL} of a client on, else note"
    equal = f"{connections.EQUAL} of a client within {_quiet(connections.EQUAL_WITHIN_S)}"
    return {
        "refused": ("CONNECTs that a broker answers with the same ERROR (digits aside)", few, ""),
        "unanswered": (f"CONNECTs without an answer up to the close, no byte being missing: {equal}. Where the broker closed, it is the subject: it may have as many connections as it can", "warning", ""),
        "connect_refused": (f"TCP connections that a RST refuses, while the broker is not known to be stopped: {equal}. They carry no login: the address is the subject, and its login is named if it has had one alone", "warning", ""),
        "reconnect_loop": (f"{connections.LOOPS} connections of a client within {_quiet(connections.LOOP_WITHIN_S)}, each of {minutes.SHORT_S} s at most, that ended without DISCONNECT, ERROR or another reason of this table; without a subscription only those that were reset or that the broker closed. It begins with the first end", "warning", ""),
        "storm": (f"{connections.STORM} connections of a client (or of an address, with {connections.STORM // 2} logins) in a minute, and {connections.STORM_TIMES} times the mean of the {connections.STORM_PAST_MINUTES} minutes before, {connections.STORM_LEAST_MINUTES} of which were captured; not within {_quiet(connections.AFTER_STOP_S)} of a broker's stop", "warning", ""),
        "errors": ("ERRORs after CONNECTED that say the same, but for those behind the RECEIPT of a DISCONNECT", few, ""),
        "broker_stop": ("A broker closed several connections within a second and then answered nobody: `close_cause` `broker_stop`. It ends with the next CONNECTED", "critical", "a maintenance that was planned"),
        "vanished": ("A connection on which one side repeats itself to its last packet, and the other answers no more (`close_cause` `vanished`); with messages in flight it is a consumer that is stalled", "warning", "a capture that lost one direction"),
        "cut_together": (f"Connections of {cuts.CUT_CLIENTS} clients, each {cuts.CUT_LIVED_S} s old or more, and {_percent(cuts.CUT_SHARE)} of those that a broker has, were closed one after the other within {cuts.CLOSED_WITHIN_S} s without a reason that is known, or fell silent within {cuts.SILENT_WITHIN_S} s of each other. It ends when all these clients are back", "critical", "several services that were stopped at once"),
        "heartbeat_missed": ("A connection was closed because one side missed its heart-beats: who missed is named, with who closed. Of consumers it is `consumer_gone`", "warning", ""),
        "heartbeat_late": (f"{ends.LATE} silences within {_quiet(ends.LATE_WITHIN_S)} that broke what was agreed on, and nobody closed the connection", "note", ""),
        "idle_cut": (f"Connections without heart-beats that are closed for their silence: as the broker says, or after a time that balancers have; or three after silences of {ends.SILENT_S} s or more that differ by {_percent(ends.AS_LONG - 1)} at most", "warning; note where the broker says so", "a timer of the client or the broker that closes idle connections"),
    }  # fmt: skip


def _of_surroundings() -> dict[str, tuple[str, str, str]]:
    limits = "warning from 1 % of the connections on, else note"
    return {
        "retransmissions": (f"{wire.AGAIN} retransmissions of an address in a minute, and {wire.AGAIN_TIMES} times the mean of the others; or {wire.AGAIN_ALL} of a broker's in a minute, of {wire.ALL_ADDRESSES} addresses, and {wire.ALL_TIMES} times the mean of the hour before", "warning", "packets that the capture has twice"),
        "window_closed": (f"A receiver's TCP window was closed for {wire.CLOSED_S} s", f"warning; critical from {surroundings.LONG_CLOSED_S} s on", ""),
        "long_way": (f"Round trips of {_ms(wire.FAR_US)} and {wire.FAR_TIMES} times those of the other addresses of the hour, over {wire.FAR_CONNECTIONS} connections of each", "note", "a capture point near the other clients"),
        "protocol": (f"A MUST that is broken, once per rule, side, product and login, with the count; what {_percent(rules.MOST)} of {rules.EVERYONE} logins or more break is said once of all clients", f"note; warning of {surroundings.WRONG_LENGTH} (content-length) from {connections.EQUAL} times on, as messages are cut or lost", ""),
        "capture_loss": ("Bytes of connections that were not captured", limits, "packets that the capture dropped"),
        "capture_cut": ("Packets that were cut (snapshot length)", limits, ""),
        "capture_one_way": ("Connections of which one direction alone was captured", limits, ""),
        "capture_clocks": ("Connections in which a side acknowledges what was not yet sent, by the times of the capture", limits, ""),
        "capture_damaged": ("A capture file that is damaged", "note", ""),
        "capture_tls": ("TLS without a key", "note", ""),
    }  # fmt: skip


def _percent(share: float) -> str:
    return f"{share * 100:g} %"


def _ms(microseconds: int) -> str:
    return f"{microseconds / 1e6:g} s" if microseconds >= 1_000_000 else f"{microseconds / 1e3:g} ms"


def _quiet(seconds: int) -> str:
    return "a day" if seconds == DAY else f"{seconds // MINUTE} min"


if __name__ == "__main__":
    sys.stdout.write(page() + "\n")
