"""Same packets, same tables: whatever a capture is packaged in, all that the packets say comes out the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from stompcap.capture import survey
from tests.e2e.truth import DATA
from tests.examples import THOROUGH
from tests.mangler.compare import Tables, both_ways, differences, rows_of
from tests.mangler.files import UNTIMED
from tests.mangler.packagings import ALL, ENCAPSULATIONS, FILES, MIDSTREAM, SEGMENTATIONS, Packaging, excuses, in_turn, together

BROKERS = ("rabbitmq_library.pcap", "activemq_heartbeats.pcap", "artemis_library.pcapng")
RECORDED = sorted(path.name for path in DATA.glob("*.pcap*"))
FORMS = [
    "pcap, nanoseconds, big endian",
    "pcapng, sections of both byte orders",
    "pcapng, obsolete packet blocks",
    "pcap, modified",
    "gzip, three members",
    "zstd, three frames",
    "lz4",
    "pcapng, xz",
    "given twice",
    "pcapng, several interfaces",
]


OF_EITHER_IP = [
    name for place, name in enumerate(ENCAPSULATIONS)
    if THOROUGH or (other := name.removeprefix("IPv6, ") if name.startswith("IPv6, ") else f"IPv6, {name}") not in ENCAPSULATIONS
    or name.startswith("IPv6, ") == (min(place, [*ENCAPSULATIONS].index(other)) % 2 == 1)
]  # fmt: skip
"""Each encapsulation that carries both versions of IP with one of them, in turn; with both in the thorough profile."""


def pairs(each: list[str], others: list[str]) -> list[tuple[str, str]]:
    """Each with one of the others, all of which come; in the thorough profile with every eighth of them."""
    return in_turn(each, others, 8 if THOROUGH else min(len(each), len(others)))


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Tables by capture and packaging, each made once."""
    folder, known = tmp_path_factory.mktemp("plain"), {}

    def tables(name: str, packaging: Packaging) -> Tables:
        key = name, packaging.original()
        if key not in known:
            (place := folder / str(len(known))).mkdir()
            known[key] = rows_of(packaging.original().files(DATA / name, place))
        return known[key]

    return tables


def check(name: str, packaging: Packaging, plain, folder: Path) -> None:
    paths = packaging.files(DATA / name, folder)
    for path in paths:
        row = survey(str(path), "tap")
        assert (row["status"], row["damage"]) == ("complete", None)
        assert row["tcp_segments"] + sum(row["skipped"].values()) == row["packets"]
    excused = excuses(packaging.excused, MIDSTREAM) if "midstream" in name else packaging.excused
    lines = differences(rows_of(paths), plain(name, packaging), excused)
    assert not lines, "\n".join(lines[:40])


def test_the_packagings_are_many_enough():
    assert len(ALL) > 100


@pytest.mark.slow
def test_taken_apart_and_put_together_it_is_the_capture_itself(plain):
    for name in RECORDED:  # on senders, whose cards were to fill the checksums in
        assert not differences(plain(name, Packaging()), rows_of([DATA / name]), {"streams": both_ways("bad_checksum_segments")})


@pytest.mark.slow
@pytest.mark.parametrize(("number", "packaging"), list(enumerate([*SEGMENTATIONS, *FILES] if THOROUGH else FILES)), ids=str)
def test_tables_are_the_same(number, packaging, plain, tmp_path):
    """Each segmentation is tried with several recordings below; each encapsulation is among the pairs there, and those of tests/capture."""
    check(BROKERS[number % len(BROKERS)], ALL[packaging], plain, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("packaging", [*SEGMENTATIONS, "padded, with a frame check sequence", "fragments", "IPv6, jumbo", "VXLAN", "gzip"])
def test_tables_of_large_segments_are_the_same(packaging, plain, tmp_path):
    check("activemq_bodies.pcap", ALL[packaging], plain, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "packaging"), pairs(RECORDED, [*SEGMENTATIONS]))
def test_every_recorded_capture_and_every_segmentation(name, packaging, plain, tmp_path):
    check(name, ALL[packaging], plain, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("encapsulation", "segmentation"), pairs(OF_EITHER_IP, [*filter("IPv6 for IPv4".__ne__, SEGMENTATIONS)]))
def test_every_encapsulation_and_every_segmentation_in_every_form(segmentation, encapsulation, plain, tmp_path):
    turn, place = list(SEGMENTATIONS).index(segmentation), list(ENCAPSULATIONS).index(encapsulation)
    packaging = together(SEGMENTATIONS[segmentation], ENCAPSULATIONS[encapsulation], FILES[FORMS[(turn + place // 4) % len(FORMS)]])
    check(("artemis_library.pcapng", "rabbitmq_stalls.pcap")[place // 2 % 2], packaging, plain, tmp_path)


def test_without_times_the_octets_are_the_same(plain, tmp_path):
    """Simple packet blocks: frames stand where they stood; runs of EOLs grow together, for time is what parts them."""
    found = rows_of(Packaging(write=UNTIMED["pcapng, simple packet blocks"]).files(DATA / BROKERS[0], tmp_path))
    wanted = plain(BROKERS[0], Packaging())

    def frames(tables: Tables) -> set[tuple[object, ...]]:
        rows = [row for row in tables["raw_frames"] if row["kind"] == "frame"]
        return {tuple(row[name] for name in ("stream", "direction", "stream_offset", "raw")) for row in rows}

    assert frames(found) == frames(wanted)
    assert {row["first_ns"] for row in found["frames"]} == {0}  # null in a lake: tests/e2e/test_without_times.py
