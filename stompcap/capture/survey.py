"""One pass over a capture for its row in table `captures`: digest, counts, times, status."""

from __future__ import annotations

import hashlib
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

from stompcap.capture.files import open_capture
from stompcap.capture.records import Walk
from stompcap.capture.segments import Decoder

HASH_OCTETS = 1 << 24
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def survey(path: str, source: str, *, tunnels: bool = True) -> dict[str, Any] | None:
    """The row of a capture file for table `captures`, without run_id; None for an empty file.

    `tunnels` as for Decoder. `skipped` and `tcp_segments` add up to `packets`. Raises CaptureError as `open_capture`.
    """
    capture = open_capture(path)
    if not capture.format:
        return None
    digest, hashed = hashlib.sha256(), 0
    skipped: Counter[str] = Counter()
    used, first, last = 0, None, None
    walk, decoder = Walk(capture), Decoder(tunnels=tunnels)
    for records in walk:
        batch = decoder.decode(records)
        used += batch.used
        skipped.update(batch.skipped)
        low, high = int(records.ts_ns.min()), int(records.ts_ns.max())
        first = low if first is None else min(first, low)
        last = high if last is None else max(last, high)
        if capture.compression is None:
            digest.update(capture.raw[hashed : records.end].data)  # while its pages are at hand
            capture.release(hashed, records.end)
            hashed = records.end
    while hashed < len(capture.raw):
        digest.update(capture.raw[hashed : hashed + HASH_OCTETS].data)
        hashed += HASH_OCTETS
    return {
        "capture_id": digest.hexdigest(),
        "path": path,
        "source": source,
        "format": capture.format,
        "compression": capture.compression,
        "size_octets": len(capture.raw),
        "link_types": walk.link_types,
        "snaplen": walk.snaplen,
        "packets": walk.packets,
        "tcp_segments": used,
        "skipped": dict(skipped),
        "first_ns": first,
        "last_ns": last,
        "first_ts": None if first is None else EPOCH + timedelta(microseconds=first // 1000),
        "status": walk.status,
        "damage": walk.damage,
    }
