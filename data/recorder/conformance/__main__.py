"""Entry point: `python -m data.recorder.conformance [NAME]...` plays the cases against products and writes data/conformance.json anew.

Each name is a broker (rabbitmq, activemq, artemis), which `stompcap drive` judges, or a client library (stomp.py, stompest, stompjs), which
`stompcap serve` judges; without names, all. Results of products that are not named stay.
"""
from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from data.recorder.brokers import BROKERS
from data.recorder.conformance.results import RESULTS, written
from data.recorder.libraries.install import PROGRAMS
from data.recorder.needs import ensure
from data.recorder.users import user_for

HERE = Path(__file__).parent
CLIENTS = {"stomp.py": [sys.executable, "stomp_py.py"], "stompest": [sys.executable, "stompest_.py"], "stompjs": ["node", "stompjs.cjs"]}
VERSIONS = {"rabbitmq": "RabbitMQ 3.10.8", "activemq": "ActiveMQ 5.17.2", "artemis": "Artemis 2.42.0"}


def judged(words: list[str], environment: dict[str, str]) -> list[dict[str, Any]]:
    """The results of a command, with the octets of the cases that failed alone."""
    command = [sys.executable, "-m", "stompcap", *words]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
    if not done.stdout:
        raise SystemExit(done.stderr)
    rows = json.loads(done.stdout)["cases"]
    return [{name: value for name, value in row.items() if name != "seconds" and (name != "proof" or row["outcome"] == "failed")}
            for row in rows]


def broker(name: str, cache: Path) -> dict[str, Any]:
    """A broker, started for this."""
    ensure([name])
    user = user_for(f"{name}-drive")
    with tempfile.TemporaryDirectory(prefix="stompcap-conformance-") as home, BROKERS[name](Path(home), cache).running([user]) as running:
        words = ["drive", f"{running.address}:61613", "--format", "json"]
        rows = judged(words, {"STOMPCAP_LOGIN": user.login, "STOMPCAP_PASSCODE": user.passcode})
    return {"product": VERSIONS[name], "side": "server", "cases": rows}


def client(name: str, cache: Path) -> dict[str, Any]:
    """A client library, in its small program."""
    command, script = CLIENTS[name]
    version = importlib.metadata.version(name) if name != "stompjs" else "7.1.1"
    environment = {}
    if name == "stompjs":
        PROGRAMS["stompjs"].command(cache)
        environment = {"NODE_PATH": str(cache / "stompjs" / "node_modules")}
    rows = judged(["serve", "--listen", "0", "--format", "json", "--quiet", "--", command, str(HERE / script)], environment)
    return {"product": f"{name} {version}", "side": "client", "cases": rows}


def main() -> None:
    """Play and write."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "stompcap"
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in sys.argv[1:] or [*BROKERS, *CLIENTS]:
        found[name] = (broker if name in BROKERS else client)(name, cache)
        print(f"{found[name]['product']}: {sum(row['outcome'] == 'failed' for row in found[name]['cases'])} failed")
    ordered = {name: found[name] for name in [*BROKERS, *CLIENTS] if name in found}
    RESULTS.write_text(written(ordered))


if __name__ == "__main__":
    main()
