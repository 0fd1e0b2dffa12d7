"""A lake of some million frames, for questions: made-up traffic of all profiles over two days, in one run for each of its rounds.

A round is a capture of each profile, one hour after the other; the bundled recordings come first. editcap (of Wireshark) moves captures in
time.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

HOUR_S = 3600
ROUND = {"normal": "150MB", "loss": "40MB", "slow-consumer": "30MB", "violations": "3MB", "broken-heart-beats": "3MB"}
"""How much of each profile a round has: together 550,000 frames."""

RECORDINGS = Path(__file__).resolve().parents[1] / "data"


def stompcap(*words: object) -> None:
    """Run a command; CalledProcessError where it fails."""
    subprocess.run([sys.executable, "-m", "stompcap", *map(str, words)], check=True)


def captures(folder: Path, number: int) -> None:
    """Write the captures of a round."""
    for index, (profile, size) in enumerate(ROUND.items()):
        at_first, path = folder / "at-first.pcap", folder / f"{number:03d}-{index}-{profile}.pcap"
        stompcap("generate", at_first, "--profile", profile, "--seed", number, "--size", size, "--quiet")
        subprocess.run(["editcap", "-F", "nsecpcap", "-t", str((number * len(ROUND) + index) * HOUR_S), at_first, path], check=True)
        at_first.unlink()
        at_first.with_suffix(".truth.json").unlink()


def make(lake: Path, rounds: int) -> None:
    """Make the lake, or add to it."""
    stompcap("run", RECORDINGS, "--lake", lake, "--quiet")
    for number in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            captures(Path(folder), number)
            stompcap("run", folder, "--lake", lake, "--quiet")


def main() -> None:
    """Make one: python -m benchmarks.large_lake LAKE --rounds 10."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lake", type=Path)
    parser.add_argument("--rounds", type=int, default=10, help="of 550,000 frames each")
    wanted = parser.parse_args()
    make(wanted.lake, wanted.rounds)


if __name__ == "__main__":
    main()
