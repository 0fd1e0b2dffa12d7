"""A class-data archive: the classes of a run, parsed and verified once, mapped by every JVM that is started here later.

It is the JVM's own (JDK 17 guide, "Class Data Sharing", dynamic archive), bound to its build and to the class path. Where it is
missing or does not fit, the JVM says nothing and starts as it would without; it saves some four seconds of a run's start.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from stompcap.errors import EnvironmentProblem
from stompcap.spark import jars, java, processes

SILENT = "-Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"
RECORD_VARIABLE = "STOMPCAP_RECORD_CLASSES"
LONGEST_S = 300
KEPT = 3  # archives, of 200 MB each: other checkouts and environments of this user have theirs


def folder() -> Path:
    """Where archives are."""
    return jars.cache().parent


def path(runtime: java.Java, class_path: Sequence[Path]) -> Path:
    """Where the archive lies for this Java runtime, this Spark and these JARs; it need not be there."""
    digest = hashlib.sha256()
    for word in (runtime.home.resolve(), jars.spark_home(), *class_path):
        digest.update(f"{word}\n".encode())
    release = runtime.home / "release"
    if release.is_file():
        digest.update(release.read_bytes())
    return folder() / f"classes-{digest.hexdigest()[:16]}.jsa"


def options(runtime: java.Java, class_path: Sequence[Path]) -> str:
    """The JVM options that use the archive, or write it where a `Recording` asks for that; empty where there is none."""
    recorded = os.environ.get(RECORD_VARIABLE)
    if recorded:
        return f'{SILENT} "-XX:ArchiveClassesAtExit={recorded}"'
    archive = path(runtime, class_path)
    return f'{SILENT} "-XX:SharedArchiveFile={archive}"' if archive.is_file() else ""


def lacking() -> Path | None:
    """Where an archive should be made; None where there is one already, or no Java or JARs to make it of."""
    runtime, found = java.use(), jars.present()
    if runtime is None or not found:
        return None
    archive = path(runtime, jars.class_path(found))
    return None if archive.is_file() else archive


def clean(place: Path) -> None:
    """Remove archives that were begun by processes that were killed, of 200 MB each."""
    for left in place.glob("classes-*.new"):
        number = left.name.split(".")[-2]
        if number.isdecimal() and not _runs(int(number)):
            left.unlink(missing_ok=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True


class Recording:
    """A Python program that starts a session, and whose classes are kept: it runs meanwhile, until `finish` waits for it."""

    def __init__(self, archive: Path, command: Sequence[str]) -> None:
        """Start it, its words behind the interpreter. Raises EnvironmentProblem where the archive's folder can't be written."""
        self.archive = archive
        self._made = archive.with_name(f"{archive.stem}.{os.getpid()}.new")
        try:
            archive.parent.mkdir(parents=True, exist_ok=True)
            clean(archive.parent)
            self._running = subprocess.Popen(
                [sys.executable, *command], env={**os.environ, RECORD_VARIABLE: str(self._made)}, text=True, errors="replace",
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=processes.bound(),
            )  # fmt: skip
        except OSError as error:
            raise self._problem(error) from error

    def finish(self) -> None:
        """Wait for it; the archive takes its place when it is complete.

        Raises EnvironmentProblem where the program fails or the file can't be written.
        """
        try:
            _, said = self._running.communicate(timeout=LONGEST_S)
            if self._running.returncode or not self._made.is_file():
                lines = said.strip().splitlines()
                raise EnvironmentProblem(f"the class-data archive could not be made ({lines[-1] if lines else 'no archive was written'})")
            os.replace(self._made, self.archive)
            for old in sorted(self.archive.parent.glob("classes-*.jsa"), key=lambda path: path.stat().st_mtime)[:-KEPT]:
                old.unlink(missing_ok=True)
        except subprocess.TimeoutExpired as error:
            raise EnvironmentProblem(f"the class-data archive could not be made (it took longer than {LONGEST_S} s)") from error
        except OSError as error:
            raise self._problem(error) from error
        finally:
            self.stop()

    def stop(self) -> None:
        """End it, where it still runs, and remove what it has begun."""
        if self._running.poll() is None:
            self._running.terminate()
            self._running.communicate()
        self._made.unlink(missing_ok=True)

    def _problem(self, error: OSError) -> EnvironmentProblem:
        return EnvironmentProblem(f"{self.archive}: the class-data archive could not be made ({error})")
