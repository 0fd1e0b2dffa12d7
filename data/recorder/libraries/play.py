"""Sessions played by a client library in a program of its own, and their logs made from that program's output.

A program gets one argument, a file of JSON: `address`, `port`, `beat_ms`, and `sessions` (`session`, `login`, `passcode`,
`version`, `mode`, `queue`). It plays all sessions at once, as an application of that library would, and prints one JSON object per line,
`session`, `at` (nanoseconds since the epoch), `event` and its fields `of`:

- `open`: `local`, `remote`; connected over TCP
- `octets`: `direction`, `hex`; just before the library's write call, just after its read call
- `message`: `message_id`; the library handed out a MESSAGE
- `receipt`: `receipt`; the library reported it, if it does
- `settle`: `word`, `messages` (the number of the one named, in order of arrival, then of those that a cumulative ACK settles with it),
  `delay_ms`, `transaction`; just before the library's ack or nack call
- `transaction`: `command`, `transaction` (null where the library makes up the name); just before the call
- `carried`: facts of what carried it, for the session's line
- `end`: the library's disconnect has returned

Each session: heart-beats from 1.1 on; SUBSCRIBE; four SENDs, the last with a receipt; a transaction committed, one aborted. Mode client:
the second and the fifth of five messages acknowledged after 40 and 90 ms, cumulatively; client-individual: ACKs out of order, one in a
transaction, and a NACK, what the broker delivers again acknowledged. 2.2 intervals of silence but for beats; UNSUBSCRIBE; DISCONNECT with
a receipt.

What a session logged is checked before it becomes truth: the library saw each MESSAGE once, with the message-id on the wire, and no RECEIPT
that did not arrive.
"""
from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from typing import Any

from data.recorder.brokers import PORT
from data.recorder.libraries.install import PROGRAMS
from data.recorder.scenario import Scenario, Stage
from data.recorder.truth import Record, SessionLog, Settlement
from data.recorder.wire import Frame, unescape

Event = dict[str, Any]
MODES = {"auto": ("1.0", "1.1", "1.2"), "client": ("1.0", "1.1", "1.2"), "individual": ("1.1", "1.2")}
PARTS = tuple(f"{mode}-{version.replace('.', '')}" for mode, versions in MODES.items() for version in versions)
PATIENCE_S = 90


def play(stage: Stage) -> None:
    """All sessions of one library with one broker."""
    program = PROGRAMS[stage.scenario]
    command = program.command(stage.broker.cache)
    logs: dict[str, SessionLog] = {}
    asked = []
    for part in PARTS:
        mode, digits = part.split("-")
        log = stage.log(part, client=program.client)
        logs[log.session] = log
        asked.append({"session": log.session, "login": log.user.login, "passcode": log.user.passcode, "version": f"{digits[0]}.{digits[1]}",
                      "mode": "client-individual" if mode == "individual" else mode, "queue": stage.queue(part)})
    run(stage, command, logs, asked)


def run(
    stage: Stage, command: list[str], logs: dict[str, SessionLog], asked: list[Record], name: str | None = None, port: int = PORT
) -> None:
    """Let a program (by name, where that is not the scenario's) play what is asked, and take its lines into the sessions' logs."""
    program = PROGRAMS[name or stage.scenario]
    plan = stage.broker.home / f"plan_{stage.scenario}.json"
    plan.write_text(json.dumps({"address": stage.broker.address, "port": port, "beat_ms": stage.broker.beat_ms, "sessions": asked}))
    environment = program.environment(stage.broker.cache)
    done = subprocess.run([*command, str(plan)], capture_output=True, text=True, timeout=PATIENCE_S, env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"{stage.product} with {program.client}: {done.stderr.strip()[-2000:]}")
    take(done.stdout, logs)


def take(printed: str, logs: dict[str, SessionLog]) -> None:
    """Take a program's lines into the sessions' logs."""
    events: dict[str, list[Event]] = defaultdict(list)
    for line in printed.split("\n")[:-1]:
        event = json.loads(line)
        events[event["session"]].append(event)
    for session, log in logs.items():
        Reading(log).take(sorted(events[session], key=lambda event: int(event["at"])))


class Reading:
    """One session's events, turned into its log."""

    def __init__(self, log: SessionLog) -> None:
        self.log = log
        self.handed: list[tuple[str, int]] = []
        self.settling: list[Event] = []
        self.units: list[Event] = []
        self.receipts: set[str] = set()
        self.takers = {"open": self._open, "octets": self._octets, "message": self._message, "receipt": self._receipt,
                       "settle": self._settling, "transaction": self._unit, "end": self._end, "carried": self._carried}

    def take(self, events: list[Event]) -> None:
        """All events, in order of the clock."""
        for event in events:
            self.takers[event["event"]](event["of"], event["at"])
        if self.log.end_kind != "disconnect":
            raise RuntimeError(f"{self.log.session}: the library never ended it")
        self._check_messages()
        self._settle()
        self._transactions()

    def _open(self, of: Event, at: int) -> None:
        self.log.opened_ns = at
        self.log.local, self.log.remote = tuple(of["local"]), tuple(of["remote"])

    def _octets(self, of: Event, at: int) -> None:
        octets = bytes.fromhex(of["hex"])
        if of["direction"] == "c2s":
            self.log.sent += self.log.tape_c2s.feed(octets, at)
            return
        for frame in self.log.tape_s2c.feed(octets, at):
            self.log.received.append(frame)
            if frame.command == "CONNECTED":
                can, wants = (self.log.sent[0].get("heart-beat") or "0,0").split(",")
                self.log.connected(frame, (int(can), int(wants)))

    def _carried(self, of: Event, at: int) -> None:
        self.log.carried |= of

    def _message(self, of: Event, at: int) -> None:
        self.handed.append((of["message_id"], at))

    def _receipt(self, of: Event, at: int) -> None:
        self.receipts.add(of["receipt"])

    def _settling(self, of: Event, at: int) -> None:
        self.settling.append(of | {"at": at})

    def _unit(self, of: Event, at: int) -> None:
        self.units.append(of | {"at": at})

    def _end(self, of: Event, at: int) -> None:
        self.log.end_kind, self.log.ended_by, self.log.closed_ns = "disconnect", "client", at

    def _check_messages(self) -> None:
        """Check that the library handed out the messages that its socket received."""
        came = [frame.get("message-id") for frame in self._of("MESSAGE")]
        # stompjs does not unescape in 1.1.
        if came != [unescape(name, self.log.version or "1.0") for name, _ in self.handed]:
            raise RuntimeError(f"{self.log.session}: the socket brought {came}, the library handed out {self.handed}")
        answered = {frame.get("receipt-id") for frame in self._of("RECEIPT")}
        if not self.receipts <= answered:
            raise RuntimeError(f"{self.log.session}: the library reported receipts {self.receipts - answered} that never came")
        for frame, (_, at) in zip(self._of("MESSAGE"), self.handed, strict=True):
            self.log.handed[frame.offset] = at

    def _of(self, *commands: str) -> list[Frame]:
        return [frame for frame in [*self.log.sent, *self.log.received] if frame.command in commands]

    def _settle(self) -> None:
        """Match calls and frames in their order."""
        messages = self._of("MESSAGE")
        for call, frame in zip(self.settling, self._of("ACK", "NACK"), strict=True):
            if frame.command != call["word"]:
                raise RuntimeError(f"{self.log.session}: {call['word']} called, {frame.command} sent")
            for number in call["messages"]:
                direct = number == call["messages"][0]
                self.log.settlements[messages[number].offset] = Settlement(
                    call["word"].lower(), "direct" if direct else "cumulative", call["at"], frame.offset, call["transaction"],
                    call["delay_ms"] if direct else None)

    def _transactions(self) -> None:
        for call, frame in zip(self.units, self._of("BEGIN", "COMMIT", "ABORT"), strict=True):
            name = frame.get("transaction")
            if call["command"] == "BEGIN":
                inside = [one for one in self.log.sent if one.get("transaction") == name]
                count = {word: sum(one.command == word for one in inside) for word in ("SEND", "ACK", "NACK")}
                record: Record = {
                    "kind": "transaction", "session": self.log.session, "transaction": name, "begin_offset": frame.offset, "outcome": None,
                    "sends": count["SEND"], "acks": count["ACK"], "nacks": count["NACK"],
                    "body_octets": sum(len(one.body) for one in inside), "begun_clock_ns": call["at"], "ended_clock_ns": None}
                self.log.transactions.append(record)
            else:
                record = next(one for one in self.log.transactions if one["transaction"] == name)
                record |= {"outcome": {"COMMIT": "committed", "ABORT": "aborted"}[call["command"]], "ended_clock_ns": call["at"]}


SCENARIOS = [Scenario(name, name, play, ("",), PARTS) for name in PROGRAMS]
