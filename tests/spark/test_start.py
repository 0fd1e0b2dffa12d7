"""What a start of Spark is made of, without starting it: JARs, class-data archive, sessions begun early, when a command was entered."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from stompcap.cli.entered import entered
from stompcap.errors import EnvironmentProblem
from stompcap.spark import archive, jars, session
from stompcap.spark.java import Java


@pytest.mark.parametrize(
    ("name", "artifact"),
    [
        ("delta-spark_4.2_2.13-4.4.0.jar", "delta-spark_4.2_2.13"),
        ("io.delta_delta-spark_4.2_2.13-4.4.0.jar", "delta-spark_4.2_2.13"),
        ("com.fasterxml.jackson.core_jackson-core-2.13.5.jar", "jackson-core"),
        ("jackson-core-2.21.2.jar", "jackson-core"),
        ("json4s-jackson-core_2.13-4.0.7.jar", "json4s-jackson-core_2.13"),
        ("org.apache.logging.log4j_log4j-api-2.25.3.jar", "log4j-api"),
        ("RoaringBitmap-1.6.10.jar", "RoaringBitmap"),
    ],
)
def test_the_artifact_of_a_jar(name: str, artifact: str) -> None:
    assert jars._artifact(Path(name)) == artifact


def folder_of_jars(folder: Path, *names: str) -> list[Path]:
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).touch()
    return sorted(folder.iterdir())


def test_no_jar_goes_before_sparks_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder_of_jars(tmp_path / "spark" / "jars", "jackson-core-2.21.2.jar", "slf4j-api-2.0.17.jar")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    found = folder_of_jars(
        tmp_path / "jars", f"io.delta_{jars.artifact()}-{jars.version('delta-spark')}.jar",
        "com.fasterxml.jackson.core_jackson-core-2.13.5.jar", "io.delta_delta-storage-4.4.0.jar",
    )  # fmt: skip
    kept = [jar.name for jar in jars.class_path(found)]
    assert kept == [jar.name for jar in found if "jackson" not in jar.name]
    monkeypatch.setenv(jars.VARIABLE, str(tmp_path / "jars"))
    assert jars.configuration(local=True) == {"spark.driver.extraClassPath": ":".join(str(tmp_path / "jars" / name) for name in kept)}
    assert jars.configuration(local=False) == {"spark.jars": ",".join(map(str, found))}


def test_an_archive_belongs_to_one_java_and_one_class_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    one, other = Java(tmp_path / "17", 17, vector=True), Java(tmp_path / "21", 21, vector=True)
    paths = {archive.path(java, parts) for java in (one, other) for parts in ([], [Path("a.jar")], [Path("a.jar"), Path("b.jar")])}
    assert len(paths) == 6
    assert archive.options(one, []) == ""
    made = archive.path(one, [])
    made.parent.mkdir(parents=True)
    made.touch()
    assert f'"-XX:SharedArchiveFile={made}"' in archive.options(one, [])
    assert archive.options(other, []) == ""


def test_an_archive_that_cannot_be_made_is_said_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="no Spark to be had"):
        archive.Recording(tmp_path / "classes-1.jsa", ["-c", "raise SystemExit('no Spark to be had')"]).finish()
    with pytest.raises(EnvironmentProblem, match="no archive was written"):
        archive.Recording(tmp_path / "classes-1.jsa", ["-c", ""]).finish()
    assert not list(tmp_path.iterdir())


def test_an_archive_that_nobody_waits_for_ends_and_nothing_is_left(tmp_path: Path) -> None:
    begin = f"import os, time; open(os.environ['{archive.RECORD_VARIABLE}'], 'w').write('x'); time.sleep(600)"
    recording = archive.Recording(tmp_path / "classes-1.jsa", ["-c", begin])
    while not list(tmp_path.iterdir()):
        time.sleep(0.01)
    recording.stop()
    recording.stop()
    assert not list(tmp_path.iterdir())


def test_an_archive_takes_the_place_of_the_oldest(tmp_path: Path) -> None:
    for age in range(archive.KEPT):
        (tmp_path / f"classes-{age}.jsa").touch()
        os.utime(tmp_path / f"classes-{age}.jsa", (0, 1000 - age))
    write = f"import os; open(os.environ['{archive.RECORD_VARIABLE}'], 'w').write('x')"
    archive.Recording(tmp_path / "classes-new.jsa", ["-c", write]).finish()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["classes-0.jsa", "classes-1.jsa", "classes-new.jsa"]


@pytest.mark.parametrize(("name", "local"), [("local[2]", True), ("yarn", False)])
def test_a_session_knows_where_its_tasks_run_before_it_is_made(name: str, local: bool) -> None:
    assert session.LazySession(pytest.fail, name).local() is local


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Exception in thread \"main\" org.apache.spark.SparkException: no such master\n\tat org.apache.spark.X", "no such master"),
        ("loading\nException in thread \"main\" java.lang.RuntimeException: [unresolved: x]\n\tat y", "[unresolved: x]"),
        ("#\n# There is insufficient memory for the Java Runtime Environment to continue.\n# More\n# /tmp/hs_err.log",
         "There is insufficient memory for the Java Runtime Environment to continue."),
        ("Error: Could not create the Java Virtual Machine.\nmore", "Could not create the Java Virtual Machine."),
        ("env: 'bash': No such file or directory\n", "env: 'bash': No such file or directory"),
        ("", "its JVM ended without a word"),
    ],
)  # fmt: skip
def test_what_a_jvm_died_of(said: str, told: str) -> None:
    assert session._error_line(said) == told


def test_an_error_of_java_is_told_in_its_own_words() -> None:
    error = RuntimeError("An error occurred while calling None.X.\n: org.apache.spark.SparkException: no master\n\tat a.b(C.scala:1)")
    assert session._why(error) == "no master"
    assert session._why(RuntimeError()) == "RuntimeError"


def test_a_session_is_made_once_and_beside_other_work() -> None:
    made: list[int] = []
    go = threading.Event()

    def make() -> object:
        assert go.wait(10)
        made.append(threading.get_ident())
        return made

    later = session.LazySession(make)  # type: ignore[arg-type]
    later.begin()
    later.begin()
    go.set()
    assert later() is later() is made  # type: ignore[comparison-overlap]
    assert made != [threading.get_ident()]
    assert len(made) == 1


def test_what_keeps_a_session_from_being_made_is_raised_where_it_is_used() -> None:
    def fail() -> object:
        raise EnvironmentProblem("no Java")

    later = session.LazySession(fail)  # type: ignore[arg-type]
    later.begin()
    with pytest.raises(EnvironmentProblem, match="no Java"):
        later()


def test_a_command_was_entered_before_python_began() -> None:
    program = "import time; time.sleep(0.3); from stompcap.cli.entered import entered; print(time.monotonic() - entered())"
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert 0.3 <= float(done.stdout) <= time.monotonic() - began + 0.02


def test_a_job_was_entered_when_spark_submit_was(monkeypatch: pytest.MonkeyPatch) -> None:
    program = "from stompcap.cli.entered import entered; import time; print(time.monotonic() - entered())"
    shell = f'sleep 0.3; "{sys.executable}" -c "{program}"; true'
    environment = {**os.environ, "PYSPARK_GATEWAY_PORT": "1"}
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True, env=environment)
    assert float(done.stdout) >= 0.3
    assert entered() <= time.monotonic()


@pytest.mark.slow
def test_nothing_is_fetched_that_spark_brings(tmp_path: Path) -> None:
    """Where Maven has left a description without its JAR in ~/.m2, what is fetched in vain keeps Spark from starting."""
    fetch = (
        "from stompcap.spark import jars, session\n"
        "session.get_session('local[1]').stop()\n"
        "print(len(jars.resolved()), {*jars.resolved()} - {*jars.class_path(jars.resolved())})"
    )
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    environment.pop(jars.VARIABLE, None)
    done = subprocess.run([sys.executable, "-c", fetch], env=environment, capture_output=True, text=True, check=False, timeout=300)
    count, _, brought = done.stdout.strip().partition(" ")
    assert int(count) > 1, done.stderr
    assert brought == "set()"
