"""A walk through every command with what goes wrong on other people's machines: one line, the right exit code, no process left."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
from pathlib import Path

import pytest

from stompcap.cli.signals import SIGNALS
from tests.cli.commands import WITHOUT_JAVA, Ended, run
from tests.cli.walked import BUSY, COMMANDS, ENVIRONMENT, MOMENTS, NEED_JAVA, TAKE_MASTER, THOROUGH, WALKED, Walk, frames, one_line

pytestmark = [pytest.mark.slow, pytest.mark.spark]


def test_every_command_is_walked() -> None:
    from stompcap.cli.commands.rule_commands import rules
    from stompcap.cli.main import app

    names = {(command.name or command.callback.__name__) for group in (app, rules) for command in group.registered_commands}
    waiting = {"watch", "proxy", "serve", "drive"}
    assert names - waiting == set(COMMANDS), "these wait for others; tests/spark/test_watch_command.py and tests/active end them"


@pytest.mark.parametrize("name", WALKED)
def test_interrupted_at_any_moment(name: str, walk: Walk, tmp_path: Path) -> None:
    more = {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")} if name == "prepare" else {}
    lake = walk.lake(name)
    took_s = 10.0 if name == "prepare" else walk.took_s.get(name) or run(*walk.words(name, lake, tmp_path)).took_s
    interrupted = 0
    for moment in range(MOMENTS):
        lake = walk.lake(name)
        done = run(*walk.words(name, lake, tmp_path), number=signal.SIGINT, after_s=0.15 + took_s * moment / MOMENTS, **more)
        assert not done.left, done
        if done.code == 0:  # it was done before
            assert done.err == "", done
            continue
        one_line(done, 130, "interrupted (SIGINT)")
        assert done.ending_s < 15, "it is to end soon"
        interrupted += 1
    assert interrupted >= (MOMENTS // 2 if took_s > 2 else 1)


@pytest.mark.parametrize("numbers", [[one] * 4 for one in (*SIGNALS, signal.SIGKILL)] if THOROUGH else [[signal.SIGTERM, signal.SIGKILL]])
def test_what_was_interrupted_goes_on(numbers: list[signal.Signals], walk: Walk) -> None:
    lake = walk.lake("run")
    took_s = sum(walk.took_s.values()) / (2 if THOROUGH else 1)
    for turn, number in enumerate(numbers, 1):
        done = run(*walk.words("run", lake, lake.parent), number=number, after_s=took_s * turn / (len(numbers) + 1))
        if done.code and number is signal.SIGKILL:
            assert not wait_for_none(done), done
        elif done.code:
            one_line(done, 128 + number, number.name)
    done = run(*walk.words("run", lake, lake.parent))
    assert (done.code, done.err) == (0, "")
    assert frames(lake) == walk.frames


def wait_for_none(done: Ended) -> list[str]:
    """What is left of a command that was killed, some seconds later: nobody was there to end it before."""
    import time

    numbers = [line.split()[0] for line in done.left]
    deadline = time.monotonic() + 10
    while numbers and time.monotonic() < deadline:
        time.sleep(0.1)
        numbers = [number for number in numbers if os.path.exists(f"/proc/{number}/exe")]
    return numbers


@pytest.mark.parametrize("name", WALKED)
def test_without_java(name: str, walk: Walk, tmp_path: Path) -> None:
    (tmp_path / "java").mkdir()
    (tmp_path / "bin").mkdir()
    for program in ("bash", "env", "dirname"):
        (tmp_path / "bin" / program).symlink_to(str(shutil.which(program)))
    lake = walk.lake(name)
    environment = {"JAVA_HOME": str(tmp_path / "java"), "PATH": str(tmp_path / "bin")}
    done = run(*walk.words(name, lake, tmp_path), program=("-c", WITHOUT_JAVA), **environment)
    if name == "doctor":
        assert (done.code, done.err) == (ENVIRONMENT, "")
        assert "FAIL  Java" in done.out
    elif name in NEED_JAVA:
        one_line(done, ENVIRONMENT, "no Java 17 or 21 found; install one")
    else:
        assert (done.code, done.err) == (0, ""), done


@pytest.mark.parametrize("name", [name for name in WALKED if name in TAKE_MASTER])
def test_a_master_that_does_not_answer(name: str, walk: Walk, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    done = run(*walk.words(name, walk.lake(name), tmp_path), "--master", f"spark://127.0.0.1:{port}")
    if name == "doctor":
        assert (done.code, done.err) == (ENVIRONMENT, "")
        assert "FAIL  Spark: no Spark master answers" in done.out
    elif name in NEED_JAVA:
        one_line(done, ENVIRONMENT, "no Spark master answers", "Connection refused", "--master")
        assert done.took_s < 30
    else:
        assert (done.code, done.err) == (0, ""), done


def test_a_lake_that_another_run_holds_and_one_that_is_not_there_for_programs(walk: Walk, tmp_path: Path) -> None:
    import fcntl

    lake = walk.lake("decode")
    with open(lake / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run(*walk.words("decode", lake, tmp_path), "--json")
    one_line(done, BUSY, "another run holds the lake")
    assert json.loads(done.out) == {"status": "failed", "exit_code": BUSY, "error": done.lines[0].removeprefix("stompcap: ")}
    done = run(*walk.words("decode", tmp_path / "nowhere", tmp_path), "--json")
    one_line(done, ENVIRONMENT, "no lake here")
    assert json.loads(done.out)["exit_code"] == ENVIRONMENT


@pytest.mark.parametrize("name", WALKED)
def test_a_path_with_spaces(name: str, walk: Walk, tmp_path: Path) -> None:
    folder = tmp_path / "a föld er [1]"
    folder.mkdir()
    done = run(*walk.words(name, walk.lake(name, folder), folder), folder=folder)
    assert (done.code, done.err, done.left) == (0, "", [])
