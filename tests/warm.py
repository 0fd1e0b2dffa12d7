"""Commands in one process that goes on: Python, its modules and Spark start once for all of them.

What is typed is a `stompcap` that hands its words and its folder to that process, prints what the command says there and ends with its
code. The process writes into files in memory: what draws charts keeps the streams that it first had, and a reader would wait for these.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

START_S = 120
TYPED = """#!{python} -IS
import os, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as there:
    there.connect({place!r})
    said = [os.memfd_create(name) for name in ("out", "err")]
    socket.send_fds(there, [chr(0).join([os.getcwd(), *sys.argv[1:]]).encode()], [0, *said])
    code = there.recv(1)[0]
for stream, number in enumerate(said, 1):
    os.lseek(number, 0, os.SEEK_SET)
    with open(number, "rb") as file, open(stream, "wb") as out:
        out.write(file.read())
sys.exit(code)
"""


@contextmanager
def warm(folder: Path, scratch: Path) -> Iterator[Path]:
    """The folder of such a `stompcap`; `folder` is where Spark looks for what has a relative path, as it does in a process of its own."""
    place, typed = scratch / "socket", scratch / "bin" / "stompcap"
    typed.parent.mkdir()
    typed.write_text(TYPED.format(python=sys.executable, place=str(place)))
    typed.chmod(0o755)
    serving = subprocess.Popen(  # pipes, as most commands have: Python remembers whether it can seek in its standard output
        [sys.executable, "-m", "tests.warm", place], cwd=folder, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + START_S
        while not place.exists():
            assert serving.poll() is None, serving.communicate()[0]
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield typed.parent
    finally:
        serving.terminate()
        serving.communicate(timeout=30)


def serve(place: str) -> None:
    """Run what comes, one command after the other."""
    from stompcap.spark.session import get_session

    get_session()  # before any command: Java keeps the standard streams that it was started with
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as here:
        here.bind(f"{place}.made")
        here.listen()
        os.rename(f"{place}.made", place)
        while True:
            with here.accept()[0] as there:
                said, streams, *_ = socket.recv_fds(there, 1 << 16, 3)
                there.send(bytes([outcome(streams, *said.decode().split("\0"))]))


def outcome(streams: list[int], folder: str, *words: str) -> int:
    """The exit code of a command in a folder, with these standard streams."""
    from stompcap.cli import entry

    kept = [os.dup(number) for number in range(len(streams))]
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    sys.argv[:] = ["stompcap", *words]
    try:
        return entry.outcome()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, stream in enumerate(kept):
            os.dup2(stream, number)
            os.close(stream)


if __name__ == "__main__":
    serve(sys.argv[1])
