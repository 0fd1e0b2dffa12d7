"""`stompcap export --comments`: what stompcap found, as comments of packets, which tshark reads."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from stompcap.assembly.addresses import endpoints_of
from stompcap.export import Note, annotate, merge, place
from stompcap.export.comments import LONGEST, MOST
from stompcap.lake import tables as lakes
from stompcap.options import Options
from stompcap.rules.catalogue import BY_ID
from stompcap.tables import TABLES
from stompcap.tables.levels import SPELLED
from tests.capture.packaging import frames, pcap
from tests.cli.exported import Lake, conversation, ether, packets, same_rows, tshark
from tests.e2e.truth import DATA

READ = {"raw_frames", "compliance_findings", "transports"}
FORM = ("-T", "fields", "-E", "separator=\t", "-E", "aggregator=\x1f")
FIELDS = (*FORM, "-e", "frame.number", "-e", "frame.time_epoch", "-e", "frame.comment")


def recorded(folder: Path, name: str, *keys: str) -> Lake:
    lake = Lake(folder, [DATA / name], Options(keylog=tuple(str(DATA / key) for key in keys)))
    for table in lake.tables.keys() & READ:
        lakes.append(lake.where, table, lake.tables[table], ["batch"], "r")
    return lake


def comments(path: str) -> list[tuple[int, str, list[str]]]:
    """Number, time and comments of the packets that have some."""
    found = [line.split("\t") for line in tshark(path, *FIELDS)]
    return [(int(number), time, said.split("\x1f")) for number, time, said in found if said]


def wanted(lake: Lake, stream: dict) -> Counter[tuple[int | None, str]]:
    """Of each finding of a stream when its frame was whole, and how it is said."""
    at = {(row["stream_id"], row["direction"], row["stream_offset"]): row["last_ns"] for row in lake.tables["raw_frames"].to_pylist()}
    said: Counter[tuple[int | None, str]] = Counter()
    for row in lake.tables["compliance_findings"].to_pylist():
        if row["stream_id"] == stream["stream_id"]:
            text = f"stompcap {row['rule_id']} {SPELLED[row['level']]}, {row['side']}: {BY_ID[row['rule_id']].title}: {row['evidence']}"
            said[at.get((row["stream_id"], row["direction"], row["stream_offset"])), text[:LONGEST]] += 1
    return said


def from_server(lake: Lake, stream: dict) -> dict:
    """The first row of raw_frames that a stream's server sent."""
    rows = lake.tables["raw_frames"].to_pylist()
    return next(row for row in rows if row["stream_id"] == stream["stream_id"] and row["direction"] == "s2c")


def nanoseconds(time: str) -> int:
    return int(time.replace(".", ""))


@pytest.mark.parametrize(("name", "keys", "words"), [
    pytest.param("rabbitmq_violations.pcap", (), (), marks=pytest.mark.slow),
    pytest.param("artemis_violations.pcapng", (), ("--original",), marks=pytest.mark.slow),
    pytest.param("activemq_dialogue.pcap", (), ("--inner",), marks=pytest.mark.slow),
    ("transports/rabbitmq_wss.pcapng", ("transports/rabbitmq_wss.keys.txt",), ("--inner",)),
])  # fmt: skip
def test_findings_stand_beside_the_packets_that_complete_their_frames(name, keys, words, tmp_path):
    lake = recorded(tmp_path, name, *keys)
    streams = [row for row in lake.streams() if wanted(lake, row)][::24]
    assert streams
    for stream in streams:
        out, told = lake.export(stream["stream_id"], "out.pcapng", "--comments", *words)
        found = comments(out)
        theirs = Counter((nanoseconds(time), one) for _, time, said in found for one in said)
        ours = wanted(lake, stream)
        timed = Counter({key: count for key, count in ours.items() if key[0] is not None})
        assert not timed - theirs
        assert Counter(text for _, text in theirs.elements()) == Counter(text for _, text in ours.elements())
        assert (told["comments"], told["format"]) == (sum(ours.values()), "pcapng")


def test_packets_are_those_without_comments(tmp_path):
    lake = recorded(tmp_path, "rabbitmq_violations.pcap")
    stream = next(row for row in lake.streams() if wanted(lake, row))
    plain, _ = lake.export(stream["stream_id"], "plain.pcapng")
    said, told = lake.export(stream["stream_id"], "said.pcap", "--comments")
    assert packets(said) == packets(plain)
    assert told["comments"]
    same_rows(lake, stream["stream_id"], said)
    assert not list(tmp_path.glob(".export-*"))


def test_anonymised_comments_say_nothing_that_is_from_the_wire(tmp_path):
    lake = recorded(tmp_path, "rabbitmq_violations.pcap")
    stream = next(row for row in lake.streams() if len(wanted(lake, row)) > 1)
    out, told = lake.export(stream["stream_id"], "out.pcapng", "--comments", "--anonymise")
    said = [one for _, _, texts in comments(out) for one in texts]
    assert len(said) == told["comments"] == sum(wanted(lake, stream).values())
    titles = {rule.title for rule in BY_ID.values()}
    assert {one.split(": ", 1)[1] for one in said} <= titles


def test_an_incident_stands_beside_its_sample_frames(tmp_path):
    lake = recorded(tmp_path, "rabbitmq_dialogue.pcap")
    stream = next(row for row in lake.streams() if wanted(lake, row))
    frame = from_server(lake, stream)
    row = {
        "incident_id": "ab12cd", "kind": "backlog", "subject_kind": "destination", "subject": "queue/a", "source": "default",
        "begin_ns": stream["first_ns"], "level": "warning", "confidence": "proven", "messages": 1, "sentence": "queue/a waits",
        "streams": [stream["stream_id"]], "frames": [{name: frame[name] for name in ("stream_id", "direction", "stream_offset")}],
    }  # fmt: skip
    lakes.append(lake.where, "incidents", pa.Table.from_pylist([row], TABLES["incidents"].arrow), ["batch"], "r")
    out, _ = lake.export(stream["stream_id"], "out.pcapng", "--comments", "--incident", "ab1")
    [(time, said)] = [(time, said) for _, time, said in comments(out) if "stompcap: incident, warning: queue/a waits" in said]
    assert nanoseconds(time) == frame["last_ns"]
    assert said[0].startswith("stompcap: incident")


def test_comments_around_a_frame_are_of_its_seconds(tmp_path):
    lake = recorded(tmp_path, "rabbitmq_heartbeats.pcap")
    stream = next(row for row in lake.streams() if len(wanted(lake, row)) > 1)
    first = from_server(lake, stream)
    name = f"{stream['stream_id']}:s2c:{first['stream_offset']}"
    out, told = lake.export(stream["stream_id"], "out.pcapng", "--comments", "--around", name, "--seconds", "0.5")
    assert 0 < told["comments"] < sum(wanted(lake, stream).values())
    for _, time, _ in comments(out):
        assert abs(nanoseconds(time) - first["last_ns"]) <= 600_000_000


def test_comments_are_bounded_and_do_not_repaint_a_terminal(tmp_path):
    path = pcap(tmp_path / "a.pcap", frames([ether(p) for p in conversation()]))
    merge([str(path)], str(tmp_path / "b.pcapng"))
    hostile = "\x1b[2Jevil\n\u202e" + "x" * 1000
    count = annotate(str(tmp_path / "b.pcapng"), str(tmp_path / "c.pcapng"), {3: [hostile] * (MOST + 5), 99: ["nowhere"]})
    [(number, _, said)] = comments(str(tmp_path / "c.pcapng"))
    assert (number, count, len(said), said[-1]) == (3, MOST + 1, MOST + 1, "stompcap: 5 more")
    assert said[0].startswith(r"\x1b[2Jevil\n\u202exx")
    assert len(said[0]) == LONGEST
    assert packets(tmp_path / "c.pcapng") == packets(path)


def test_of_packets_of_one_time_it_is_the_one_with_the_last_octet(tmp_path):
    talk = [ether(p) for p in conversation()]
    path = pcap(tmp_path / "a.pcap", frames(talk, step_ns=0))
    lake = Lake(tmp_path, [path])
    stream = lake.streams()[0]
    endpoints, client_low = endpoints_of(stream)
    sent = [row for row in lake.tables["raw_frames"].to_pylist() if row["direction"] == "c2s"]
    ends = [row["stream_offset"] + row["length_octets"] - 1 for row in sent]
    notes = [Note(endpoints, client_low, row["last_ns"], end, f"to {end}") for row, end in zip(sent, ends, strict=True)]
    assert place(str(path), notes) == {row["last_packet"]: [f"to {end}"] for row, end in zip(sent, ends, strict=True)}
