"""The rules beside what public test suites say of frames: vectors with the rules that should flag each input.

Each input is judged as the first octets of one direction of a session whose version is known and whose start is not.
"""

import json

import pytest

from stompcap.rules import judge
from tests.rules.transcript import Conversation, analysed
from tests.shared import SHARED

PATH = SHARED / "vectors/stomp_vectors.json"
VECTORS = json.loads(PATH.read_text())["vectors"] if PATH.exists() else []
SERVER = (b"CONNECTED", b"MESSAGE", b"RECEIPT", b"ERROR")

BY_SESSION = {"DS-01", "DS-02"}  # some vectors have DISCONNECTs, one or two, without receipt, which is no theme of theirs

# Where the rules say more or less than a vector's list, and why.
NO_FRAME = {"rb04": {"FR-03"}, "rb05": {"FR-03", "FR-04"}, "rb06": {"FR-03"}}  # junk, in a session of no known version
MORE = {name: {"FR-11"} for name in NO_FRAME} | {
    "se02a": {"MS-01", "MS-02"},  # the list has the first fault only; se01, of the same form, has these
    "se02b": {"MS-01", "MS-02"},
    "go02": {"FR-27"},  # sEND is read as SEND, whose body lacks a content-type
    "js03": {"SN-06"},  # the lists stop short of what is informational
    "aq01": {"CN-20"},  # the lists know nothing of security
}
LESS = NO_FRAME | {"go03": {"SN-01"}}  # an unfinished frame is not judged as SEND


def conversation(vector: dict) -> Conversation:
    octets = bytes.fromhex(vector["input_hex"])
    side = int(octets.strip().upper().startswith(SERVER))
    talk = Conversation(seen=False)
    talk.say(side, octets, talk.last_ns, 1)
    talk.close(side, "closes", talk.last_ns)
    return talk


@pytest.mark.skipif(not VECTORS, reason=f"needs {PATH}, which is not part of the project")
@pytest.mark.parametrize("vector", VECTORS, ids=[vector["id"] for vector in VECTORS])
def test_flags(vector):
    analysis = analysed(conversation(vector), version=("1.0", "1.1", "1.2").index(vector["version"]))
    found = {row["rule_id"] for row in judge(analysis)["compliance_findings"].to_pylist()} - BY_SESSION
    name = vector["id"]
    assert found == (set(vector["flags"]) | MORE.get(name, set())) - LESS.get(name, set())
