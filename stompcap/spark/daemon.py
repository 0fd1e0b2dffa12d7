"""The process that Spark forks its Python workers from on a local master: it imports what every worker needs, once.

Spark's own (`pyspark.daemon`) imports nothing ahead, so each worker would import all of it. Python's garbage collector never looks at
what is frozen here, in this process or in the workers. A process that forks must have no other thread: BLAS starts
some when numpy is imported, unless a variable forbids it; the rest start theirs when first used.
"""

from __future__ import annotations

import gc
import os


def main() -> None:
    """Import, then serve Spark until it ends."""
    gc.disable()  # imports make no garbage
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import pyspark.worker  # noqa: F401  what is imported here is meant to be there, not to be used
    from pyspark import daemon

    import stompcap.assembly
    import stompcap.rules
    import stompcap.spark.workers.by_stream
    import stompcap.spark.workers.extract
    import stompcap.spark.workers.read
    import stompcap.spark.workers.survey  # noqa: F401

    gc.collect()
    gc.freeze()
    gc.enable()
    daemon.manager()


if __name__ == "__main__":
    main()
