"""Java: which runtime Spark will be started with, and whether it is one that Spark runs on.

Spark takes JAVA_HOME, else `java` from PATH. Neither need be right where several runtimes are installed, so the usual
folders are searched too. Spark 4 is made for Java 17 and 21. The module jdk.incubator.vector must be there: reduced
runtimes lack it, and Spark 4.2 does not start without.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

VERSIONS = (17, 21)
PASSED_OVER = "STOMPCAP_PASSED_OVER_JAVA_HOME"
"""Where this process keeps the JAVA_HOME that it had, for what is said of it."""

MODULE = "jdk.incubator.vector"
JAVA_HOMES = (
    "/usr/lib/jvm/*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk@*/libexec/openjdk.jdk/Contents/Home",
    "/usr/local/opt/openjdk@*/libexec/openjdk.jdk/Contents/Home",
)


@dataclass(frozen=True)
class Java:
    """One runtime: its folder, its feature version (17 of 17.0.15), and whether it has the module that Spark needs."""

    home: Path
    version: int
    vector: bool

    @property
    def fits(self) -> bool:
        """Whether Spark starts on it."""
        return self.version in VERSIONS and self.vector


def feature_version(text: str) -> int | None:
    """The feature version in a release file or in what `java -version` prints: 8 of "1.8.0_402", 17 of "17.0.15"."""
    found = re.search(r'(?:version |JAVA_VERSION=)"(?:1\.)?(\d+)', text)
    return int(found.group(1)) if found else None


def inspect(home: Path) -> Java | None:
    """The runtime in a folder, by its release file, else by its own word; None where there is none that runs."""
    program = home / "bin" / "java"
    if not os.access(program, os.X_OK):
        return None
    try:
        output = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        output = _ask(program, "-version") + _ask(program, "--list-modules")
    version = feature_version(output)
    return None if version is None else Java(home, version, MODULE in output)


def _ask(program: Path, option: str) -> str:
    """What a Java program prints; empty where it does not run."""
    try:
        done = subprocess.run([program, option], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout + done.stderr


def selected() -> Java | None:
    """The runtime that Spark itself would take here; None where it would find none."""
    named = os.environ.get("JAVA_HOME")
    if named:
        return inspect(Path(named))
    program = shutil.which("java")
    return inspect(Path(program).resolve().parent.parent) if program else None


def elsewhere() -> Iterator[Java]:
    """The runtimes in the usual folders, in order of name."""
    for pattern in JAVA_HOMES:
        for home in sorted(Path("/").glob(pattern.lstrip("/"))):
            java = inspect(home)
            if java is not None:
                yield java


def passed_over() -> Path | None:
    """The runtime that JAVA_HOME named when `use` took another one; None where it did not."""
    named = os.environ.get(PASSED_OVER)
    return Path(named) if named else None


def use() -> Java | None:
    """See to it that Spark starts on a runtime that fits; returns it, or None where there is none on this machine.

    Sets JAVA_HOME for this process only if Spark would not find a fitting runtime by itself.
    """
    java = selected()
    if java is not None and java.fits:
        return java
    for java in elsewhere():
        if java.fits:
            if named := os.environ.get("JAVA_HOME"):
                os.environ[PASSED_OVER] = named
            os.environ["JAVA_HOME"] = str(java.home)
            return java
    return None
