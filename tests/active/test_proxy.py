"""What the proxy records is what both ends sent: read back by stompcap's own reassembly and by tshark."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stompcap.active import addresses
from stompcap.active.proxy import Ends, Proxy
from stompcap.active.recording import Recording
from stompcap.cli import entry
from stompcap.tcp import reassemble
from tests.active.passing import Talk, pair, pass_on
from tests.cli.commands import ROOT

PIECES = st.lists(st.binary(min_size=1, max_size=200), max_size=6)
LARGE = bytes(range(251)) * 2000


def sides(path: Path) -> dict[tuple[str, int], list[bytes]]:
    """Of each connection of a capture, by the client's address: what the client sent, and the server; without gaps."""
    found = {}
    for one in reassemble(str(path)):
        both = []
        for side in (one.c2s, one.s2c):
            octets = b"".join(bytes(chunk) for _, chunk in side.chunks)
            assert len(octets) == side.length
            both.append(octets)
        found[one.client] = both
    return found


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(PIECES, PIECES), min_size=1, max_size=4))
def test_each_connection_has_what_its_ends_sent_however_it_was_cut(tmp_path: Path, made: list[tuple[list[bytes], list[bytes]]]) -> None:
    talks = [Talk(*both) for both in made]
    proxy = pass_on(tmp_path / "out.pcap", talks)
    found = sides(tmp_path / "out.pcap")
    assert len(found) == len(talks) == proxy.passed_on
    for number, talk in enumerate(talks):
        sent = [number.to_bytes(4, "big") + b"".join(talk.client), b"".join(talk.server)]
        assert [talk.got_server, talk.got_client] == sent == found[talk.names[0]]


@pytest.mark.parametrize("name", ["out.pcap", "out.pcapng"])
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_tshark_finds_nothing_wrong_and_the_same_octets(tmp_path: Path, name: str, host: str) -> None:
    path, talk = tmp_path / name, Talk([LARGE, b"end"], [b"begin", LARGE])
    try:
        pass_on(path, [talk], host)
    except OSError:
        assert host == "::1"
        pytest.skip("no IPv6 on this machine")
    checks = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-o", "tcp.desegment_tcp_streams:FALSE"]
    fields = ["ip.src", "ipv6.src", "tcp.srcport", "tcp.analysis.flags", "tcp.checksum.status", "ip.checksum.status", "tcp.payload"]
    done = subprocess.run(
        ["tshark", "-r", str(path), *checks, "-T", "fields", *(word for one in fields for word in ("-e", one))],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert {row[3] for row in rows} == {""}, "a segment that Wireshark wonders at"
    assert {row[4] for row in rows} == {"1"}
    assert {row[5] for row in rows} == ({"1"} if host == "127.0.0.1" else {""})
    ends = {(row[0] or row[1], int(row[2])) for row in rows}
    assert ends == set(talk.names)
    sent = [b"".join(bytes.fromhex(row[6]) for row in rows if int(row[2]) == end[1]) for end in talk.names]
    assert sent == [bytes(4) + LARGE + b"end", b"begin" + LARGE]


@contextmanager
def in_process(path: Path, target: tuple[str, int]) -> Iterator[int]:
    """A proxy on a thread of its own, and the port on which it listens."""
    with addresses.listen("--listen", ("127.0.0.1", 0)) as listening, Recording(str(path)) as recording:
        loop = asyncio.new_event_loop()
        proxy = Proxy(recording, listening, target, addresses.resolve("--to", target), print)
        thread = Thread(target=loop.run_until_complete, args=(proxy.run(Ends()),))
        thread.start()
        try:
            yield proxy.address[1]
        finally:
            loop.call_soon_threadsafe(proxy.over.set)
            thread.join()
            loop.close()


@contextmanager
def proxied(path: Path, target: tuple[str, int], *words: str, most: int | None = None) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The command, and the port on which it listens; `most` limits the size of its files."""
    command = [sys.executable, "-m", "stompcap", "proxy", "--listen", "0", "--to", f"{target[0]}:{target[1]}", "-w", str(path), *words]

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)) if most else None

    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, preexec_fn=limited)
    assert child.stderr is not None
    try:
        ready = child.stderr.readline()
        assert ready.startswith("listening on 127.0.0.1:"), ready
        yield child, int(ready.split(":")[1].split(",")[0])
    finally:
        child.kill()
        child.communicate()


@pytest.mark.slow  # starts the command
def test_half_a_close_and_a_reset_are_passed_on_and_a_kill_leaves_whole_packets(tmp_path: Path) -> None:
    listening, target = pair()
    path = tmp_path / "out.pcap"
    with listening, proxied(path, target) as (child, port):
        with socket.create_connection(("127.0.0.1", port)) as client:
            server, _ = listening.accept()
            client.sendall(b"question")
            client.shutdown(socket.SHUT_WR)
            assert server.makefile("rb").read() == b"question"
            server.sendall(b"answer")
            server.close()
            assert client.makefile("rb").read() == b"answer"
        with socket.create_connection(("127.0.0.1", port)) as client:
            server, _ = listening.accept()
            client.sendall(b"x")
            assert server.recv(1) == b"x"
            server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            server.close()
            with pytest.raises(ConnectionResetError):
                client.recv(1)
        child.send_signal(signal.SIGKILL)
        child.wait()
    done = subprocess.run(["tshark", "-r", str(path), "-T", "fields", "-e", "tcp.flags.str", "-e", "tcp.len"],
                          capture_output=True, text=True, check=True)  # fmt: skip
    flags = ["".join(sorted(row.replace("·", "").split()[0])) + row.split()[1] for row in done.stdout.splitlines()]
    assert flags[:3] == ["S0", "AS0", "A0"]
    told = [one for one in flags if one != "A0"]
    assert told == ["S0", "AS0", "AP8", "AF0", "AP6", "AF0", "S0", "AS0", "AP1", "AR0"]
    assert list(sides(path).values()) == [[b"question", b"answer"], [b"x", b""]]


def test_a_receiver_that_does_not_read_slows_its_sender(tmp_path: Path) -> None:
    listening, target = pair()
    with listening, in_process(tmp_path / "out.pcap", target) as port, socket.create_connection(("127.0.0.1", port)) as client:
        server, _ = listening.accept()
        client.settimeout(0.3)
        with pytest.raises(TimeoutError):
            client.sendall(bytes(60_000_000))
        recorded = (tmp_path / "out.pcap").stat().st_size
        assert recorded < 30_000_000  # what the buffers of two sockets hold
        server.close()


@pytest.mark.slow  # starts the command
def test_a_full_disk_ends_it_and_what_is_written_is_whole(tmp_path: Path) -> None:
    listening, target = pair()
    path = tmp_path / "out.pcap"
    with listening, proxied(path, target, most=100_000) as (child, port), socket.create_connection(("127.0.0.1", port)) as client:
        server, _ = listening.accept()
        Thread(target=server.makefile("rb").read, daemon=True).start()
        client.sendall(bytes(500_000))
        assert child.wait(5) == 3
        assert child.stderr is not None
        assert "out.pcap: cannot be written (file too large); make room" in child.stderr.read()
        server.close()
    assert next(iter(sides(path).values()))[0].count(0) > 30_000


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--listen", "0", "--to", "127.0.0.1"], 2, "--to 127.0.0.1: must be HOST:PORT"),
        (["--listen", "0", "--to", "::1:61613"], 2, "--to ::1:61613: must be HOST:PORT"),
        (["--listen", "70000", "--to", "127.0.0.1:1"], 2, "--listen 70000: must be PORT or HOST:PORT"),
        (["--listen", "0", "--to", "no.such.host.invalid:1"], 3, "name a host that can be resolved"),
        (["--listen", "192.0.2.1:0", "--to", "127.0.0.1:1"], 3, "cannot assign requested address; name another port"),
        (["--listen", "TAKEN", "--to", "127.0.0.1:1"], 3, "address already in use; name another port"),
        (["--listen", "0", "--to", "127.0.0.1:1", "--", "no-such-program"], 3, "no-such-program: no such file or directory"),
        (["--listen", "0", "--to", "127.0.0.1:1", "-w", "none/out.pcap"], 3, "none/out.pcap: cannot be written (no such file"),
        (["--listen", "0", "--to", "127.0.0.1:1", "-w", "/dev/full"], 3, "/dev/full: cannot be written (no space left"),
        (["--listen", "0", "--to", "127.0.0.1:1", "--", "bash", "-c", "exit 9"], 9, ""),
    ],
)
def test_what_goes_wrong_is_one_line(
    words: list[str], code: int, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    listening, target = pair()
    with listening:
        given_words = [str(target[1]) if word == "TAKEN" else word for word in words]
        monkeypatch.setattr("sys.argv", ["stompcap", "proxy", "--quiet", "-w", "out.pcap", *given_words])
        assert entry.outcome() == code
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == bool(says)
    assert says in "".join(lines)


ASK = "exec 3<>/dev/tcp/$STOMPCAP_PROXY_HOST/$STOMPCAP_PROXY_PORT; echo hi >&3; sleep 0.1"


def called(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["stompcap", "proxy", "--listen", "0", *words])
    return entry.outcome()


def test_a_command_beside_it_finds_it_and_the_summary_says_what_was_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listening, target = pair()
    path = tmp_path / "out.pcap"
    path.touch(0o644)
    with listening:
        words = ["--to", f"{target[0]}:{target[1]}", "-w", str(path), "--json", "--", "bash", "-c", ASK]
        assert called(monkeypatch, *words) == 0
    said = json.loads(capsys.readouterr().out)
    assert said | {"packets": 0} == {"capture": str(path), "connections": 1, "failed": 0, "packets": 0, "octets": path.stat().st_size}
    assert said["packets"] >= 5
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_target_that_refuses_is_told_and_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listening, target = pair()
    listening.close()
    path = str(tmp_path / "out.pcapng")
    assert called(monkeypatch, "--to", f"{target[0]}:{target[1]}", "-w", path, "--", "bash", "-c", f"{ASK}; exit 0") == 0
    said = capsys.readouterr().err
    assert "connection refused; the client was reset" in said
    assert "1 connection, 1 not passed on, 2 packets" in said


def test_a_proxy_that_could_pass_nothing_on_has_not_done_its_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listening, target = pair()
    listening.close()
    port = free_port()
    asking = Thread(target=ask, args=(port,))
    asking.start()
    monkeypatch.setattr("sys.argv", ["stompcap", "proxy", "--listen", str(port), "--to", f"{target[0]}:{target[1]}", "-w",
                                     str(tmp_path / "out.pcap"), "--connections", "1"])  # fmt: skip
    assert entry.outcome() == 3
    asking.join()


def free_port() -> int:
    listening, (_, port) = pair()
    listening.close()
    return int(port)


def ask(port: int) -> None:
    """Connect as soon as somebody listens."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.02)
