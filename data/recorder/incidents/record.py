"""Record some minutes of a broker with incidents: BROKER_incidents.pcapng, and BROKER_incidents.truth.jsonl, which says what went wrong."""
from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from data.recorder.brokers import BROKERS, PORT
from data.recorder.incidents.programme import END_S, IDLE_CUT_S, RESTART_S, SERVICES, STRANGERS, known_from_the_start
from data.recorder.incidents.service import Scene, user_of
from data.recorder.process import Process, listens
from data.recorder.sniffer import Sniffer
from data.recorder.users import User

BALANCERS = {"rabbitmq": "127.0.0.31", "artemis": "127.0.0.33"}
BEFORE_THE_BALANCER = ("artemis",)
"""Where the capture has the clients' side of the balancer; elsewhere it has the broker's."""


def balancer(home: Path, address: str, broker: str, stack: ExitStack) -> None:
    """HAProxy with timeouts as short as a recording needs them; its own address is what the broker sees."""
    home.mkdir(parents=True, exist_ok=True)
    config = home / "haproxy.cfg"
    config.write_text(
        "global\n  log stdout format raw local0\n  maxconn 100\ndefaults\n  mode tcp\n  log global\n  timeout connect 5s\n"
        f"  timeout client {IDLE_CUT_S}s\n  timeout server {IDLE_CUT_S}s\n"
        f"listen stomp\n  bind {address}:{PORT}\n  server broker {broker}:{PORT} source {address}\n")
    process = stack.enter_context(Process(["haproxy", "-f", str(config)], home / "haproxy.log"))
    process.wait_until(lambda: listens(address, PORT), 10, "haproxy")


def record(out: Path, cache: Path, scratch: Path, name: str, over: threading.Event) -> Path:
    """One broker, from its first client to the end, which is some minutes later; nothing is written where `over` is set before."""
    out.mkdir(parents=True, exist_ok=True)
    broker, path = BROKERS[name](scratch / name, cache), out / f"{name}_incidents.pcapng"
    users = [user_of(name, service.login) for service in SERVICES]
    known = [User(user.login, f"right-{user.passcode[::-1]}") if user.login in STRANGERS else user for user in users]
    between = BALANCERS[name]
    passing = f"tcp port {PORT} and host {broker.address}"
    if name in BEFORE_THE_BALANCER:
        passing = f"tcp port {PORT} and (host {broker.address} or host {between}) and not (host {broker.address} and host {between})"
    scene = Scene(name, (broker.address, PORT), (between, PORT), over)
    with ExitStack() as stack:
        stack.enter_context(broker.running(known))
        balancer(broker.home / "haproxy", between, broker.address, stack)
        stack.enter_context(Sniffer(path, broker.address, (PORT,), "micro", broker.home / "tcpdump.log", passing))
        scene.begun_ns = time.time_ns()
        known_from_the_start(scene)
        threads = [threading.Thread(target=service.run, args=(scene,), daemon=True) for service in SERVICES]
        for thread in threads:
            thread.start()
            time.sleep(0.2)
        scene.rest(RESTART_S - scene.seconds())
        scene.note("broker_stop", "broker", f"{broker.address}:{PORT}")
        broker.process.stop(signal.SIGTERM)
        scene.rest(3)
        broker.process.__enter__()  # the same command again; the context that runs it ends it
        scene.rest(END_S - scene.seconds())
        early = scene.over.is_set()
        scene.over.set()
        for thread in threads:
            thread.join(10)
        if early:
            raise RuntimeError(f"{path.name}: ended before its time")
    _write_truth(path, scene, users)
    return path


def _write_truth(path: Path, scene: Scene, users: list[User]) -> None:
    packets = subprocess.run(["capinfos", "-Mrc", str(path)], check=True, capture_output=True, text=True).stdout.split()
    head = {"kind": "capture", "capture": path.name, "broker": scene.broker, "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "size_octets": path.stat().st_size, "packets": int(packets[-1]), "connections": scene.sessions, "begin_ns": scene.begun_ns}
    lines = [head, *({"kind": "login", "login": user.login, "passcode": user.passcode} for user in users), *scene.incidents]
    with path.with_suffix(".truth.jsonl").open("w", encoding="utf-8") as truth:
        truth.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
