"""`import stompcap` alone teaches and reaches what users may rely on, and costs next to nothing."""

from __future__ import annotations

import subprocess
import sys

import stompcap


def test_what_is_listed_is_there() -> None:
    assert {name for name in stompcap.__all__ if not hasattr(stompcap, name)} == set()
    assert [frame.command for frame in stompcap.stomp.parse(b"SEND\ndestination:/queue/a\n\nhello\0")] == ["SEND"]
    assert issubclass(stompcap.StompcapError, Exception)
    assert stompcap.Options().overlap == "first"


def test_its_help_shows_each_way_in() -> None:
    text = stompcap.__doc__ or ""
    assert all(word in text for word in ("stompcap.run(", "stompcap.read(", "stompcap.stomp.parse(", "stompcap.tcp.reassemble(", "Options"))


def test_importing_it_imports_nothing_large() -> None:
    code = "import sys, stompcap; print({name.split('.')[0] for name in sys.modules} & {'pyspark', 'numpy', 'pyarrow', 'numba', 'typer'})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
