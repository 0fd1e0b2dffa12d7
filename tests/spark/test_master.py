"""A master that is not there is told at once, for Spark itself tries for a minute."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from stompcap.errors import EnvironmentProblem
from stompcap.spark import master, session


@pytest.fixture
def port() -> Iterator[int]:
    """A port of this machine that answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def closed() -> int:
    """A port of this machine that does not."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.mark.parametrize(("name", "local"), [("local", True), ("local[2]", True), ("local-cluster[2,1,1024]", False), ("yarn", False)])
def test_which_masters_run_tasks_here(name: str, local: bool) -> None:
    assert master.is_local(name) is local


@pytest.mark.parametrize("name", ["spark://127.0.0.1:{}", "sc://127.0.0.1:{}/;token=x", "k8s://https://127.0.0.1:{}", "k8s://127.0.0.1:{}"])
def test_one_that_answers_and_one_that_does_not(name: str, port: int, closed: int) -> None:
    master.demand(name.format(port))
    began = time.monotonic()
    with pytest.raises(EnvironmentProblem, match=rf"no Spark master answers at .*127\.0\.0\.1:{closed}: Connection refused.*--master"):
        master.demand(name.format(closed))
    assert time.monotonic() - began < master.PATIENCE_S


def test_one_of_several_is_enough(port: int, closed: int) -> None:
    master.demand(f"spark://127.0.0.1:{closed},127.0.0.1:{port}")
    with pytest.raises(EnvironmentProblem):
        master.demand(f"spark://127.0.0.1:{closed},127.0.0.1:{closed}")


@pytest.mark.parametrize("name", ["", "local[*]", "yarn", "spark://", "spark://somewhere", "spark://somewhere:port", "nonsense://a:1"])
def test_names_without_an_address_are_left_to_spark(name: str) -> None:
    master.demand(name)


def test_a_host_that_is_not_there() -> None:
    with pytest.raises(EnvironmentProblem, match=r"no-such-host\.invalid:7077"):
        master.demand("spark://no-such-host.invalid:7077")
    with pytest.raises(EnvironmentProblem):
        master.demand("spark://127.0.0.1:99999")


@pytest.mark.parametrize("mode", [None, "client", "cluster"])
def test_a_driver_in_the_cluster_is_refused(mode: str | None) -> None:
    class Session:
        class conf:  # noqa: N801  as Spark names it
            get = staticmethod(lambda key, default: mode if mode and key == "spark.submit.deployMode" else default)

    if mode != "cluster":
        session._demand_client_mode(Session)  # type: ignore[arg-type]
        return
    with pytest.raises(EnvironmentProblem, match=r"^the deploy mode cluster is not supported.*use --deploy-mode client"):
        session._demand_client_mode(Session)  # type: ignore[arg-type]
