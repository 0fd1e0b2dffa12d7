"""The process that Spark forks its Python workers from on a local master: it imports what every worker needs, once.

Spark's own (`pyspark.daemon`) imports nothing ahead, so each worker would import all of it. Python's garbage collector never looks at
what is frozen here, in this process or in the workers. A process that forks must have no other thread: BLAS starts
some when numpy is imported, unless a variable forbids it; the rest start theirs when first used.
"""

from __future__ import annotations

import gc
import os
import socket
import sys
from contextlib import suppress

from stompcap.spark import preloaded

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "1")


def main() -> None:
    """Serve Spark until it ends: by the process that has imported already, where one waits, else by this one."""
    if len(sys.argv) == 3:
        _, number, path = sys.argv
        _load()
        if not preloaded.taken_over(socket.socket(fileno=int(number)), path):
            return
    elif preloaded.hand_over():
        return
    else:
        _load()
    os.environ.setdefault(*ONE_THREAD)
    from pyspark import daemon

    daemon.manager()


def _load() -> None:
    """Import what workers need."""
    gc.disable()  # imports make no garbage
    os.environ.setdefault(*ONE_THREAD)
    import pyspark.worker  # noqa: F401  what is imported here is meant to be there, not to be used

    import stompcap.assembly
    import stompcap.rules
    import stompcap.spark.workers.by_stream
    import stompcap.spark.workers.extract
    import stompcap.spark.workers.read
    import stompcap.spark.workers.survey  # noqa: F401
    from stompcap import kernel
    from stompcap.spark.rehearsal import rehearse

    kernel.ready()
    with suppress(Exception):  # a worker that meets the same tells of it
        rehearse()
    gc.collect()
    gc.freeze()
    gc.enable()


if __name__ == "__main__":
    main()
