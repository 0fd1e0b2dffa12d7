"""Every command, as a walk through what goes wrong on other people's machines types it, and the lakes that they find.

The lake is made once by the commands themselves, stage by stage where each of them is walked; each step works on a copy of it.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from deltalake import DeltaTable

from tests.cli.commands import ROOT, Ended, run

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
    "repair": ("validate", ["repair", "--lake", "LAKE", "--quiet"]),
    "maintain": ("validate", ["maintain", "--lake", "LAKE", "--quiet"]),
    "forget": ("validate", ["forget", "--lake", "LAKE", "--before", "2100-01-01", "--yes", "--quiet"]),
    "export": ("validate", ["export", "STREAM", "--lake", "LAKE", "-o", "OUT/stream.pcap", "--quiet"]),
    "peek": ("", ["peek", "CAPTURE"]),
    "check": ("", ["check", "CAPTURE"]),
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


def one_line(done: Ended, code: int, *words: str) -> None:
    """It ended with this code, with one line that has these words, and left nothing."""
    assert done.code == code, done
    assert len(done.lines) == 1, done.err
    assert done.lines[0].startswith("stompcap: ")
    assert all(word in done.lines[0] for word in words), done.err
    assert not done.left
