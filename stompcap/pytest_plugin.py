r"""A plugin of pytest: dialogues and captures of a test are judged, and a finding fails it.

It is loaded wherever stompcap is installed, so it imports nothing before a test asks for a fixture.

    def test_connects(stomp_dialogue):
        stomp_dialogue.client(my_library.connect_frame())
        stomp_dialogue.server(b"CONNECTED\nversion:1.2\n\n\0")

    @pytest.mark.stomp(side="client", level="SHOULD")
    def test_traffic(stomp_check):
        stomp_check("trace.pcap")
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from stompcap import Dialogue
    from stompcap.checking import Verdict

MARKER = "stomp"
DIALOGUES: pytest.StashKey[list[Dialogue]] = pytest.StashKey()


def pytest_configure(config: pytest.Config) -> None:
    """Describe the marker."""
    config.addinivalue_line(
        "markers", f"{MARKER}(side, level, known, allow_empty): how stomp_dialogue and stomp_check judge; as stompcap.check"
    )


@pytest.fixture
def stomp_dialogue(request: pytest.FixtureRequest) -> Dialogue:
    """A dialogue that is judged when its test has passed; a finding that counts fails the test, and so does one that tried nothing."""
    from stompcap import Dialogue

    dialogue = Dialogue()
    request.node.stash.setdefault(DIALOGUES, []).append(dialogue)
    return dialogue


@pytest.fixture
def stomp_check(request: pytest.FixtureRequest) -> Callable[..., Verdict]:
    """A function that judges captures, and fails the test where a finding counts; its arguments are those of stompcap.check."""
    import stompcap

    def judge(*captures: Any, **asked: Any) -> Verdict:
        verdict = stompcap.check(captures, **_asked(request.node) | asked)
        if not verdict.ok:
            pytest.fail(str(verdict), pytrace=False)
        return verdict

    return judge


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Judge the dialogues of a test that has passed."""
    outcome: Any = yield
    if outcome.excinfo is None:
        for dialogue in item.stash.get(DIALOGUES, ()):
            verdict = dialogue.verdict(**_asked(item))
            if not verdict.ok:
                try:
                    pytest.fail(str(verdict), pytrace=False)
                except pytest.fail.Exception as failure:
                    outcome.force_exception(failure)


def _asked(node: Any) -> dict[str, Any]:
    """The arguments of the marker."""
    marker = node.get_closest_marker(MARKER)
    return {} if marker is None else dict(marker.kwargs)
