"""Files of one period, as two taps write them, are taken in the same round: each has a direction of the connections, or half of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.watching.rotating import LONG_S
from stompcap.capture.rotation import period
from tests.pipelines.watching.test_rotating import STILL_S, Folder


@pytest.mark.parametrize(("one", "other", "together"), [
    ("c2s_00001_20260131120000.pcap", "s2c_00001_20260131120000.pcap", True),
    ("c2s_00001_20260131120000.pcap", "s2c_00002_20260131120100.pcap", False),
    ("client-20260131-1200.pcap", "server-20260131-1200.pcapng", True),
    ("client-20260131-1200.pcap.gz", "server-20260131-1200.pcap", True),
    ("a/cap_0001.pcap", "b/cap_0001.pcap", False),
    ("eth0.pcap", "eth1.pcap", None),
])  # fmt: skip
def test_files_of_one_period_by_their_names(one: str, other: str, together: bool | None) -> None:
    assert (period(one) is None) == (together is None)
    assert (period(one) == period(other)) == (together is not False)


def test_a_file_waits_until_that_of_the_other_tap_is_written(tmp_path: Path) -> None:
    """The cards' programs rotate at the same time, and write their files out a look apart."""
    at, rounds = Folder(tmp_path), []
    for put in (
        {"c2s_0001.pcap": 500, "s2c_0001.pcap": 500},
        {"s2c_0001.pcap": 700, "c2s_0002.pcap": 300},
        {"c2s_0002.pcap": 600, "s2c_0002.pcap": 300},
        {},
        {},
    ):
        at.now_s += STILL_S - 1
        for name, octets in put.items():
            at.put(name, octets)
        at.now_s -= STILL_S - 1
        due = at.look()
        rounds.append(sorted(at.names(due.files)))
        at.watched.taken(due, ())
    assert rounds == [[], [], ["c2s_0001.pcap", "s2c_0001.pcap"], ["c2s_0002.pcap", "s2c_0002.pcap"], []]


def test_a_file_whose_partner_is_written_to_for_hours_waits_no_longer(tmp_path: Path) -> None:
    at = Folder(tmp_path)
    at.put("c2s_0001.pcap", 500, age_s=STILL_S)
    taken = []
    for look in range(LONG_S // STILL_S + 3):
        at.put("s2c_0001.pcap", 500 + look, age_s=-STILL_S)
        due = at.look()
        taken += [(look, name) for name in at.names(due.files)]
        at.watched.taken(due, ())
    assert [name for _, name in taken] == ["c2s_0001.pcap"]
    assert taken[0][0] * STILL_S >= LONG_S
