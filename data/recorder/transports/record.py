"""Record the captures of transports: NAME.pcap or NAME.pcapng, NAME.truth.jsonl, and NAME.keys.txt where there is TLS."""
from __future__ import annotations

import hashlib
import json
import secrets
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from data.recorder.brokers import Broker
from data.recorder.record import AT_ONCE, passcodes
from data.recorder.sniffer import Sniffer
from data.recorder.transports import library, proof
from data.recorder.transports.brokers import TLS_PORT, HAProxy
from data.recorder.transports.programme import Recording
from data.recorder.transports.stage import Act, Way
from data.recorder.truth import Record, SessionLog
from data.recorder.users import user_for


def record(out: Path, cache: Path, scratch: Path, recordings: list[Recording]) -> None:
    """Record one after the other, each with a broker of its own."""
    out.mkdir(parents=True, exist_ok=True)
    for one in recordings:
        began = time.monotonic()
        broker = one.broker(scratch / one.name, cache)
        with ExitStack() as stack:
            users = [*(user for act in one.acts for user in act.users(broker.name)),
                     *(asked.user(broker.name) for asked in [*one.stompjs, *one.browser])]
            users += [user_for(name) for name, *_ in library.vertx_sessions(broker.name)] if one.vertx else []
            stack.enter_context(broker.running(users))
            haproxy = HAProxy(broker.home / "haproxy", broker.address).start(stack) if one.proxied else None
            path = _capture(out, broker, one, haproxy)
        print(f"{path.name}: {path.stat().st_size} octets, {time.monotonic() - began:.1f} s", flush=True)
    passcodes(out)


def _capture(out: Path, broker: Broker, one: Recording, haproxy: HAProxy | None) -> Path:
    path, keys, run = out / f"{one.name}{one.suffix}", broker.home / "keys.txt", secrets.token_hex(3)
    ways = [Way(broker, act.named.name, version, run, route=act.route, keys=keys, haproxy=haproxy if act.route.proxy else None)
            for act in one.acts for version in act.scenario.versions]
    acts = [act for act in one.acts for _ in act.scenario.versions]
    used = {act.route.port for act in one.acts} | {asked.port for asked in [*one.stompjs, *one.browser]}
    used |= {TLS_PORT} if one.vertx else set()
    ports = tuple(sorted(used))
    with Sniffer(path, broker.address, ports, one.precision, broker.home / f"tcpdump_{one.name}.log"), ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(_play, acts, ways))
        if one.stompjs:
            ways.append(Way(broker, "stompjs", "", run, keys=keys))
            library.play(ways[-1], one.stompjs)
        if one.browser:
            ways.append(Way(broker, "browser", "", run, keys=keys))
            library.play_browser(ways[-1], one.browser)
        if one.vertx:
            ways.append(Way(broker, "vertx", "", run, keys=keys))
            library.play_vertx(ways[-1])
        for way in ways:
            way.found_beyond()
    logs = [log for way in ways for log in way.logs]
    if one.browser:
        library.found_in(path, keys, logs)
    wrong = proof.check(path, logs, keys)
    if wrong:
        raise RuntimeError(f"{path.name} is not what the clients saw: " + "; ".join(wrong))
    if keys.exists():
        shutil.copy(keys, out / f"{one.name}.keys.txt")
        if one.keys_within:
            within = broker.home / path.name
            subprocess.run(["editcap", "--inject-secrets", f"tls,{keys}", str(path), str(within)], check=True, capture_output=True)
            shutil.move(within, path)
    _write_truth(path, broker, logs)
    return path


def _play(act: Act, way: Way) -> None:
    """One scenario; an error says whose."""
    try:
        act.scenario.play(way)
    except Exception as error:
        raise RuntimeError(f"{way.session()}: {error!r}") from error


def _write_truth(path: Path, broker: Broker, logs: list[SessionLog]) -> None:
    packets = subprocess.run(["capinfos", "-Mrc", str(path)], check=True, capture_output=True, text=True).stdout.split()
    head: Record = {
        "kind": "capture", "capture": path.name, "broker": broker.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "size_octets": path.stat().st_size, "packets": int(packets[-1]), "sessions": len(logs),
    }
    lines = [head, *(one for log in logs for one in log.records())]
    with path.with_suffix(".truth.jsonl").open("w") as truth:
        truth.writelines(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
