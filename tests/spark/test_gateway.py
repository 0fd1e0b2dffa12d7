"""The JVM that a process starts, with a shell in its place: waited for, ended, and never left behind."""

from __future__ import annotations

import io
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stompcap.errors import EnvironmentProblem
from stompcap.spark import processes
from stompcap.spark.gateway import ENDED, Jvm

ROOT = Path(__file__).resolve().parents[2]


def shell(words: str) -> Jvm:
    return Jvm(["bash", "-c", words], dict(os.environ), None)


def told(folder: Path) -> Path:
    """A file as a gateway writes it."""
    path = folder / "gateway"
    path.write_bytes(struct.pack(">ii", 25333, 6) + b"secret")
    return path


def gone(process: int) -> bool:
    """Whether a process has ended, within some seconds."""
    deadline = time.monotonic() + 10
    while os.path.exists(f"/proc/{process}/exe") and time.monotonic() < deadline:
        time.sleep(0.02)
    return not os.path.exists(f"/proc/{process}/exe")


def test_what_a_gateway_tells(tmp_path: Path) -> None:
    jvm = shell("cat >/dev/null")
    assert jvm.connection(told(tmp_path)) == ("25333", "secret")
    assert jvm.end(30) == 0, "its standard input has ended"


def test_one_that_ends_before_it_can_be_reached(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match=ENDED):
        shell("exit 0").connection(tmp_path / "gateway")
    with pytest.raises(OSError, match="nothing"):
        Jvm(["nothing of this name"], dict(os.environ), None)


def test_one_that_has_not_begun_yet_is_not_waited_for() -> None:
    began = time.monotonic()
    assert shell("sleep 60").end(30) == -signal.SIGTERM
    assert time.monotonic() - began < 5


def test_it_is_ended_although_this_process_ignores_the_signal() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        assert shell("sleep 60").end(30) == -signal.SIGTERM
    finally:
        signal.signal(signal.SIGTERM, before)


def test_one_that_does_not_end_is_ended_by_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "FORCED_S", 0.2)
    jvm = shell("trap '' TERM; while true; do sleep 0.05; done")
    jvm.connection(told(tmp_path))
    time.sleep(0.3)
    assert jvm.end(0.1) == -signal.SIGKILL


def test_ctrl_c_of_the_terminal_is_not_for_it() -> None:
    jvm = shell("echo begun; read; exit 7")
    os.kill(jvm._process.pid, signal.SIGINT)
    assert not jvm.ended.wait(0.3)
    jvm.connected = True
    assert jvm.end(10) == 7


def test_it_ends_with_the_process_that_started_it_even_if_that_is_killed() -> None:
    program = (
        "import os, time; from stompcap.spark.gateway import Jvm\n"
        "jvm = Jvm(['sleep', '60'], dict(os.environ), None); print(jvm._process.pid, flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)})
    with parent, io.TextIOWrapper(parent.stdout or io.BytesIO()) as out:
        child = int(out.readline())
        assert os.path.exists(f"/proc/{child}/exe")
        parent.kill()
    assert gone(child)


def test_it_lasts_longer_than_the_thread_that_asked_for_it() -> None:
    from threading import Thread

    found: list[Jvm] = []
    thread = Thread(target=lambda: found.append(shell("read; exit 3")))
    thread.start()
    thread.join()
    assert not found[0].ended.wait(0.3)
    found[0].connected = True
    assert found[0].end(10) == 3


def test_a_process_that_was_forked_does_not_end_it() -> None:
    jvm = shell("read; exit 4")
    jvm._owner += 1
    assert jvm.end(0) is None
    assert not jvm.ended.wait(0.2)
    jvm._owner, jvm.connected = os.getpid(), True
    assert jvm.end(10) == 4


def test_descendants() -> None:
    with subprocess.Popen(["bash", "-c", "sleep 60 & echo; wait"], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        family = processes.descendants(os.getpid())
        below = processes.descendants(child.pid)
        assert len(below) == 1
        assert {child.pid, *below} <= set(family)
        for process in (*below, child.pid):
            os.kill(process, signal.SIGTERM)
    assert not processes.descendants(child.pid)
