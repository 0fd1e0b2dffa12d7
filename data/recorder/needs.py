"""What the recorder needs on the machine: Debian packages, and artifacts from Maven Central.

As root, missing packages are installed by apt-get; otherwise recording stops with one line on what to do.
"""
from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

COPY_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
# Required programs and files, and their Debian packages.
TOOLS = {"tcpdump": "tcpdump", "tshark": "tshark", "editcap": "tshark"}
BROKERS = {
    "rabbitmq": {"/usr/lib/rabbitmq/bin/rabbitmq-server": "rabbitmq-server", "epmd": "erlang-base"},
    "activemq": {"/usr/share/activemq/bin/activemq.jar": "activemq", "java": "default-jdk-headless"},
    "spring": {"mvn": "maven", "javac": "default-jdk-headless"},
    "artemis": {"mvn": "maven", "javac": "default-jdk-headless"},
}


class MissingNeedError(RuntimeError):
    """Something that the recorder requires is missing; the message is one line with the remedy."""


def ensure(brokers: list[str], more: dict[str, str] | None = None) -> None:
    """Install what the named brokers need, and `more` (tool: package); raise MissingNeedError where that is not possible."""
    wanted = TOOLS | (more or {})
    for name in brokers:
        wanted.update(BROKERS[name])
    packages = sorted({package for tool, package in wanted.items() if shutil.which(tool) is None
                       and not os.path.exists(tool)})
    if os.geteuid() != 0:
        if packages:
            raise MissingNeedError(f"missing {', '.join(packages)}: run as root `apt-get install {' '.join(packages)}`")
        raise MissingNeedError("recording the loopback interface needs root: run it with sudo")
    if not packages:
        return
    if shutil.which("apt-get") is None:
        raise MissingNeedError(f"missing {', '.join(packages)}, and there is no apt-get to install them with")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update", "-q"], ["apt-get", "install", "-qy", "--no-install-recommends", *packages]):
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise MissingNeedError(f"`{' '.join(command)}` failed: {last}")


def maven_jars(cache: Path, pom: Path, what: str) -> Path:
    """Folder of the JARs that a pom.xml names, `what` among them, fetched from Maven Central once."""
    if not any(cache.glob(f"{what}-*.jar")):
        cache.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            ["mvn", "-B", "-q", "-f", str(pom), COPY_GOAL, f"-DoutputDirectory={cache}", "-DincludeScope=runtime"],
            capture_output=True, text=True,
        )
        if done.returncode != 0:
            last = (done.stdout.strip().splitlines() or ["no message"])[0]
            raise MissingNeedError(f"Maven could not fetch {what}: {last}")
    return cache
