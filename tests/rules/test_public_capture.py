"""A session of the wild: an old CoilMQ server and a client that names no host."""

from scapy.layers.inet import TCP
from scapy.utils import rdpcap

from stompcap.rules import judge
from tests.rules.transcript import Conversation, analysed
from tests.shared import shared


def conversation(path: str) -> Conversation:
    """The capture's one connection; every segment of it is new and in order."""
    talk = Conversation()
    for number, packet in enumerate(rdpcap(path), start=1):
        talk.last_ns = int(packet.time * 10**9)
        side = int(packet[TCP].sport == 61613)
        if bytes(packet[TCP].payload):
            talk.say(side, bytes(packet[TCP].payload), talk.last_ns, number)
        if "F" in packet[TCP].flags:
            talk.close(side, "closes", talk.last_ns)
    return talk


def test_findings():
    analysis = analysed(conversation(str(shared("captures/ndpi_stomp.pcapng"))))
    assert analysis.tables["sessions"]["version"].to_pylist() == ["1.1"]
    found = {(row["rule_id"], row["level"], row["side"]) for row in judge(analysis)["compliance_findings"].to_pylist()}
    assert found == {
        ("CN-02", "M", "client"),  # no host
        ("CN-05", "S", "client"),  # STOMP
        ("FR-04", "M", "server"),  # message in lower case
        ("FR-27", "S", "client"),  # a body without content-type
        ("FR-27", "S", "server"),
        ("HB-09", "I", "server"),  # announces beats every 100 ms
        ("MS-04", "M", "server"),  # no subscription
    }
