"""A column of deliveries is added in the table and beside the other fields, a broker's quirk beside the others and where it counts."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.session.delivered import A1, ACTIVEMQ, EACH, FIRST, SECOND, message
from tests.session.transcript import made

OPEN = "> CONNECT accept-version:1.2 host:/\n< CONNECTED version:1.2\n"
NACKED = A1.replace("ACK", "NACK")
ROOT = Path(__file__).resolve().parents[2]
COLUMN = {
    "stompcap/tables/silver.py": ('text("ack_id"', '        text("priority", "Its priority header"),\n'),
    "stompcap/session/deliveries/records.py": (
        'Text("ack_id"', '    Text("priority", header="priority", columns=("priority",), before=None),\n',
    ),
}  # fmt: skip
OF_A_COLUMN = """
from stompcap.assembly.resume.state_layout import BEFORE
from stompcap.session.state import SCHEMAS
from stompcap.tables.tables_page import document
assert deliveries.column("priority").to_pylist() == [None, "9", None]
assert "priority" in SCHEMAS["deliveries"].names and BEFORE["session deliveries"]["priority"] is None and "`priority`" in document()
"""
QUIRK = {
    "stompcap/session/products/quirks.py": ("single_nack:", '    no_nack: Annotated[Bools, "CoilMQ"]  # a NACK settles nothing\n'),
    "stompcap/session/deliveries/walk.py": (
        "s, k = frames.session[i], -1", "    if quirks.no_nack[s] and frames.command[i] == NACK:\n        return\n",
    ),
}  # fmt: skip
OF_A_QUIRK = 'assert deliveries.column("status").to_pylist() == ["settled", "open", "open"], deliveries.column("status")'
ANALYSE = """
import pickle
from pathlib import Path
from stompcap.session import analyse
given = pickle.loads(Path("dialogues").read_bytes())
analysis = analyse(*(given[name] for name in ("streams", "rows", "frames", "segments")), {"cap": 0}, given["stalls"])
deliveries = analysis.tables["deliveries"]
"""
DIALOGUES = [
    OPEN.replace("< CONNECTED version:1.2", f"< CONNECTED version:1.2 {server}") + EACH + text
    for server, text in ((ACTIVEMQ, FIRST + NACKED), ("server:CoilMQ/1", message("m1", ack="a1", more="priority:9") + SECOND + NACKED))
]


@pytest.mark.slow  # the copy runs without compiled kernels
@pytest.mark.parametrize(("lines", "check"), [(COLUMN, OF_A_COLUMN), (QUIRK, OF_A_QUIRK)], ids=["column of deliveries", "quirk"])
def test_what_docs_say_is_enough(tmp_path: Path, lines: dict[str, tuple[str, str]], check: str) -> None:
    """The copy's kernels run as Python, so that they need not be compiled; frames are decoded by those that are."""
    for folder in ("stompcap", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for path, (behind, line) in lines.items():
        source = (tmp_path / path).read_text("utf-8").splitlines(keepends=True)
        at = next(number for number, each in enumerate(source) if behind in each)
        (tmp_path / path).write_text("".join([*source[: at + 1], line, *source[at + 1 :]]), "utf-8")
    (tmp_path / "dialogues").write_bytes(pickle.dumps(made(*DIALOGUES)))
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-W", "ignore", "-c", ANALYSE + check]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
