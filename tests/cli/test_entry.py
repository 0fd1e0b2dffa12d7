"""How the process of a command ends: one line and the code of its kind, an object for programs, nothing left behind."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stompcap import __version__
from stompcap.cli import entry
from stompcap.cli.common import key_logs
from stompcap.cli.failures import explain
from stompcap.cli.signals import SIGNALS
from stompcap.cli.stderr import to_stderr
from stompcap.errors import CaptureError, EnvironmentProblem, LakeBusy, UsageError
from tests.cli.commands import ROOT, hears, in_session
from tests.examples import slow_behind


def called(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["stompcap", *words])
    return entry.outcome()


Said = pytest.CaptureFixture[str]


def test_the_version(capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    assert called(monkeypatch, "--version") == 0
    assert capsys.readouterr().out == f"stompcap {__version__}\n"


@pytest.mark.parametrize("words", [["-h"], ["--help"], ["run", "-h"], ["rules", "explain", "-h"]])
def test_help(words: list[str], capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    assert called(monkeypatch, *words) == 0
    said = capsys.readouterr()
    assert "Usage: stompcap" in said.out
    assert not said.err


def test_help_names_every_exit_code(capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    called(monkeypatch, "-h")
    words = " ".join(capsys.readouterr().out.split())
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    for code in ("0 done", "1 a gate", "2 usage", "3 environment", "4 some input", "5 another run holds", "70 an error in stompcap"):
        assert code in words
        assert code in readme


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "a.pcap", "--lake", "l", "--from", "2026-11-21"], "--from: says which connections --reprocess computes again; add that"),
        (["run", "--lake", "l"], "Missing argument 'CAPTURE...' (see stompcap run --help)"),
        (["run", "x", "--lake", "l", "--nonsense"], "No such option: --nonsense"),
        (["nonsense"], "No such command 'nonsense'"),
        (["extract", "x", "--lake", "l", "--split-octets", "many"], "Invalid value for '--split-octets'"),
        (["extract", "x", "--lake", "l", "--overlap", "middle"], "--overlap middle: must be first or last"),
        (["watch", ".", "--lake", "l", "--every", "often"], "--every often: must be a duration such as 90s, 30min, 24h or 7d"),
        (["run", "x", "--lake", "l", "--idle-timeout", "1w"], "--idle-timeout 1w: must be a duration such as 90s, 30min, 24h or 7d"),
    ],
)
def test_a_command_line_that_makes_no_sense(words: list[str], says: str, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    assert called(monkeypatch, *words, "--json") == 2
    said = capsys.readouterr()
    assert said.err.startswith(f"stompcap: {says}")
    assert len(said.err.splitlines()) == 1
    assert json.loads(said.out) == {"status": "failed", "exit_code": 2, "error": said.err.removeprefix("stompcap: ").rstrip("\n")}


def test_a_folder_that_is_not_there_is_not_watched(capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    assert called(monkeypatch, "watch", "/nowhere/captures", "--lake", "/nowhere/lake") == 4
    assert capsys.readouterr().err == "stompcap: /nowhere/captures: no such folder or file; check the name\n"


@pytest.mark.parametrize("command", ["peek", "run", "watch"])
def test_a_key_log_that_is_not_there_is_told_in_one_line(command: str, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = [] if command == "peek" else ["--lake", "l"]
    for words, variable in ((["--keylog", "/nowhere/keys.log"], ""), ([], "/nowhere/keys.log")):
        monkeypatch.setenv("STOMPCAP_KEYLOG", variable)
        assert called(monkeypatch, command, str(ROOT), *lake, *words) == 4
        assert capsys.readouterr().err == "stompcap: /nowhere/keys.log: no such key log; check the name\n"


@pytest.mark.parametrize(("text", "says"), [
    ("-----BEGIN CERTIFICATE-----\n", True), (f"CLIENT_RANDOM {'0' * 64} {'1' * 96}\n".encode("utf-16"), True), ("# nothing yet\n", False),
    (f"odd\nCLIENT_RANDOM {'0' * 64} {'1' * 96}\n", False),
])  # fmt: skip
def test_a_file_that_is_no_key_log_is_told_in_one_line(text: str | bytes, says: bool, capsys: Said, tmp_path: Path) -> None:
    log = tmp_path / "keys.log"
    log.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert key_logs([str(log)]) == (str(log),)
    assert capsys.readouterr().err == (f"stompcap: {log}: no line of it is one of a key log (RFC 9850); check the name\n" if says else "")


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (UsageError("no"), 2, "no"),
        (EnvironmentProblem("no lake"), 3, "no lake"),
        (CaptureError("a.pcap", "is gone"), 4, "a.pcap: is gone"),
        (LakeBusy("held"), 5, "held"),
        (OSError(errno.ENOSPC, "No space left on device"), 3, "No space left on device; free space and run again"),
        (OSError(errno.EROFS, "Read-only file system", "/lake"), 3, "/lake: Read-only file system; use another place"),
        (ValueError("odd\nmore"), 70, "unexpected ValueError: odd (run again with --verbose for the traceback)"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_kind_of_error(error: Exception, code: int, says: str, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    assert explain(error) == (says, code)

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("stompcap.lake.tables.demand", fail)
    monkeypatch.setattr(entry, "_command", fail)
    assert called(monkeypatch, "anything", "--json") == code
    said = capsys.readouterr()
    assert said.err == f"stompcap: {says}\n"
    assert json.loads(said.out) == {"status": "failed", "exit_code": code, "error": says}


def test_octets_of_others_are_escaped(capsys: Said) -> None:
    to_stderr("a\x1b[2Jb\nc\u202e.pcap: gone")
    assert capsys.readouterr().err == "stompcap: a\\x1b[2Jb\\nc\\u202e.pcap: gone\n"


@pytest.mark.parametrize("shell", slow_behind(1, ["bash", "zsh", "fish"]))
def test_shells_get_words_to_complete(shell: str) -> None:
    bash = {"COMP_WORDS": "stompcap ex", "COMP_CWORD": "1"}
    others = {"_TYPER_COMPLETE_ARGS": "stompcap ex", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "_STOMPCAP_COMPLETE": f"complete_{shell}", **bash, **others}
    done = subprocess.run([sys.executable, "-m", "stompcap"], capture_output=True, text=True, env=environment, check=True)
    assert {"extract", "export"} <= set(done.stdout.replace('"', " ").replace(":", " ").split())
    assert "decode" not in done.stdout


WAITS = """
import sys, time
from stompcap.cli import entry, signals
def command():
    print("ready", flush=True)
    {}
entry._command = command
signals.GRACE_S = 3.0
entry.main()
"""


Begin = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def begin() -> Iterator[Begin]:
    """Begins a command whose work is given; what does not end by the test's end is killed."""
    begun: list[subprocess.Popen[str]] = []

    def process(body: str, *ignored: signal.Signals) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [sys.executable, "-c", WAITS.format(body), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)}, start_new_session=True, preexec_fn=lambda: hears(*ignored),
        )  # fmt: skip
        begun.append(child)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.3)
        return child

    yield process
    for child in begun:
        child.kill()
        child.communicate()


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("body", ["time.sleep(60)", "try: time.sleep(60)\n    except BaseException: raise ValueError('lost') from None"])
def test_a_signal_ends_it_in_one_line(number: signal.Signals, body: str, begin: Begin) -> None:
    child = begin(body)
    child.send_signal(number)
    out, err = child.communicate(timeout=30)
    assert child.returncode == 128 + number
    assert err == f"stompcap: interrupted ({number.name}); finished work is kept, run again to continue\n"
    assert json.loads(out)["exit_code"] == 128 + number


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_handlers_are_installed_ends_it_in_one_line(number: signal.Signals) -> None:
    code = (
        "import os, sys, threading; from stompcap.cli import entry; sys.argv = ['stompcap', 'show']; begin = threading.Thread.start\n"
        f"threading.Thread.start = lambda self: (os.kill(os.getpid(), {int(number)}), begin(self)); entry.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    said = f"stompcap: interrupted ({number.name}); finished work is kept, run again to continue\n"
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", said)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_that_is_expected_ends_it_without_a_word(number: signal.Signals, begin: Begin) -> None:
    child = begin("with signals.expected(): time.sleep(60)")
    child.send_signal(number)
    out, err = child.communicate(timeout=30)
    assert (child.returncode, out, err) == (0, "", "")


@pytest.mark.slow
@pytest.mark.parametrize("end", ["", "\n        raise ValueError('disk full')"])
def test_a_signal_waits_for_what_puts_it_off(end: str, begin: Begin) -> None:
    body = "with signals.put_off():\n        time.sleep(1)\n        print('committed', flush=True)"
    child = begin(f"{body}{end}\n    print('too far')")
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=30)
    assert child.returncode == 143
    assert out.startswith("committed\n{")
    assert err == "stompcap: interrupted (SIGTERM); finished work is kept, run again to continue\n"


@pytest.mark.slow
def test_what_puts_a_signal_off_for_too_long_is_ended(begin: Begin) -> None:
    child = begin("with signals.put_off(): time.sleep(60)")
    child.send_signal(signal.SIGTERM)
    assert (child.wait(30), child.communicate()[1]) == (143, "stompcap: interrupted (SIGTERM)\n")


@pytest.mark.slow
def test_what_does_not_end_is_ended_by_a_second_signal(begin: Begin) -> None:
    child = begin("while True:\n        try: time.sleep(60)\n        except BaseException: pass")
    child.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(1)
    child.send_signal(signal.SIGINT)
    err = child.communicate(timeout=30)[1]
    assert (child.returncode, err) == (130, "stompcap: interrupted (SIGINT)\n")


@pytest.mark.slow
def test_what_does_not_end_is_ended_in_the_end(begin: Begin) -> None:
    child = begin("while True:\n        try: time.sleep(60)\n        except BaseException: pass")
    began = time.monotonic()
    child.send_signal(signal.SIGTERM)
    assert child.wait(60) == 143
    assert 2 < time.monotonic() - began < 15


@pytest.mark.slow
def test_a_signal_that_is_ignored_stays_so(begin: Begin) -> None:
    child = begin("time.sleep(2)\n    return 0", signal.SIGHUP, signal.SIGINT)
    child.send_signal(signal.SIGHUP)
    child.send_signal(signal.SIGINT)
    assert child.wait(30) == 0
    assert child.communicate()[1] == ""


def test_nothing_that_was_started_is_left(begin: Begin) -> None:
    """Neither a child that does not listen, nor a grandchild with a process group of its own whose parent is gone."""
    family = "import os, signal, time; os.fork() or (os.setpgid(0, 0), os.fork()); signal.signal(15, signal.SIG_IGN); time.sleep(99)"
    child = begin(f"import subprocess; subprocess.Popen([sys.executable, '-c', {family!r}]); time.sleep(60)")
    deadline = time.monotonic() + 20
    while len(in_session(child.pid)) < 4 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(in_session(child.pid)) == 4
    child.send_signal(signal.SIGINT)
    assert child.wait(30) == 130
    assert in_session(child.pid) == []


@pytest.mark.slow
def test_nobody_reads_what_is_printed() -> None:
    shell = f"{sys.executable} -m stompcap rules list | head -n 1; echo ${{PIPESTATUS[0]}}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.splitlines()[1:] == ["0"]
    assert done.stderr == ""


@pytest.mark.slow
def test_jobs_are_commands() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for path in (ROOT / "jobs" / name for name in ("run.py", "ack_latency.py", "watch.py")):
        done = subprocess.run([sys.executable, path, "-h"], capture_output=True, text=True, env=environment, check=True)
        assert "Usage: stompcap" in done.stdout
        assert done.stderr == ""
