"""Packets that were found, written to a capture file of their own that appears when it is complete."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stompcap.capture.writing import Writer
from stompcap.errors import EnvironmentProblem
from stompcap.export.masking import mask_packets
from stompcap.export.packets import CaptureFile, Packets, records_of
from stompcap.options import Options
from stompcap.units import LAST_S

END_NS = LAST_S * 1_000_000_000


def write(
    output: str, files: Sequence[CaptureFile], found: Packets, stream: Mapping[str, Any], options: Options | None = None
) -> str:
    """Write packets of these files, their secrets masked by the options if any are given; returns the format.

    Raises EnvironmentProblem where the file cannot be written.
    """
    fits = (stream["first_ns"] or 0) >= 0 and (stream["last_ns"] or 0) < END_NS
    pcap = fits and len(found.links) == 1 and not output.lower().endswith(".pcapng")
    part = f"{output}.part"
    with writable(output, part):
        with open(part, "wb") as file:
            writer = Writer(file, min(found.links) if pcap else None)
            for rank, numbers in found.numbers.items():
                for records, rows in records_of(files[rank], numbers):
                    writer.write(records, rows, os.path.basename(files[rank].path))
        if options is not None:
            mask_packets(part, stream["source"], options, tunnels=found.tunnels)
        os.replace(part, output)
    return "pcap" if pcap else "pcapng"


@contextlib.contextmanager
def writable(output: str, part: str) -> Iterator[None]:
    """Remove an incomplete file, and turn the system's error into one line."""
    try:
        yield
    except OSError as error:
        raise EnvironmentProblem(f"{output}: cannot be written ({error.strerror}); make room or name another file with -o") from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(part)
