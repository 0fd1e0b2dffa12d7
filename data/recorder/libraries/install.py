"""Installs the libraries' programs into the recorder's cache once, with each language's own package manager."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from data.recorder.needs import MissingNeedError, maven_jars

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Program:
    """How a library's program is installed and started; `client` is its name and version in the truth."""

    client: str
    tools: dict[str, str]  # required tools, and their Debian packages
    command: Callable[[Path], list[str]]
    variables: Callable[[Path], dict[str, str]] = lambda cache: {}

    def environment(self, cache: Path) -> dict[str, str]:
        """The environment it runs in."""
        return os.environ | self.variables(cache)


def _run(what: str, command: list[str], folder: Path) -> None:
    """Run an installer; an error quotes its last line."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or done.stdout.strip().splitlines() or ["no message"])[-1]
        raise MissingNeedError(f"{what} could not be installed: {last}")


def _renewed(folder: Path, sources: list[Path]) -> bool:
    """Recreate the folder with these sources unless it has exactly these; returns whether it was recreated."""
    if all((folder / path.name).exists() and (folder / path.name).read_bytes() == path.read_bytes() for path in sources):
        return False
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in sources:
        shutil.copy(path, folder)
    return True


def _stompjs(cache: Path) -> list[str]:
    folder = cache / "stompjs"
    if _renewed(folder, [HERE / "stompjs" / "package.json"]) or not (folder / "node_modules").exists():
        _run("@stomp/stompjs", ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"], folder)
    return ["node", str(HERE / "stompjs" / "sessions.cjs")]


def _gostomp(cache: Path) -> list[str]:
    folder = cache / "gostomp"
    if _renewed(folder, [HERE / "gostomp" / name for name in ("main.go", "go.mod", "go.sum")]) or not (folder / "sessions").exists():
        _run("go-stomp", ["go", "build", "-o", "sessions", "."], folder)
    return [str(folder / "sessions")]


def _vertx(cache: Path) -> list[str]:
    jars = maven_jars(cache / "vertx-stomp-4.5.14", HERE / "vertx" / "pom.xml", "vertx-stomp")
    return ["java", "-Xmx256m", "-cp", f"{jars}/*", str(HERE / "vertx" / "Sessions.java")]


PROGRAMS = {
    "stompjs": Program("stompjs/7.1.1", {"node": "nodejs", "npm": "npm"}, _stompjs,
                       lambda cache: {"NODE_PATH": str(cache / "stompjs" / "node_modules")}),
    "gostomp": Program("go-stomp/3.1.3", {"go": "golang-go"}, _gostomp),
    "vertx": Program("vertx-stomp/4.5.14", {"mvn": "maven", "javac": "default-jdk-headless"}, _vertx),
    "stompest": Program("stompest/2.3.0", {}, lambda cache: [sys.executable, str(HERE / "stompest" / "sessions.py")]),
}
