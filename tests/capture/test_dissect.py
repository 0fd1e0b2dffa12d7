"""Kernels against scapy: both give the same columns for every packet of public traces that both can read."""

import numpy as np
import pytest

from stompcap.capture.decode import decode, empty
from stompcap.capture.files import is_capture, open_capture
from stompcap.capture.records import Walk
from stompcap.capture.verdicts import NOT_IP, USED
from tests.capture.by_scapy import dissect
from tests.shared import SHARED, shared

TRACES = sorted(p.relative_to(SHARED).as_posix() for p in SHARED.glob("captures/**/*") if p.is_file() and is_capture(str(p)))
COLUMNS = ("endpoints", "flow", "forward", "seq", "ack", "flags", "window", "ip_id", "ttl", "wire_octets", "captured_octets")


@pytest.mark.parametrize("trace", TRACES or ["captures/tcp"])
def test_kernels_and_scapy_agree(trace):
    capture = open_capture(str(shared(trace)))
    for records in Walk(capture):
        ours, theirs = empty(len(records)), empty(len(records))
        decode(capture.octets, records.position, records.captured, records.original, records.links, ours)
        for row in np.flatnonzero(ours.verdict == USED).tolist():
            at, size = int(records.position[row]), int(records.captured[row])
            frame = capture.octets[at : at + size].tobytes()
            verdict, payload = dissect(frame, int(records.original[row]), int(records.links[row]), row, theirs)
            if verdict == NOT_IP and records.links[row] == 0:
                continue  # scapy knows one of the numbers that IPv6 has on loopback interfaces
            assert verdict == USED, row
            for name in COLUMNS:
                assert np.array_equal(getattr(ours, name)[row], getattr(theirs, name)[row]), (row, name)
            place = int(ours.position[row])
            assert capture.octets[place : place + int(ours.captured_octets[row])].tobytes() == payload
