"""What a process that lives on keeps of what it freed, asked of glibc itself (malloc_info)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import ctypes, sys, threading
from stompcap import memory
assert "pyarrow" not in sys.modules
if sys.argv[2] == "lives on":
    memory.keep_little()
begin = threading.Barrier(12)
def work():
    begin.wait()
    for _ in range(50):
        kept = [bytes(5000) for _ in range(200)]
threads = [threading.Thread(target=work) for _ in range(12)]
for one in threads: one.start()
for one in threads: one.join()
memory.release()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
file = libc.fopen(sys.argv[1].encode(), b"w")
libc.malloc_info(0, ctypes.c_void_p(file))
libc.fclose(ctypes.c_void_p(file))
"""


@pytest.mark.parametrize(("how", "few"), [("lives on", True), ("does one thing", False)])
def test_threads_share_two_arenas_in_a_process_that_lives_on(how: str, few: bool, tmp_path: Path) -> None:
    told = tmp_path / "malloc.xml"
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    subprocess.run([sys.executable, "-c", PROGRAM, told, how], env=environment, check=True)
    arenas = told.read_text().count("<heap nr=")
    assert (arenas <= 2) is few


@pytest.mark.parametrize(
    ("command", "asked", "pool"), [("watch", None, "system"), ("watch", "mimalloc", "mimalloc"), ("run", None, "None")]
)
def test_a_process_that_lives_on_gives_back_what_arrow_frees(command: str, asked: str | None, pool: str) -> None:
    code = (
        "import os, sys; from stompcap.cli import entry; sys.argv = ['stompcap', sys.argv[1]]; assert 'pyarrow' not in sys.modules\n"
        "entry.outcome = lambda _: print(os.environ.get('ARROW_DEFAULT_MEMORY_POOL')) or 0; entry.main()"
    )
    environment = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}
    environment |= {"ARROW_DEFAULT_MEMORY_POOL": asked} if asked else {}
    done = subprocess.run([sys.executable, "-c", code, command], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"{pool}\n"), done.stderr
