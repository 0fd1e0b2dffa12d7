"""Writes stompcap/prepare/signatures.txt: what the kernels are called with by recorded captures and by tests of every way to read them.

`make kernels` runs it, which takes some minutes: `python -m tests.prepare.observed`.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

from numba.core import types

from stompcap.prepare.signatures import LIST, Signature, spell

ROOT = Path(__file__).resolve().parents[2]
# They call kernels as a run does; other tests call some with types of their own. RARE is what only damage, gaps and leniency come to.
MACHINES = ("mangler", "assembly", "e2e", "cli/test_export.py")
READERS = ("splits", "remote", "compressed", "payload_spill", "fragments", "growing")
RARE = ("capture/test_damage.py", "stomp/test_decoder.py", "stomp/test_lenient.py", "transport/test_websocket_frames.py")
TESTS = [f"tests/{name}" for name in (*MACHINES, *RARE)] + [f"tests/capture/test_{name}.py" for name in READERS]
LEFT_OUT = "not slow and not spark and not brokers and not airflow"
HEAD = """\
# The kernels and the types they are called with, callees first; `make kernels` writes this file, stompcap/prepare/signatures.py reads it.
"""


def observed(folder: Path) -> list[Signature]:
    """What a folder of compiled kernels (`stompcap.kernel_cache`) was compiled for, in the order in which it was."""
    found: dict[Signature, int] = {}
    for index in folder.rglob("*.nbi"):
        module, _, rest = index.name.partition(".")
        function = rest.rsplit(".", 2)[0].rsplit("-", 1)[0]
        package = ".".join(("stompcap", *index.parent.relative_to(folder).parts))
        with index.open("rb") as file:
            pickle.load(file)  # numba's version
            _, overloads = pickle.load(file)
        for (arguments, *_), name in overloads.items():
            if any(isinstance(one, types.Omitted) for one in arguments):
                continue  # the tests leave arguments out, the package never does
            signature = Signature(f"{package}.{module}", function, tuple(map(spell, arguments)))
            found[signature] = (index.parent / name).stat().st_mtime_ns
    return sorted(found, key=lambda one: (found[one], str(one)))


def main() -> None:
    """Run the tests with an empty cache and write down what they left there."""
    with tempfile.TemporaryDirectory() as place:
        environment = os.environ | {"NUMBA_CACHE_DIR": place}
        subprocess.run([sys.executable, "-m", "pytest", "-q", "-m", LEFT_OUT, *TESTS], cwd=ROOT, env=environment, check=True)
        (folder,) = Path(place).glob("kernels-*")
        found = observed(folder)
    LIST.write_text(HEAD + "".join(f"{one}\n" for one in found), "utf-8")
    print(f"{len(found)} signatures")


if __name__ == "__main__":
    main()
