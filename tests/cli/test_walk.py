"""A walk through every command with what goes wrong on other people's machines: one line, the right exit code, no process left.

The lake is made once by the commands themselves, stage by stage where each of them is walked; each step works on a copy of it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from deltalake import DeltaTable

from stompcap.cli.signals import SIGNALS
from tests.cli.commands import ROOT, WITHOUT_JAVA, Ended, run

pytestmark = [pytest.mark.slow, pytest.mark.spark]

CAPTURE = ROOT / "data" / "activemq_dialogue.pcap"
THOROUGH = "STOMPCAP_WALK" in os.environ
"""All commands, interrupted at ten moments each, which takes half an hour; else one command of each kind, at three."""
MOMENTS = 10 if THOROUGH else 3
ENVIRONMENT, BUSY = 3, 5

# Each command: the stage of the lake it starts from and its words; LAKE, CAPTURE, STREAM and OUT are put in.
COMMANDS = {
    "run": ("", ["run", "CAPTURE", "--lake", "LAKE", "--quiet"]),
    "extract": ("", ["extract", "CAPTURE", "--lake", "LAKE", "--quiet"]),
    "decode": ("extract", ["decode", "--lake", "LAKE", "--quiet"]),
    "correlate": ("decode", ["correlate", "--lake", "LAKE", "--quiet"]),
    "metrics": ("correlate", ["metrics", "--lake", "LAKE", "--quiet"]),
    "validate": ("metrics", ["validate", "--lake", "LAKE", "--quiet"]),
    "sql": ("validate", ["sql", "SELECT count(*) FROM frames", "--lake", "LAKE", "--format", "csv"]),
    "register": ("validate", ["register", "--lake", "LAKE", "--quiet"]),
    "report": ("validate", ["report", "--lake", "LAKE", "-o", "OUT/report.html", "--quiet"]),
    "maintain": ("validate", ["maintain", "--lake", "LAKE", "--quiet"]),
    "forget": ("validate", ["forget", "--lake", "LAKE", "--before", "2100-01-01", "--yes", "--quiet"]),
    "export": ("validate", ["export", "STREAM", "--lake", "LAKE", "-o", "OUT/stream.pcap", "--quiet"]),
    "peek": ("", ["peek", "CAPTURE"]),
    "show": ("validate", ["show", "--lake", "LAKE"]),
    "completion": ("", ["completion", "bash"]),
    "manual": ("", ["manual"]),
    "dissector": ("", ["dissector"]),
    "generate": ("", ["generate", "OUT/made.pcap", "--connections", "3"]),
    "compare": ("validate", ["rules", "compare", "ActiveMQ", "--lake", "LAKE"]),
    "list": ("", ["rules", "list"]),
    "explain": ("", ["rules", "explain", "FR-07"]),
    "doctor": ("", ["doctor"]),
    "prepare": ("", ["prepare", "--quiet"]),
}
WALKED = list(COMMANDS) if THOROUGH else ["run", "sql", "report", "explain"]
STAGES = ("extract", "decode", "correlate", "metrics", "validate")
NEED_JAVA = {"run", "extract", "decode", "correlate", "metrics", "register", "maintain", "doctor"}
WRITE_LAKE = {"run", "extract", "decode", "correlate", "metrics", "validate", "maintain", "forget"}
WRITE_FILE = {"report", "export"}
TAKE_MASTER = NEED_JAVA | {"validate", "report", "compare"}


class Walk:
    """The lake after each stage, how long each command takes, and a stream to export."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.took_s, self._number = folder, {}, 0
        run("prepare", "--quiet")
        lake = folder / "made"
        for command in STAGES if THOROUGH else ("run",):
            done = run(*self.words(command, lake, folder))
            assert (done.code, done.err, done.left) == (0, "", []), done
            self.took_s[command] = done.took_s
            shutil.copytree(lake, folder / f"after {command}")
        self.frames = frames(lake)
        assert self.frames > 100
        self.stream = min(DeltaTable(str(lake / "sessions")).to_pyarrow_table(columns=["stream_id"]).column(0).to_pylist())

    def words(self, name: str, lake: Path, out: Path) -> list[str]:
        """What is typed for a command."""
        stream = getattr(self, "stream", "")
        places = {"LAKE": str(lake), "CAPTURE": str(CAPTURE), "STREAM": stream}
        return [places.get(word, word.replace("OUT", str(out))) for word in COMMANDS[name][1]]

    def lake(self, name: str, folder: Path | None = None) -> Path:
        """A lake as a command finds it: a copy, in a folder or a new one."""
        self._number += 1
        lake = (folder or self.folder / str(self._number)) / "lake"
        stage = COMMANDS[name][0]
        if stage:
            shutil.copytree(self.folder / f"after {stage if THOROUGH else 'run'}", lake)
        else:
            lake.parent.mkdir(exist_ok=True)
        return lake


def frames(lake: Path) -> int:
    """How many frames the lake has."""
    return DeltaTable(str(lake / "frames")).count()


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Walk:
    return Walk(tmp_path_factory.mktemp("walk"))


def one_line(done: Ended, code: int, *words: str) -> None:
    """It ended with this code, with one line that has these words, and left nothing."""
    assert done.code == code, done
    assert len(done.lines) == 1, done.err
    assert done.lines[0].startswith("stompcap: ")
    assert all(word in done.lines[0] for word in words), done.err
    assert not done.left


def test_every_command_is_walked() -> None:
    from stompcap.cli.main import app
    from stompcap.cli.rule_commands import rules

    names = {(command.name or command.callback.__name__) for group in (app, rules) for command in group.registered_commands}
    assert names - {"watch"} == set(COMMANDS), "watch does not end by itself; tests/spark/test_watch_command.py ends it"


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


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a file system in memory, of a size as mount(8) has it; again, to change its options."""
    place = tmp_path / "disk"
    place.mkdir()

    def mount(options: str) -> Path:
        again = "remount," if os.path.ismount(place) else ""
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", again + options, "tmpfs", place], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
        return place

    yield mount
    subprocess.run(["umount", "-l", place], capture_output=True, check=False)


@contextmanager
def filled(place: Path) -> Iterator[None]:
    """Not an octet is free there meanwhile."""
    ballast = place / "ballast"
    with open(ballast, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
    yield
    ballast.unlink()


@pytest.mark.parametrize("name", [name for name in WALKED if name in WRITE_LAKE | WRITE_FILE])
def test_a_full_disk(name: str, walk: Walk, mounted: Callable[[str], Path]) -> None:
    place = mounted("size=64m")
    lake = walk.lake(name, place)
    with filled(place):
        done = run(*walk.words(name, lake, place))
    if done.code:  # what is done already needs no room
        one_line(done, ENVIRONMENT, "No space left" if name in WRITE_FILE else "", "pace")
    done = run(*walk.words(name, lake, place))
    assert (done.code, done.err) == (0, ""), "room was made"


@pytest.mark.parametrize("percent", [10, 30, 50, 65] if THOROUGH else [50])
def test_a_disk_that_fills_up(percent: int, walk: Walk, mounted: Callable[[str], Path]) -> None:
    needed = sum(path.stat().st_blocks * 512 for path in (walk.folder / "made").rglob("*") if "_data_docs" not in path.parts)
    place = mounted(f"size={needed * percent // 100}")
    done = run(*walk.words("run", place / "lake", place))
    one_line(done, ENVIRONMENT, "pace")
    mounted("size=64m")
    done = run(*walk.words("run", place / "lake", place))
    assert (done.code, done.err) == (0, "")
    assert frames(place / "lake") == walk.frames


def test_standard_output_on_a_full_disk(walk: Walk, tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        one_line(run("rules", "list", output=full), ENVIRONMENT, "No space left on device")
        one_line(run(*walk.words("sql", walk.lake("sql"), tmp_path), output=full), ENVIRONMENT, "No space left on device")


@pytest.mark.parametrize("name", [name for name in WALKED if name not in ("list", "explain", "doctor", "prepare")])
def test_a_lake_that_cannot_be_written(name: str, walk: Walk, mounted: Callable[[str], Path], tmp_path: Path) -> None:
    place = mounted("size=64m")
    lake = walk.lake(name, place)
    mounted("ro")
    done = run(*walk.words(name, lake, tmp_path), folder=place)
    if name in WRITE_LAKE:
        one_line(done, ENVIRONMENT, "ead-only file system")
    else:
        assert (done.code, done.err, done.left) == (0, "", [])


@pytest.mark.parametrize("name", sorted(WRITE_FILE))
def test_a_place_for_a_file_is_looked_at_first(name: str, walk: Walk, mounted: Callable[[str], Path], tmp_path: Path) -> None:
    lake = tmp_path / "no lake"  # which it would say, had it begun to work
    mounted("size=1m")
    for folder, says in ((tmp_path / "missing", "No such file or directory"), (mounted("ro"), "Read-only file system")):
        one_line(run(*walk.words(name, lake, folder)), ENVIRONMENT, "cannot be written", says, "-o")
