"""Compares a capture with the clients' logs, the layers taken off by others: TLS by tshark with the key log, WebSocket by wsproto."""
from __future__ import annotations

import contextlib
import json
import re
import subprocess
from pathlib import Path

from wsproto.extensions import PerMessageDeflate
from wsproto.frame_protocol import FrameProtocol, Opcode, ParseFailed

from data.recorder import proof
from data.recorder.proof import Key
from data.recorder.truth import SessionLog

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"


def check(path: Path, logs: list[SessionLog], keys: Path) -> list[str]:
    """Differences between what is inside the capture's streams and the logs, one line each."""
    outer = proof.streams(path)
    opened = _opened(path, keys) if keys.exists() else {}
    wrong = []
    for log in logs:
        if "fallback" in log.carried:
            continue
        up, down = (*log.local, *log.remote), (*log.remote, *log.local)
        one, other = _without_proxy(outer.get(up, b"")), outer.get(down, b"")
        log.carried["outer_octets_c2s"], log.carried["outer_octets_s2c"] = len(outer.get(up, b"")), len(other)
        transport = log.carried["transport"]
        if transport in ("tls", "wss"):
            one, other = opened.get(up, b""), opened.get(down, b"")
        if transport in ("websocket", "wss", "sockjs"):
            one, other = (b"".join(_of_sockjs(some) if transport == "sockjs" else some) for some in _messages(one, other))
        for side, seen, tape in (("c2s", one, log.tape_c2s), ("s2c", other, log.tape_s2c)):
            meant = bytes(tape.octets)
            if seen == meant:
                continue
            short, long = sorted((seen, meant), key=len)
            if side == "c2s" and log.ended_by == "server" and meant.startswith(seen):
                log.notes.append(f"last {len(meant) - len(seen)} octets c2s were not sent")
                log.sent_c2s = len(seen)
            elif side == "s2c" and seen.startswith(meant):
                log.notes.append(f"{len(seen) - len(meant)} more octets s2c on the wire than the client read")
            else:
                same = next((at for at, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
                wrong.append(f"{log.session}: {side} {len(seen)} octets in the capture, {len(meant)} logged, from {same} on others")
    return wrong


def _without_proxy(octets: bytes) -> bytes:
    """Without the headers that balancers set before."""
    while True:
        if octets.startswith(SIGNATURE):
            octets = octets[16 + int.from_bytes(octets[14:16], "big"):]
        elif octets.startswith(b"PROXY "):
            octets = octets[octets.index(b"\r\n") + 2:]
        else:
            return octets


def _opened(path: Path, keys: Path) -> dict[Key, bytes]:
    """What tshark finds inside TLS, by source and destination."""
    fields = ["tcp.stream", "ip.src", "tcp.srcport", "ip.dst", "tcp.dstport"]
    first = [word for name in fields for word in ("-e", name)]
    syn = ["tshark", "-r", str(path), "-Y", "tcp.flags.syn==1 && tcp.flags.ack==0", "-T", "fields", *first]
    found = subprocess.run(syn, check=True, capture_output=True, text=True).stdout
    ends: dict[int, Key] = {}
    for line in found.splitlines():
        number, source, sport, target, dport = line.split("\t")
        ends[int(number)] = source, int(sport), target, int(dport)
    ports = {key[3] for key in ends.values()}
    command = ["tshark", "-r", str(path), "-q", "-o", f"tls.keylog_file:{keys}",
               *(word for port in ports for word in ("-d", f"tcp.port=={port},tls"))]
    out: dict[Key, bytes] = {}
    for number, (source, sport, target, dport) in ends.items():
        shown = subprocess.run([*command, "-z", f"follow,tls,raw,{number}"], check=True, capture_output=True, text=True).stdout
        sides: list[bytearray] = [bytearray(), bytearray()]
        if f"Node 0: {source}:{sport}" not in shown:  # the other side wrote first
            source, sport, target, dport = target, dport, source, sport
        for line in shown.splitlines():
            if re.fullmatch(r"\t?[0-9a-f]+", line):
                sides[line.startswith("\t")] += bytes.fromhex(line.strip())
        out[source, sport, target, dport] = bytes(sides[0])
        out[target, dport, source, sport] = bytes(sides[1])
    return out


def _of_sockjs(messages: list[bytes]) -> list[bytes]:
    """What SockJS's messages bring: arrays of texts, the server's behind an `a`."""
    arrays = [one.removeprefix(b"a") for one in messages if one.startswith((b"a[", b"["))]
    return [text.encode() for array in arrays for text in json.loads(array)]


def _messages(up: bytes, down: bytes) -> tuple[list[bytes], list[bytes]]:
    """The messages of both sides of a WebSocket; one that is not whole is the last."""
    _, _, up = up.partition(b"\r\n\r\n")
    answer, _, down = down.partition(b"\r\n\r\n")
    accepted = re.search(rb"(?im)^sec-websocket-extensions: *(permessage-deflate[^\r]*)", answer)
    out = []
    for octets, from_client in ((up, True), (down, False)):
        extensions = []
        if accepted:
            deflate = PerMessageDeflate()
            deflate.finalize(accepted[1].decode().lower())
            extensions.append(deflate)
        machine = FrameProtocol(client=not from_client, extensions=extensions)
        machine.receive_bytes(octets)
        found, begins = [b""], True
        with contextlib.suppress(ParseFailed):  # what breaks the protocol ends it
            for frame in machine.received_frames():
                if frame.opcode in (Opcode.TEXT, Opcode.BINARY):
                    payload = frame.payload
                    if begins:
                        found.append(b"")
                    found[-1] += payload.encode() if isinstance(payload, str) else bytes(payload)
                    begins = frame.message_finished
        out.append(found)
    return out[0], out[1]
