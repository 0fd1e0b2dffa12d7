"""Compares the capture with the clients' logs: every stream as reassembled by tshark must have the octets sent and received."""
from __future__ import annotations

import subprocess
from pathlib import Path

from data.recorder.truth import SessionLog

FIELDS = ("ip.src", "tcp.srcport", "ip.dst", "tcp.dstport", "tcp.seq_raw", "tcp.flags.syn", "tcp.payload")
Key = tuple[str, int, str, int]


class PortUsedTwiceError(RuntimeError):
    """The kernel gave two sessions of a capture the same port, so that their octets cannot be told apart by it: record it once more."""


def streams(path: Path) -> dict[Key, bytes]:
    """Octets of each direction in the capture, by source and destination; loopback neither loses nor reorders."""
    command = ["tshark", "-r", str(path), "-T", "fields", "-o", "tcp.desegment_tcp_streams:FALSE"]
    for field in FIELDS:
        command += ["-e", field]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    octets: dict[Key, bytearray] = {}
    start: dict[Key, int] = {}
    for line in done.stdout.splitlines():
        source, sport, target, dport, seq, syn, payload = line.split("\t")
        key = (source, int(sport), target, int(dport))
        if syn in ("1", "True"):
            if key in start and octets[key]:
                raise PortUsedTwiceError(f"{path.name}: port {sport} was used twice")
            start[key] = int(seq) + 1
            octets.setdefault(key, bytearray())
            continue
        start.setdefault(key, int(seq))
        held = octets.setdefault(key, bytearray())
        data = bytes.fromhex(payload)
        at = (int(seq) - start[key]) % (1 << 32)
        if data and at == len(held):
            held += data
        elif data and held[at:at + len(data)] != data:
            raise RuntimeError(f"{path.name}: octets of port {sport} out of place")
    return {key: bytes(held) for key, held in octets.items()}


def check(path: Path, logs: list[SessionLog]) -> list[str]:
    """Differences between capture and logs, one line each; server octets that a client never read are noted in its log."""
    wire = streams(path)
    wrong = []
    for log in logs:
        up, down = (*log.local, *log.remote), (*log.remote, *log.local)
        sent, got = bytes(log.tape_c2s.octets[log.from_c2s:]), bytes(log.tape_s2c.octets[log.from_s2c:])
        seen_up, seen_down = wire.get(up, b""), wire.get(down, b"")
        if seen_up != sent:
            # What is sent after the server closed may never leave the machine.
            if log.ended_by == "server" and sent.startswith(seen_up):
                log.notes.append(f"last {len(sent) - len(seen_up)} octets c2s were not sent")
            else:
                wrong.append(f"{log.session}: c2s {len(seen_up)} octets captured, {len(sent)} sent")
        if seen_down != got:
            if seen_down.startswith(got):
                log.notes.append(f"{len(seen_down) - len(got)} more octets s2c on the wire than the client read")
            else:
                wrong.append(f"{log.session}: s2c {len(seen_down)} octets captured, {len(got)} received")
    return wrong
