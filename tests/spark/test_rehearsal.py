"""What the daemon of Python workers does once for all of them, while it waits for the JVM."""

from __future__ import annotations

import subprocess
import sys

import pytest

from stompcap import kernel_cache
from stompcap.checking import Dialogue
from stompcap.spark import rehearsal

PROGRAM = """
import sys, threading
from stompcap import kernel_cache
from stompcap.spark import rehearsal
from tests.e2e.pure import tables_of
from tests.e2e.truth import DATA
loaded, real = [], kernel_cache.KernelCache.load_overload
kernel_cache.KernelCache.load_overload = lambda self, *types: (loaded.append(self), real(self, *types))[1]
if sys.argv[1] == "rehearsed":
    rehearsal.rehearse()
    assert threading.enumerate() == [threading.main_thread()], "a process that forks has no other thread"
before = len(loaded)
tables_of([str(DATA / "rabbitmq_dialogue.pcap")])
print(len(loaded) - before)
"""


@pytest.mark.slow  # two processes of its own
def test_workers_find_loaded_what_a_capture_needs() -> None:
    loaded = {
        how: int(subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, check=True).stdout)
        for how in ("rehearsed", "not rehearsed")
    }
    assert loaded["rehearsed"] * 4 < loaded["not rehearsed"], loaded


def test_it_is_a_connection_as_most_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """All frames are understood, and the client keeps to the rules that it tries, but where the server's ERROR comes between."""
    said: list[Dialogue] = []
    verdict = Dialogue.verdict
    monkeypatch.setattr(Dialogue, "verdict", lambda self, **how: (said.append(self), verdict(self, **how))[1])
    monkeypatch.setattr(kernel_cache, "prepared", lambda: True)
    rehearsal.rehearse()
    frames = [frame for dialogue in said for frame in dialogue.frames]
    assert [frame.command for frame in frames if frame.errors] == []
    assert {frame.command for frame in frames} >= {"CONNECT", "CONNECTED", "SEND", "MESSAGE", "ACK", "ERROR", "RECEIPT"}


def test_without_compiled_kernels_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would compile them where nobody sees what takes so long."""
    monkeypatch.setattr(kernel_cache, "prepared", lambda: False)
    monkeypatch.setattr(Dialogue, "verdict", lambda *_, **__: pytest.fail("was judged"))
    rehearsal.rehearse()
