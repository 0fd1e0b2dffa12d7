"""tcpdump on the loopback interface for the length of a context, with a check that it missed nothing."""
from __future__ import annotations

import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType

from data.recorder.process import Process


class Sniffer:
    """Records one address's STOMP ports into `path`; precision is nano or micro; editcap makes pcapng.

    `passing` is another filter than of that address and these ports.
    """

    def __init__(
        self, path: Path, address: str, ports: tuple[int, ...], precision: str, log: Path, passing: str = ""
    ) -> None:
        self.path = path
        # Named .pcap in the scratch folder: Ubuntu's AppArmor profile lets tcpdump write nothing else.
        self.pcap = log.with_suffix(".pcap")
        self.log = log
        self.process = Process(
            ["tcpdump", "-U", "-n", "-Z", "root", "-i", "lo", "-s", "0", "-B", "65536",
             f"--time-stamp-precision={precision}", "-w", str(self.pcap),
             passing or f"host {address} and (" + " or ".join(f"tcp port {port}" for port in ports) + ")"],
            self.log)

    def __enter__(self) -> Sniffer:
        self.process.__enter__()
        self.process.wait_until(lambda: "listening on" in self.log.read_text(), 15, "tcpdump")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        # Packets reach tcpdump's buffer up to a second after they passed.
        time.sleep(1.2)
        self.process.stop(signal.SIGINT)
        if error is not None:
            return
        output = self.log.read_text()
        dropped = re.search(r"(\d+) packets? dropped by kernel", output)
        if dropped is None or dropped[1] != "0":
            raise RuntimeError(f"{self.path.name}: tcpdump lost packets: {output.strip()}")
        if self.path.suffix == ".pcapng":
            subprocess.run(["editcap", "-F", "pcapng", str(self.pcap), str(self.path)], check=True, capture_output=True)
        else:
            shutil.move(self.pcap, self.path)
