"""Put one capture through everything, in a process of its own: seconds, peak memory in octets, rows by table, as JSON."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections import Counter

from stompcap import capture
from stompcap.assembly import Assembly, Meaning
from stompcap.options import Options
from stompcap.tcp import WIRE_ORDER
from tests.e2e.pure import wire_of


def measured(path: str, window: int) -> dict[str, object]:
    """What it takes; the tables are counted and dropped, as writing them would."""
    wire = wire_of([path])
    started = time.process_time()
    assembly = Assembly([(path, wire.surveyed[0]["capture_id"])], "batch", Options(), window)
    meaning = Meaning({wire.surveyed[0]["capture_id"]: 0}, Options(), lambda _: True)
    rows: Counter[str] = Counter()
    for part in assembly.parts(wire.segments.sort_by(WIRE_ORDER)):
        found = [part.tables] + ([meaning(part.sessions)] if part.sessions is not None else [])
        for tables in found:
            rows.update({name: table.num_rows for name, table in tables.items()})
    spent = time.process_time() - started
    return {"seconds": spent, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, "rows": rows}


if __name__ == "__main__":
    assert capture  # the readers are loaded before the clock starts
    measured(sys.argv[1], int(sys.argv[3]))
    print(json.dumps(measured(sys.argv[2], int(sys.argv[3]))))
