"""Connections as packets, a lake of them made without Spark, and what is compared of a file that was exported."""

import json
import subprocess

import pyarrow as pa
from scapy.contrib.gtp import GTP_U_Header
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import CookedLinux, Ether
from scapy.layers.vxlan import VXLAN
from typer.testing import CliRunner

from stompcap import capture
from stompcap.capture.files import open_capture
from stompcap.capture.records import Walk
from stompcap.cli.main import app
from stompcap.lake import tables as lakes
from stompcap.options import Options
from stompcap.tables import TABLES
from tests.e2e.pure import tables_of
from tests.shared import program

START = 1_700_000_000_000_000_000
LINEAGE = ["first_capture_id", "first_packet", "last_capture_id", "last_packet", "capture_id", "packet", "batch_id"]


def ether(packet):
    return Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / packet


def cooked(packet):
    return CookedLinux(proto=0x800) / packet


def vxlan(packet):
    return ether(IP(src="1.1.1.1", dst="2.2.2.2") / UDP(sport=9, dport=4789) / VXLAN(vni=5) / ether(packet))


def gtp(packet):
    return ether(IP(src="1.1.1.1", dst="2.2.2.2") / UDP(sport=2152, dport=2152) / GTP_U_Header(teid=5) / packet)


def conversation(port=40000, isn=1000, body=b"hello", acks=True):
    """A whole connection: handshake, a frame each way, a retransmission, FINs."""
    def c(seq, flags, payload=b"", ack=5001):
        return IP(src="10.0.0.2", dst="10.0.0.1") / TCP(sport=port, dport=61613, seq=seq, ack=ack, flags=flags) / payload

    def s(seq, flags, payload=b"", ack=0):
        return IP(src="10.0.0.1", dst="10.0.0.2") / TCP(sport=61613, dport=port, seq=seq, ack=ack, flags=flags) / payload

    connect, send = b"CONNECT\naccept-version:1.2\nhost:/\n\n\0", b"SEND\ndestination:/queue/a\n\n" + body + b"\0"
    connected = b"CONNECTED\nversion:1.2\n\n\0"
    at = isn + 1 + len(connect)
    end = at + len(send)
    packets = [
        c(isn, "S", ack=0), s(5000, "SA", ack=isn + 1), c(isn + 1, "A"), c(isn + 1, "PA", connect), s(5001, "PA", connected, ack=at),
        c(at, "PA", send, ack=5001 + len(connected)), c(at, "PA", send, ack=5001 + len(connected)),
        s(5001 + len(connected), "A", ack=end), c(end, "FA", ack=5001 + len(connected)), s(5001 + len(connected), "FA", ack=end + 1),
        c(end + 1, "A", ack=5002 + len(connected)),
    ]  # fmt: skip
    return packets if acks else [p for p in packets if p[TCP].payload or "S" in p[TCP].flags or "F" in p[TCP].flags]


def mixed(*conversations):
    """Packets of several lists in turn."""
    longest = max(map(len, conversations))
    return [packets[i] for i in range(longest) for packets in conversations if i < len(packets)]


class Lake:
    """A lake with what `export` reads of it, made without Spark."""

    def __init__(self, folder, paths, options=None, batch="batch"):
        self.folder, self.paths, self.options = folder, [str(path) for path in paths], options or Options()
        self.where = str(folder / "lake")
        lakes.create(self.where)
        self.tables = tables_of(self.paths, self.options)
        rows = [{**capture.survey(path, "default", tunnels=self.options.tunnels), "batch_id": batch, "run_id": "r"} for path in self.paths]
        for row in rows:
            row["skipped"] = list(row["skipped"].items())
        lakes.append(self.where, "captures", pa.Table.from_pylist(rows, TABLES["captures"].arrow), [batch], "r")
        lakes.append(self.where, "streams", self.tables["streams"], [batch], "r")

    def streams(self):
        return self.tables["streams"].sort_by([("first_ns", "ascending"), ("stream_id", "ascending")]).to_pylist()

    def export(self, stream_id, name="out.pcap", *words):
        out = str(self.folder / name)
        done = CliRunner().invoke(app, ["export", stream_id, "--lake", self.where, "-o", out, "--json", *words], catch_exceptions=False)
        return out, json.loads(done.stdout)


def packets(path):
    """(time, octets, length on the wire, link type) of each packet of a capture."""
    source = open_capture(str(path))
    return [
        (int(r.ts_ns[i]), r.octets[r.position[i] : r.position[i] + r.captured[i]].tobytes(), int(r.original[i]), int(r.links[i]))
        for r in Walk(source)
        for i in range(len(r))
    ]


def tshark(path, *words):
    """Lines that tshark prints of a file."""
    done = subprocess.run([program("tshark"), "-n", "-r", str(path), *words], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def same_rows(lake, stream_id, path, options=None):
    """The exported file gives the stream's rows again, lineage apart."""
    again = tables_of([path], options or lake.options)
    for name, table in again.items():
        wanted = lake.tables[name]
        wanted = wanted.filter(pa.compute.equal(wanted.column("stream_id"), stream_id))
        keep = [column for column in table.column_names if column not in LINEAGE]
        assert table.select(keep).to_pylist() == wanted.select(keep).to_pylist(), name
