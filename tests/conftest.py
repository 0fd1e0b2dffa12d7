"""What every test may rely on; fixtures of one folder are in that folder's conftest."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# The first call of a compiled kernel takes seconds, and CI machines stall: a deadline would fail tests of sound code.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", parent=settings.get_profile("default"), max_examples=2000)
# CI tries the same examples for the same code: a find there can be repeated; new ones are looked for where people work.
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default"))


def pytest_sessionstart() -> None:
    """Of two processes side by side each compiles half of the kernels first, so that a new cache does not cost both of them all."""
    halves = {"gw0": _kernels_of_packets, "gw1": _kernels_of_sessions}
    halves.get(os.environ.get("PYTEST_XDIST_WORKER", ""), lambda: None)()


def _kernels_of_packets() -> None:
    from tests.e2e.pure import wire_of
    from tests.e2e.truth import DATA

    for _ in wire_of([str(DATA / name) for name in ("rabbitmq_dialogue.pcap", "artemis_dialogue.pcapng")]).parts():
        pass


def _kernels_of_sessions() -> None:
    from tests.session.pieces import resumed, whole
    from tests.session.test_resume import COMMITTED_UNBEGUN
    from tests.session.transcript import made

    session = made(COMMITTED_UNBEGUN)
    whole(session)
    resumed(session, [3])
