"""The command: its exit codes, where it writes, how long it takes; and the plugin of pytest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stompcap.cli import entry
from tests.checking.made import capture, connected
from tests.cli.commands import ROOT
from tests.e2e.truth import DATA

Said = pytest.CaptureFixture[str]
GOOD, BAD = str(DATA / "rabbitmq_gostomp.pcap"), str(DATA / "rabbitmq_violations.pcap")


def check(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["stompcap", "check", *words])
    return entry.outcome()


CODES = {
    "nothing counts": ([GOOD, "--side", "client"], 0),
    "a finding counts": ([BAD, "--side", "client"], 1),
    "a finding counts at a milder level": ([GOOD, "--side", "client", "--level", "INFO"], 1),
    "a finding counts, and an input is missing": ([BAD, "FOLDER/gone.pcap"], 1),
    "an input is missing": ([GOOD, "FOLDER/gone.pcap"], 4),
    "an input is no capture": (["FOLDER/notes.txt"], 4),
    "no session of STOMP": (["FOLDER/empty.pcap"], 4),
    "no capture at all": (["FOLDER/*.none"], 4),
    "no session, and that may be": (["FOLDER/empty.pcap", "--allow-empty"], 0),
    "an input is missing, whatever may be empty": (["FOLDER/gone.pcap", "--allow-empty"], 4),
    "no such side": ([GOOD, "--side", "broker"], 2),
    "no such level": ([GOOD, "--level", "all"], 2),
    "no such format": ([GOOD, "--format", "html"], 2),
    "no such baseline": ([GOOD, "--baseline", "FOLDER/gone.json"], 2),
    "nowhere to write": ([GOOD, "-o", "FOLDER/no/such/place"], 3),
    "nothing named": ([], 2),
}


@pytest.mark.parametrize("case", CODES)
def test_exit_codes(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said) -> None:
    (tmp_path / "notes.txt").write_text("no capture")
    (tmp_path / "empty.pcap").write_bytes(Path(GOOD).read_bytes()[:24])
    words, code = CODES[case]
    assert check(monkeypatch, *(word.replace("FOLDER", str(tmp_path)) for word in words)) == code
    assert "\x1b" not in capsys.readouterr().out


def test_a_file_is_written_and_a_line_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said) -> None:
    out = tmp_path / "check.json"
    assert check(monkeypatch, BAD, "--side", "client", "--format", "json", "-o", str(out)) == 1
    assert capsys.readouterr().out.startswith("check failed: ")
    assert json.loads(out.read_text())["ok"] is False
    assert check(monkeypatch, BAD, "--side", "client", "--baseline", str(out)) == 0
    assert "no new finding" in capsys.readouterr().out


def test_what_tries_nothing_of_a_side_is_not_green(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from stompcap.checking import Dialogue

    silent = capture(tmp_path, Dialogue().server(b"CONNECTED\nversion:1.2\n\n\0"))
    assert check(monkeypatch, silent, "--side", "client") != 0


@pytest.mark.slow
def test_the_largest_recordings_take_seconds_not_minutes(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for path in sorted(DATA.rglob("*.pcap*"), key=os.path.getsize)[-3:]:
        command = [sys.executable, "-m", "stompcap", "check", str(path), "-o", str(tmp_path / "check.txt")]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT, env=environment) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode in (0, 1)
        assert used.ru_utime + used.ru_stime < 10, path  # of the processor; less than 2 where nothing else runs


CODE = """
import resource, sys
sys.argv = ["stompcap", "check", *sys.argv[1:]]
from stompcap.cli import lean; lean.begin()
from stompcap.cli import entry
code = entry.outcome()
used = resource.getrusage(resource.RUSAGE_SELF)
loaded = {name.split(".")[0] for name in sys.modules} & {"pyspark", "pandas", "deltalake", "duckdb", "scapy", "pipelines"}
print(code, used.ru_utime + used.ru_stime, loaded, file=sys.stderr)
"""


@pytest.mark.slow
def test_it_loads_neither_spark_nor_a_lake() -> None:
    done = subprocess.run([sys.executable, "-c", CODE, GOOD], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stderr.split()[-1] == "set()"


TESTS = r'''
import pytest
CONNECTED = b"CONNECTED\nversion:1.2\n\n\0"

def test_keeps(stomp_dialogue):
    stomp_dialogue.client(b"CONNECT\naccept-version:1.2\nhost:h\n\n\0").server(CONNECTED).client(b"SEND\ndestination:/q\n\nx\0")

def test_breaks(stomp_dialogue):
    stomp_dialogue.client(b"CONNECT\naccept-version:1.2\nhost:h\n\n\0").server(CONNECTED).client(b"SEND\n\nx\0")

def test_says_nothing(stomp_dialogue):
    pass

@pytest.mark.stomp(level="SHOULD", side="client")
def test_breaks_a_should(stomp_dialogue):
    stomp_dialogue.client(b"CONNECT\naccept-version:1.2\nhost:h\n\n\0").server(CONNECTED).client(b"SEND\ndestination:/q\n\nx\0")

@pytest.mark.stomp(side="server")
def test_is_not_its_side(stomp_dialogue):
    stomp_dialogue.client(b"CONNECT\naccept-version:1.2\nhost:h\n\n\0").server(CONNECTED).client(b"SEND\n\nx\0")

def test_fails_by_itself(stomp_dialogue):
    assert stomp_dialogue is None

def test_a_capture(stomp_check):
    assert stomp_check(GOOD, side="client").ok
    stomp_check(BAD)

def test_needs_nothing_of_it():
    import sys
    assert "stompcap.checking" in sys.modules
'''


@pytest.mark.slow
def test_the_plugin_fails_tests_whose_traffic_breaks_a_rule(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(f"GOOD, BAD = {GOOD!r}, {BAD!r}\n{TESTS}")
    done = _pytest(tmp_path, "-p", "stompcap.pytest_plugin", "--strict-markers", "-rA")
    words = [line.split()[:2] for line in done.splitlines() if line.startswith(("PASSED ", "FAILED ", "ERROR "))]
    verdicts = {name.partition("::")[2]: word for word, name in words}
    assert verdicts == {
        "test_keeps": "PASSED", "test_breaks": "FAILED", "test_says_nothing": "FAILED", "test_breaks_a_should": "FAILED",
        "test_is_not_its_side": "PASSED", "test_fails_by_itself": "FAILED", "test_a_capture": "FAILED",
        "test_needs_nothing_of_it": "PASSED",
    }  # fmt: skip
    assert "SN-01 MUST client SEND (1): SEND without destination" in done


@pytest.mark.slow
def test_the_plugin_costs_those_nothing_who_do_not_use_it(tmp_path: Path) -> None:
    (tmp_path / "test_none.py").write_text(
        "import sys\ndef test_none():\n    assert not {'numpy', 'pyarrow', 'numba', 'stompcap.checking'} & sys.modules.keys()\n"
    )
    assert "1 passed" in _pytest(tmp_path, "-p", "stompcap.pytest_plugin")


def test_pytest_finds_the_plugin_where_stompcap_is_installed() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"stompcap": "stompcap.pytest_plugin"}


def _pytest(folder: Path, *words: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False).stdout


def test_a_dialogue_is_written_as_a_capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said) -> None:
    path = capture(tmp_path, connected().client(b"SEND\n\nx\0").close())
    assert check(monkeypatch, path, "--format", "json") == 1
    found = json.loads(capsys.readouterr().out)
    assert found["frames"] == {"client": 2, "server": 1}
