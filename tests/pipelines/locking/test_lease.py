"""A lake on an object store is held by one run at a time: by a lease, which ends some time after a process that was killed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from pipelines.locking import lease, lock
from pipelines.locking.lease import Lease, holder_of
from stompcap.errors import EnvironmentProblem, LakeBusy
from tests.s3 import Store, store

LAKE = "s3://bucket/lake"


@pytest.fixture(scope="module")
def served() -> Iterator[Store]:
    pytest.importorskip("moto")
    with store() as running:
        yield running


@pytest.fixture
def s3(served: Store) -> Store:
    """With nothing in its bucket."""
    for one in served.client.list_objects_v2(Bucket="bucket").get("Contents", []):
        served.client.delete_object(Bucket="bucket", Key=one["Key"])
    return served


def keys(s3: Store) -> set[str]:
    return {one["Key"] for one in s3.client.list_objects_v2(Bucket="bucket").get("Contents", []) if not one["Key"].endswith("/")}


def test_a_lake_is_held_by_one_and_the_other_hears_by_whom(s3: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/usr/bin/stompcap", "run", "--conf", "spark.hadoop.fs.s3a.secret.key=hush", "a.pcap"])
    words = r"another run holds the lake \(stompcap run, process \d+ on .*, since 20.*--wait; if it was killed, its hold ends 90 s later$"
    for lake in (LAKE, "s3a://bucket/lake"):
        with lock.held(LAKE), pytest.raises(LakeBusy, match=words), lock.held(lake):
            pass
    with lock.held(LAKE):
        lock.demand(LAKE)
    for key in keys(s3):
        assert b"hush" not in s3.client.get_object(Bucket="bucket", Key=key)["Body"].read()


@pytest.mark.slow
def test_of_many_at_once_one_gets_it(s3: Store) -> None:
    """Each time; and what earlier holders left goes."""
    del s3
    for turn in range(5):
        leases = [Lease(LAKE) for _ in range(8)]
        before = leases[0].latest()
        assert before is None or not before.holds
        with ThreadPoolExecutor(8) as pool:
            got = list(pool.map(lambda one, before=before: one.take({"pid": 1}, before), leases))
        assert sum(got) == 1, turn
        holder = leases[0].latest()
        assert holder is not None
        assert (holder.number, holder.holds) == (turn + 1, True)
        leases[got.index(True)].end()


def test_who_looked_long_ago_does_not_get_the_number_of_a_holder_that_is_forgotten(s3: Store) -> None:
    first, second, third, slow = (Lease(LAKE) for _ in range(4))
    assert first.take({}, None)
    first.end()
    seen = slow.latest()
    assert second.take({}, seen)
    second.end()
    assert third.take({}, third.latest())
    assert not any(key.startswith(("lake/_lock/1/", "lake/_lock/2/")) for key in keys(s3))
    assert not slow.take({}, seen)
    assert not third.lost()
    third.end()


@pytest.mark.slow
def test_a_run_that_was_killed_holds_it_until_the_lease_ends(s3: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """And if it only slept, it does not commit any more."""
    del s3
    monkeypatch.setattr(lease, "LEASE_S", 3.0)
    monkeypatch.setattr(lease, "BEAT_S", 60.0)
    with lock.held(LAKE):
        with pytest.raises(LakeBusy), lock.held("s3a://bucket/lake"):
            pass
        with lock.held("s3a://bucket/lake", 30):
            with pytest.raises(LakeBusy, match="another one has taken the lake"):
                lock.demand(LAKE)
            lock.demand("s3a://bucket/lake")
    last = Lease(LAKE).latest()
    assert last is not None
    assert not last.holds


@pytest.mark.slow
def test_a_living_run_keeps_it(s3: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    del s3
    monkeypatch.setattr(lease, "LEASE_S", 3.0)
    monkeypatch.setattr(lease, "BEAT_S", 0.2)
    with lock.held(LAKE), pytest.raises(LakeBusy), lock.held(LAKE, 6):
        pass


def test_it_is_waited_for(s3: Store) -> None:
    del s3
    held, free = threading.Event(), threading.Event()

    def hold() -> None:
        with lock.held(LAKE):
            held.set()
            free.wait(30)

    other = threading.Thread(target=hold)
    other.start()
    assert held.wait(30)
    threading.Timer(1, free.set).start()
    with lock.held(LAKE, 30):
        assert free.is_set()
    other.join()


def test_a_store_without_the_bucket_is_a_line() -> None:
    pytest.importorskip("moto")
    with store(), pytest.raises(EnvironmentProblem, match=r"^s3://nowhere/lake: no such bucket"), lock.held("s3://nowhere/lake"):
        pass


def test_a_holder_is_read_from_its_entry() -> None:
    entry = {"metaData": {"id": "x", "description": json.dumps({"pid": 7})}}
    assert json.loads(holder_of(b'{"protocol":{}}\n' + json.dumps(entry).encode())) == {"pid": 7}
    assert holder_of(b"") == b""
