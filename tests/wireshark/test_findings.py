"""The dissector's expert items are the findings of the pipeline, for the rules that a frame alone shows broken."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from stompcap.rules.catalogue import BY_ID
from stompcap.stomp.syntax import Syntax
from stompcap.tables.levels import SPELLED
from stompcap.wireshark import OF_ONE_FRAME, dissector
from tests.capture.packaging import pcap
from tests.e2e.pure import tables_of
from tests.e2e.truth import captures
from tests.tcp.wire import Wire
from tests.wireshark.test_dissector import slowly, tshark

pytestmark = pytest.mark.skipif(not shutil.which("tshark") and not os.environ.get("CI"), reason="needs tshark")
SAID = re.compile(r"([A-Z]{2}-\d\d[a-z]?) (MUST|SHOULD|INFO): ")
TRIED = ("rabbitmq_dialogue", "activemq_bodies", "_violations", "rabbitmq_stompjs", "activemq_stompest", "artemis_library")
SEVERITY = {"MUST": "8388608", "SHOULD": "6291456", "INFO": "4194304"}  # Wireshark's PI_ERROR, PI_WARN, PI_NOTE


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("lua") / "stomp.lua"
    path.write_text(dissector(), encoding="utf-8")
    return f"lua_script:{path}"


def items(script: str, path: object) -> Counter[tuple[int, str, str]]:
    """The expert items of rules: number of the packet, id and level, as often as they are there; CONNECT, too, by its session's version."""
    words = ("-2", "-o", "tcp.reassemble_out_of_order:TRUE", "-Y", "stomp", "-T", "fields", "-E", "separator=|", "-E", "aggregator=^")
    found: Counter[tuple[int, str, str]] = Counter()
    for line in tshark(script, path, *words, "-e", "frame.number", "-e", "_ws.expert.message").splitlines():
        number, _, said = line.partition("|")
        found.update((int(number), one[1], one[2]) for one in map(SAID.match, said.split("^")) if one)
    return found


@pytest.mark.parametrize("path", [slowly(path) for path in captures() if any(one in path for one in TRIED)])
def test_expert_items_are_the_findings_of_the_pipeline(path, script):
    tables = tables_of([path])
    rows = {(row["stream_id"], row["direction"], row["stream_offset"]): row for row in tables["raw_frames"].to_pylist()}
    doubtful = int(Syntax.NUL_IN_HEAD | Syntax.LENGTH_MISSED)  # stompcap looks further than to the first NUL
    odd = {key[0] for key, row in rows.items() if row["kind"] not in ("frame", "eol") or row["syntax"] & doubtful}
    ours, left_out = Counter(), set()
    for finding in tables["compliance_findings"].to_pylist():
        if finding["rule_id"] in OF_ONE_FRAME and finding["stream_id"] not in odd:
            row = rows[finding["stream_id"], finding["direction"], finding["stream_offset"]]
            ours[row["last_packet"], finding["rule_id"], SPELLED[finding["level"]]] += 1
    for key, row in rows.items():
        if key[0] in odd:
            left_out |= {row["first_packet"], row["last_packet"]}
    theirs = Counter({key: count for key, count in items(script, path).items() if key[0] not in left_out})
    assert theirs == ours
    assert ours


def broken(rule: str) -> list[tuple[int, bytes]]:
    """The frames of the catalogue's example that breaks a rule, by side, behind those that agree on its version."""
    lines = BY_ID[rule].breaks.splitlines()
    version = lines[0].removeprefix("in ") if lines[0].startswith("in ") else None
    frames = [(0, f"CONNECT⏎accept-version:{version}⏎host:h⏎⏎␀"), (1, f"CONNECTED⏎version:{version}⏎session:1⏎⏎␀")] if version else []
    frames += [("CS".index(line[0]), line[3:]) for line in lines if line[:3] in ("C: ", "S: ")]
    return [(side, text.replace("⏎", "\n").replace("␍", "\r").replace("␀", "\0").encode()) for side, text in frames]


OTHER_OCTETS = ("FR-01", "FR-17", "FR-18", "FR-29", "FR-31")
"""Rules whose examples end without a NUL, or have octets that the notation writes in another way."""


def test_the_examples_that_break_rules_have_their_items(script, tmp_path):
    frames, begins = [], {}
    for number, rule in enumerate(one for one in OF_ONE_FRAME if one not in OTHER_OCTETS):
        wire, sent = Wire(client_port=40_000 + number).handshake(), [0, 0]
        for side, octets in broken(rule):
            wire.put(side, sent[side], octets, "PA", ack=sent[1 - side])
            sent[side] += len(octets)
        begins[rule] = range(len(frames) + 1, len(frames) + len(wire.frames) + 1)
        frames += wire.frames
    found = items(script, pcap(tmp_path / "all.pcap", frames, nano=True))
    for rule, packets in begins.items():
        assert rule in {one for packet, one, _ in found if packet in packets}


def test_levels_are_severities_and_rules_are_filters(script):
    path = next(path for path in captures() if "rabbitmq_bodies" in path)
    said = tshark(script, path, "-Y", "stomp.rule.fr_27.should", "-T", "fields", "-e", "_ws.expert.message", "-e", "_ws.expert.severity")
    assert said
    for line in said.splitlines():
        messages, _, severities = line.partition("\t")
        assert SEVERITY["SHOULD"] in severities.split(",")
        assert "FR-27 SHOULD: A body comes with a content-type" in messages


def test_an_item_shows_no_secret_and_no_control_character(script, tmp_path):
    octets = b"CONNECT\naccept-version:1.2\nhost:/\npasscode: gehe\nim-line\nheart-beat:1,\x1b[31m\n\n\0"
    path: Path = pcap(tmp_path / "one.pcap", Wire().handshake().c(0, octets).frames, nano=True)
    said = tshark(script, path, "-T", "fields", "-e", "_ws.expert.message")
    assert "FR-15 MUST" in said
    assert "CN-17 MUST" in said
    assert "gehe" not in said
    assert "im-line" not in said
    assert "\x1b" not in said
