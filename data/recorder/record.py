"""Record every capture of every broker: `python -m data.recorder OUTDIR [--broker NAME]... [--capture NAME]...`.

Per broker and capture: NAME.pcap (ActiveMQ with nanoseconds, Artemis as nanosecond pcapng) and NAME.truth.jsonl.
A recording fails, and leaves no files of that capture, if a broker does not start, tcpdump loses a packet, or
tshark finds other octets in the capture than the clients logged.
"""
from __future__ import annotations

import hashlib
import json
import secrets
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from data.recorder import proof
from data.recorder.brokers import BROKERS, PORT, Broker
from data.recorder.scenario import Scenario, Stage
from data.recorder.scenarios import PROGRAMME
from data.recorder.sniffer import Sniffer
from data.recorder.truth import Record, SessionLog

# Packaging differs by broker on purpose: readers must support all three.
FORMATS = {"rabbitmq": (".pcap", "micro"), "activemq": (".pcap", "nano"), "artemis": (".pcapng", "nano")}
# Sessions that start at the same time; more at once would blur planted delays on small machines.
AT_ONCE = 12


def record(out: Path, cache: Path, scratch: Path, names: list[str], wanted: list[str]) -> list[Path]:
    """Record the wanted captures of the named brokers one after another; returns the captures written."""
    out.mkdir(parents=True, exist_ok=True)
    captures: list[Path] = []
    for name in names:
        broker = BROKERS[name](scratch / name, cache)
        programme = [scenario for scenario in PROGRAMME if name in scenario.brokers and scenario.capture in wanted]
        users = [user for scenario in programme for user in scenario.users(name)]
        with broker.running(users):
            for capture in dict.fromkeys(scenario.capture for scenario in programme):
                chosen = [scenario for scenario in programme if scenario.capture == capture]
                captures.append(_capture_again(out, broker, capture, chosen))
    passcodes(out)
    return captures


def _capture_again(out: Path, broker: Broker, capture: str, scenarios: list[Scenario]) -> Path:
    """One capture, recorded once more while the kernel gives two sessions the same port, which is rare."""
    for _ in range(2):
        try:
            return _capture(out, broker, capture, scenarios)
        except proof.PortUsedTwiceError as error:
            print(f"{error}; once more", flush=True)
    return _capture(out, broker, capture, scenarios)


def _capture(out: Path, broker: Broker, capture: str, scenarios: list[Scenario]) -> Path:
    """One capture: scenarios in their three steps (before it starts, while it runs, after it ends)."""
    suffix, precision = FORMATS[broker.name]
    path = out / f"{broker.name}_{capture}{suffix}"
    run = secrets.token_hex(3)
    began = time.monotonic()
    acts = [(scenario, Stage(broker, scenario.name, version, run)) for scenario in scenarios
            for version in scenario.versions]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        plays = [scenario.play(stage) for scenario, stage in acts] if capture == "midstream" else []
        list(pool.map(next, plays))
        for _, stage in acts:
            for log in stage.logs:
                log.from_c2s, log.from_s2c = len(log.tape_c2s.octets), len(log.tape_s2c.octets)
        with Sniffer(path, broker.address, (PORT,), precision, broker.home / f"tcpdump_{capture}.log"):
            if plays:
                list(pool.map(next, plays))
            else:
                list(pool.map(lambda act: act[0].play(act[1]), acts))
        logs = [log for _, stage in acts for log in stage.logs]
        lines = _truth(path, broker, logs)
        list(pool.map(_finish, plays))
    with path.with_suffix(".truth.jsonl").open("w") as truth:
        truth.writelines(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
    took = time.monotonic() - began
    print(f"{path.name}: {len(logs)} sessions, {path.stat().st_size} octets, {took:.1f} s", flush=True)
    return path


def _finish(play: Iterator[None]) -> None:
    """Let a midstream scenario run its part after the capture."""
    next(play, None)


def _truth(path: Path, broker: Broker, logs: list[SessionLog]) -> list[Record]:
    """The truth file's lines, after tshark has confirmed them."""
    wrong = proof.check(path, logs)
    if wrong:
        path.unlink()
        raise RuntimeError(f"{path.name} is not what the clients saw: " + "; ".join(wrong))
    packets = subprocess.run(["capinfos", "-Mrc", str(path)], check=True, capture_output=True, text=True).stdout.split()
    head: Record = {
        "kind": "capture", "capture": path.name, "broker": broker.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "size_octets": path.stat().st_size, "packets": int(packets[-1]), "sessions": len(logs),
    }
    return [head, *(record for log in logs for record in log.records())]


def passcodes(out: Path) -> None:
    """All passcodes of all truth files in one list, to search for leaks with."""
    found = set()
    for truth in sorted(out.glob("*.truth.jsonl")):
        for line in truth.read_text().splitlines():
            entry = json.loads(line)
            if entry["kind"] == "session":
                found.update([entry["passcode"], *entry.get("secrets", [])])
    (out / "passcodes.txt").write_text("".join(f"{passcode}\n" for passcode in sorted(found)))
