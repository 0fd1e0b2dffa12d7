"""What comes later of a connection that was open when it was forgotten is forgotten too, until it has ended."""

from __future__ import annotations

import datetime
import shutil
from pathlib import Path
from typing import Any

import pytest

from pipelines.forgetting.criteria import Criteria
from pipelines.forgetting.forget import forget_later
from pipelines.forgetting.remembered import FILE
from stompcap.lake import tables as lakes
from tests.pipelines.forgetting.forgotten_lakes import DAY_NS, Connection, forgotten, job, make
from tests.report.sample import table

LOGIN = Connection("0a" * 10, "10.1.2.3", "alice", 0)
OTHER = Connection("0b" * 10, "10.1.2.4", "bob", 0)
PORTS = {"client_port": 40000, "server_ip": "10.0.0.1", "server_port": 61613}


def add(lake: Path, one: Connection, **more: Any) -> None:
    """A connection's row of streams, and one of frames."""
    row = one.row("streams") | PORTS | {"source": "default", "final": False, "syn_seen": False} | more
    lakes.append(str(lake), "streams", table("streams", [row]), [one.name], "run")
    lakes.append(str(lake), "frames", table("frames", [one.row("frames")]), [one.name], "run")


def streams(lake: Path) -> list[str]:
    return sorted(lakes.small(str(lake), "streams", ["stream_id"]).column("stream_id").to_pylist())


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of which an open connection was forgotten by its login, and another was not, to copy."""
    lake = tmp_path_factory.mktemp("lakes") / "lake"
    make(lake, [])
    for one in (LOGIN, OTHER):
        add(lake, one, syn_seen=True)
        lakes.append(str(lake), "sessions", table("sessions", [one.row("sessions")]), [one.name], "run")
    assert forgotten(lake, Criteria(login="alice")).connections == 1
    return lake


@pytest.fixture
def lake(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "lake"))


def test_what_comes_later_goes(lake: Path) -> None:
    more = Connection("0c" * 10, LOGIN.client, None, 0)
    add(lake, more, first_ns=LOGIN.begin + 2 * 10**9, last_ns=LOGIN.begin + 3 * 10**9)
    forget_later(job(lake))
    assert streams(lake) == [OTHER.name]
    assert more.name not in lakes.small(str(lake), "frames", ["stream_id"]).column("stream_id").to_pylist()
    assert (lake / FILE).exists()


@pytest.mark.slow
def test_so_does_what_comes_after_that_until_it_has_ended(lake: Path) -> None:
    for number, final in enumerate((False, True)):
        more = Connection(f"0{'cd'[number]}" * 10, LOGIN.client, None, 0)
        add(lake, more, first_ns=LOGIN.begin + (2 + number) * 10**9, last_ns=LOGIN.begin + (2 + number) * 10**9 + 5, final=final)
        forget_later(job(lake))
        assert streams(lake) == [OTHER.name]
    assert not (lake / FILE).exists()


@pytest.mark.slow
@pytest.mark.parametrize("more", [{"syn_seen": True}, {"first_ns": LOGIN.begin + 3 * DAY_NS, "last_ns": LOGIN.begin + 3 * DAY_NS}])
def test_another_connection_of_its_endpoints_stays(lake: Path, more: dict[str, Any]) -> None:
    """One that begins with a SYN, or after the idle timeout."""
    other = Connection("0c" * 10, LOGIN.client, None, 0)
    add(lake, other, **{"first_ns": LOGIN.begin + 2 * 10**9, "last_ns": LOGIN.begin + 3 * 10**9, **more})
    forget_later(job(lake))
    assert streams(lake) == [OTHER.name, other.name]
    assert not (lake / FILE).exists()


@pytest.mark.parametrize("more", [{"client_ip": "10.9.9.9"}, {"client_port": 1}, {"source": "elsewhere"}])
def test_other_endpoints_stay(lake: Path, more: dict[str, Any]) -> None:
    other = Connection("0c" * 10, LOGIN.client, None, 0)
    add(lake, other, **{"first_ns": LOGIN.begin + 2 * 10**9, "last_ns": LOGIN.begin + 3 * 10**9, **more})
    forget_later(job(lake))
    assert streams(lake) == [OTHER.name, other.name]


def test_no_address_is_in_the_file(lake: Path) -> None:
    text = (lake / FILE).read_text()
    assert LOGIN.client not in text
    assert "alice" not in text


@pytest.mark.slow
def test_closed_connections_are_not_remembered_nor_what_was_before_a_time(tmp_path: Path) -> None:
    lake = make(tmp_path / "lake", [])
    add(lake, LOGIN, final=True)
    add(lake, OTHER)
    forgotten(lake, Criteria(streams=(LOGIN.name,)))
    forgotten(lake, Criteria(before=datetime.datetime(2100, 1, 1, tzinfo=datetime.UTC)))
    assert not streams(lake)
    assert not (lake / FILE).exists()
