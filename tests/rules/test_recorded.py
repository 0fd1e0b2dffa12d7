"""The bundled captures of real brokers: every violation planted in them is found where it was planted."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from stompcap import capture, session
from stompcap.assembly import Assembly
from stompcap.assembly.parts import only_stomp
from stompcap.options import Options
from stompcap.rules import RULES, judge
from tests.examples import slow_behind

DATA = Path(__file__).resolve().parents[2] / "data"
KEY = [(name, "ascending") for name in ("flow", "endpoints", "capture", "packet")]
CAPTURES = sorted(path for path in DATA.glob("*.pcap*") if path.with_suffix(".truth.jsonl").exists())

# CONNECTED passed the capture point 36 microseconds before the frame that did not wait for it, so it may have been known
TOO_LATE = {("activemq-pipelined-12", "CN-07")}


def judged(path: Path) -> tuple[dict[tuple[int, int], str], list[dict]]:
    """Stream by ports, and the findings."""
    batches = list(capture.read_segments(str(path), 0))
    assembly = Assembly([(str(path), "cap")], "batch", Options())
    streams: dict[tuple[int, int], str] = {}
    findings: list[dict] = []
    for part in assembly.parts(pa.Table.from_batches(batches).sort_by(KEY)):
        if part.sessions is None:
            continue
        s = only_stomp(part.sessions)
        streams |= {(r["client_port"], r["server_port"]): r["stream_id"] for r in s.streams.to_pylist()}
        analysis = session.analyse(s.streams, s.raw_frames, s.frames, s.segments, {"cap": 0}, s.stalls)
        findings += judge(analysis)["compliance_findings"].to_pylist()
    return streams, findings


@pytest.mark.parametrize("path", slow_behind(6, CAPTURES), ids=lambda path: path.stem)
def test_planted_violations(path):
    truth = [json.loads(line) for line in path.with_suffix(".truth.jsonl").read_text().splitlines()]
    sessions = {row["session"]: row for row in truth if row["kind"] == "session"}
    planted = [row for row in truth if row["kind"] == "violation" and row["rule_id"] in {rule.id for rule in RULES}]
    streams, findings = judged(path)
    found = {(f["stream_id"], f["rule_id"], f["direction"], f["stream_offset"]) for f in findings}
    missed = []
    for row in planted:
        of = sessions[row["session"]]
        stream = streams[of["client_port"], of["server_port"]]
        if (stream, row["rule_id"], row["direction"], row["stream_offset"]) not in found:
            missed.append((row["session"], row["rule_id"]))
    assert set(missed) <= TOO_LATE
