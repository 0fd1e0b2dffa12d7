"""The doctor: each failure is told with its remedy, none ends in a traceback."""

from __future__ import annotations

import io
import urllib.request
from collections.abc import Callable
from pathlib import Path
from urllib.error import URLError

import pytest

from stompcap import kernel_cache
from stompcap.cli.commands import check_executors, check_places, doctor
from stompcap.cli.commands.check import Check
from stompcap.spark import jars, java
from tests import s3

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the machine that runs the tests decides their outcome."""
    for name in ("JAVA_HOME", "NUMBA_CACHE_DIR", "SPARK_LOCAL_DIRS", jars.VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def found(name: str, lake: str | None = None) -> Check:
    """The check of that name, Spark left out."""
    return next(check for check in doctor.checks(lake, start_spark=False) if check.name == name)


def no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(java, "JAVA_HOMES", ())


def unreachable(*_: object, **__: object) -> None:
    raise URLError("no route to host")


def test_missing_java_is_a_finding_and_spark_is_not_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_java(tmp_path, monkeypatch)
    monkeypatch.setattr(urllib.request, "urlopen", unreachable)
    checks = {check.name: check for check in doctor.checks(str(tmp_path))}
    assert not checks["Java"].ok
    assert "JAVA_HOME" in checks["Java"].remedy
    assert not checks["Spark"].ok
    assert "Java" in checks["Spark"].found
    assert "executors" not in checks


def test_java_home_that_is_wrong_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_java(tmp_path, monkeypatch)
    monkeypatch.setenv("JAVA_HOME", "/no/such/java")
    assert "/no/such/java" in found("Java").found


def test_every_failure_has_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_java(tmp_path, monkeypatch)
    monkeypatch.setattr(urllib.request, "urlopen", unreachable)
    monkeypatch.setattr(doctor, "LEAST_FREE_OCTETS", 1 << 62)
    monkeypatch.setattr(doctor, "PYTHON", (9, 0))
    failed = [check for check in doctor.checks(str(tmp_path)) if not check.ok]
    assert {"Python", "Java", "Delta's JARs", "disk", "temporary folder", "Spark"} <= {check.name for check in failed}
    assert all(check.remedy for check in failed)


@pytest.mark.parametrize(
    ("versions", "fits"),
    [
        ({"pyspark": "4.2.0", "delta-spark": "4.4.0"}, True),
        ({"pyspark": "4.1.1", "delta-spark": "4.1.0"}, True),
        ({"pyspark": "4.2.0", "delta-spark": "4.1.0"}, False),
        ({"pyspark": "3.5.1", "delta-spark": "3.2.0"}, False),
    ],
)
def test_packages_that_do_not_fit_together(
    versions: dict[str, str], fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "version", lambda name: versions.get(name, "1.0"))
    assert found("packages").ok is fits


def jar_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(jars.VARIABLE, str(tmp_path))
    _, artifact, version = jars.coordinates().split(":")
    (tmp_path / f"{artifact}-{version}.jar").touch()


def wrong_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(jars.VARIABLE, str(tmp_path / "gone"))


def reachable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: io.BytesIO())


def cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urllib.request, "urlopen", unreachable)


@pytest.mark.parametrize(
    ("arrange", "fits", "says"),
    [
        (jar_folder, True, "1 in"),
        (wrong_folder, False, "not a folder"),
        (reachable, True, "first run"),
        (cut_off, False, "no route"),
    ],
)
def test_jars(
    arrange: Callable[[Path, pytest.MonkeyPatch], None],
    fits: bool,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arrange(tmp_path, monkeypatch)
    check = found("Delta's JARs")
    assert check.ok is fits
    assert says in check.found


def test_disk_of_a_lake_that_is_not_there_yet(tmp_path: Path) -> None:
    check = found("disk", str(tmp_path / "a" / "b"))
    assert check.ok
    assert str(tmp_path) in check.found


def test_lake_on_an_object_store_is_listed_and_written_and_nothing_stays() -> None:
    with s3.store() as there:
        check = found("store of the lake", "s3a://bucket/a/lake")
        assert check == Check("store of the lake", True, "s3a://bucket/a/lake can be listed and written; no lake there yet")
        assert [one["Key"] for one in there.client.list_objects_v2(Bucket="bucket").get("Contents", ())] in ([], ["a/"])
        assert any(method == "PUT" for method, *_ in there.asked)
        no_bucket = found("store of the lake", "s3://other/lake")
        there.refusal = "AccessDenied"
        denied = found("store of the lake", "s3://bucket/lake")
    assert no_bucket == Check("store of the lake", False, "s3://other/lake: no such bucket", "make it first, or check the URI")
    assert (denied.ok, denied.found) == (False, "s3://bucket/lake: no permission")
    assert "AWS_ACCESS_KEY_ID" in denied.remedy


def test_what_cannot_be_listed_is_not_read() -> None:
    with s3.store():
        names = [check.name for check in doctor.checks("s3://other/lake", start_spark=False)]
    assert "store of the lake" in names
    assert not {"disk", "rows of the lake"} & set(names)


def test_captures_are_listed_and_opened(tmp_path: Path) -> None:
    capture = (ROOT / "data" / "rabbitmq_midstream.pcap").read_bytes()
    with s3.store() as there:
        there.put("captures/a.pcap", capture)
        there.put("notes/a.txt", b"no capture at all")
        good, text, gone = (check_places.captures([f"s3://bucket/{name}"]) for name in ("captures", "notes/a.txt", "none"))
    assert good == Check("captures", True, "1 file can be listed, and opened")
    assert (text.ok, text.found) == (False, "s3://bucket/notes/a.txt: cannot be read")
    assert (gone.ok, gone.remedy) == (False, "no such file or bucket; check the URI")
    here = check_places.captures([str(tmp_path / "none.pcap")])
    assert (here.ok, here.found) == (False, f"{tmp_path / 'none.pcap'}: cannot be read")


def worker(**changed: object) -> dict[str, object]:
    own = {"host": "a", "python": "Python", "sources": kernel_cache.name(), "compiled": True, "stompcap": "0.1", "numba": "0.60"}
    return own | changed


@pytest.mark.parametrize(
    ("others", "fits", "says"),
    [
        ([worker(host="b")], True, "compiled on a, b"),
        ([worker(host="b", compiled=False)], True, "not compiled on b, where"),
        ([worker(host="b", sources="kernels-0")], False, "stompcap 0.1 with numba 0.60 on b is not what the driver has"),
    ],
)
def test_kernels_of_executors(others: list[dict[str, object]], fits: bool, says: str) -> None:
    check = check_executors.kernels([worker(), *others])
    assert check.ok is fits
    assert says in check.found


def test_kernel_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(doctor.os, "access", lambda *_: False)
    check = found("compiled kernels")
    assert not check.ok
    assert "NUMBA_CACHE_DIR" in check.remedy


@pytest.mark.spark
def test_spark_and_its_workers(tmp_path: Path) -> None:
    checks = {check.name: check for check in doctor.checks(str(tmp_path), "local[1]")}
    assert all(checks[name].ok for name in ("Spark", "time zone", "executors", "executors' kernels")), checks
