"""Finding a Java runtime that Spark starts on; folders made up, no Java needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from stompcap.spark import java


@pytest.mark.parametrize(
    ("told", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "1.8.0_402"', 8),
        ('IMPLEMENTOR="X"\nJAVA_VERSION="25.0.3"', 25),
        ('JAVA_VERSION="1.8.0_402"', 8),
        ("bash: no such program", None),
    ],
)
def test_feature_version(told: str, version: int | None) -> None:
    assert java.feature_version(told) == version


def runtime(home: Path, version: str, modules: str = "java.base jdk.incubator.vector") -> Path:
    """A folder that looks like a Java runtime."""
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text("#!/bin/sh\n")
    (home / "bin" / "java").chmod(0o755)
    (home / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return home


def test_a_java_home_that_is_passed_over_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from stompcap.cli.commands import doctor

    monkeypatch.setenv(java.PASSED_OVER, "")
    monkeypatch.setattr(java, "JAVA_HOMES", (str(tmp_path / "jvm" / "*"),))
    good, old = runtime(tmp_path / "jvm" / "b", "17.0.1"), runtime(tmp_path / "old", "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(old))
    found = doctor._java()
    assert (found.ok, java.passed_over()) == (True, old)
    assert found.found == f"17 at {good}, as JAVA_HOME={old} is no Java 17 or 21 with the module jdk.incubator.vector"


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without Java; returns the folder where runtimes are looked for."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setattr(java, "JAVA_HOMES", (f"{tmp_path}/jvm/*",))
    return tmp_path / "jvm"


def test_none_at_all(nowhere: Path) -> None:
    assert java.use() is None
    assert java.selected() is None


def test_home_that_is_no_runtime(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(nowhere / "gone"))
    assert java.use() is None


def test_one_that_does_not_fit_is_passed_over(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(runtime(nowhere / "a8", "1.8.0_402")))
    fitting = runtime(nowhere / "b17", "17.0.1")
    found = java.use()
    assert found is not None
    assert found.home == fitting
    assert found.version == 17


def test_the_one_spark_would_take_is_kept(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime(nowhere / "a17", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(runtime(nowhere / "z21", "21.0.1")))
    found = java.use()
    assert found is not None
    assert found.version == 21


def test_a_reduced_runtime_does_not_fit(nowhere: Path) -> None:
    runtime(nowhere / "a17", "17.0.1", modules="java.base")
    assert java.use() is None
    assert [(found.version, found.fits) for found in java.elsewhere()] == [(17, False)]
