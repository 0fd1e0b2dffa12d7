"""When the command was entered: the user's wait began then, before Python started."""

from __future__ import annotations

import os
import time
from pathlib import Path

START_FIELD = 21  # of /proc/PID/stat (proc_pid_stat(5), field 22): clock ticks from the machine's start to the process's
LONGEST_S = 3600


def entered() -> float:
    """The moment, by `time.monotonic`, at which this process started, or the spark-submit that started it.

    Where the system does not provide it, the moment of the call.
    """
    now = time.monotonic()
    process = os.getppid() if "PYSPARK_GATEWAY_PORT" in os.environ else os.getpid()
    try:
        behind_the_name = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        started = int(behind_the_name[START_FIELD - 2]) / os.sysconf("SC_CLK_TCK")
        passed = time.clock_gettime(time.CLOCK_BOOTTIME) - started
    except (OSError, ValueError, IndexError, AttributeError):
        return now
    return now - passed if 0 <= passed < LONGEST_S else now
